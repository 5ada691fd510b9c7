//! From the desks of several reviewers to one result: the questions of the cross-examination, and the findings that stand
//! after the votes. Pure; the rules themselves are in `panel`.

use super::desk::{
    Desk, Docket, Effect, Entry, Fate, SharedDesk, StagedReply, ToCompare, ToVerify,
};
use crate::domain::{Argued, Contest, Finding, FindingId, Score, Support};
use crate::panel::cluster::{self, Pair};
use crate::panel::examination;
use crate::panel::ledger::{self, Figures};
use crate::panel::seats::Voices;
use crate::panel::votes::{self, Argument, Outcome, Withdrawal};
use crate::panel::{Answer, Claim, ClaimId, ClusterNumber, Grouping, Joined, Seat, Verdict, Vote};
use std::collections::{BTreeMap, BTreeSet};

/// The result of a panel.
#[derive(Debug, Default)]
pub struct Conclusion {
    /// The findings of all reviewers, each with the fate that the votes gave it. Numbered through.
    pub entries: Vec<Entry>,
    /// Those that may be published.
    pub due: BTreeSet<FindingId>,
    pub joined: Vec<Joined>,
    pub figures: Vec<Figures>,
    /// The replies that reopen a thread, whoever found that the problem is back; one for each thread.
    pub reopened: Vec<StagedReply>,
    /// Findings that are open, and that only the text of an earlier review says, with their scores.
    pub still_said: BTreeMap<FindingId, Score>,
}

/// Everything that one reviewer has said, as far as the others are concerned with it.
#[derive(Debug, Clone, Default)]
pub struct Testimony {
    entries: Vec<Entry>,
    /// The numbers of the entries that may be published.
    publishable: BTreeSet<u32>,
    /// The numbers of those that block.
    blocking: BTreeSet<u32>,
    /// The numbers of those that the reviewer withdrew while the others judged them.
    withdrawn: BTreeSet<u32>,
    /// The findings by their numbers, as they were when the others began to judge them; `None` where it did not come to that.
    judged: Option<BTreeMap<u32, Finding>>,
    verdicts: Vec<(ClaimId, Verdict)>,
    compared: Vec<((ClaimId, ClaimId), bool)>,
    reopened: Vec<StagedReply>,
    still_said: BTreeMap<FindingId, Score>,
}

impl Testimony {
    fn of(desk: &Desk) -> Self {
        let (publishable, replies) = desk.publishable();
        let reopened = replies.into_iter();
        let reopened = reopened.filter(|reply| reply.effect == Effect::Reopen);
        let still_said = desk.still_said();
        let blocks = |entry: &&Entry| desk.weights().blocks(entry.finding.assessment.score);
        let verdicts = desk.verdicts();
        Self {
            publishable: publishable.iter().map(|entry| entry.id).collect(),
            blocking: desk
                .entries()
                .iter()
                .filter(blocks)
                .map(|entry| entry.id)
                .collect(),
            withdrawn: desk
                .entries()
                .iter()
                .filter(|entry| desk.withdrew_in_examination(entry))
                .map(|entry| entry.id)
                .collect(),
            entries: desk.entries().to_vec(),
            verdicts: verdicts
                .map(|(id, verdict)| (id, verdict.clone()))
                .collect(),
            compared: desk.compared().collect(),
            judged: desk.own_as_judged().cloned(),
            reopened: reopened.cloned().collect(),
            still_said: still_said.map(|(id, score)| (id.clone(), score)).collect(),
        }
    }
}

/// The testimony of each desk; an empty one where a desk was not opened.
#[must_use]
pub fn testimonies(desks: &[SharedDesk]) -> Vec<Testimony> {
    let of = |desk: &SharedDesk| desk.with(|desk| Testimony::of(desk)).unwrap_or_default();
    desks.iter().map(of).collect()
}

/// Returns what each reviewer is asked in the last pass. Seats without a desk that reached it are `absent`.
#[must_use]
pub fn dockets(seats: &[Seat], testimonies: &[Testimony], absent: &BTreeSet<usize>) -> Vec<Docket> {
    let claims = claims(testimonies);
    let grouping = cluster::group(&claims);
    let assigned = examination::assign(seats, &claims, &grouping, absent);
    let by_id: BTreeMap<ClaimId, &Claim> = claims.iter().map(|claim| (claim.id, claim)).collect();
    // The claim of a cluster that stands for it in questions.
    let lead = |number: ClusterNumber| {
        let claims = grouping
            .cluster(number)
            .iter()
            .filter_map(|id| by_id.get(id));
        claims.min_by_key(|claim| claim.lead_key()).copied()
    };
    let pairs: Vec<ToCompare> = grouping
        .questions()
        .iter()
        .filter_map(|(one, other)| {
            let (one, other) = (lead(*one)?, lead(*other)?);
            Some(ToCompare {
                claims: (one.id, other.id),
                findings: (one.finding.clone(), other.finding.clone()),
            })
        })
        .collect();
    let docket = |(seat, clusters): (usize, Vec<ClusterNumber>)| {
        if absent.contains(&seat) {
            return Docket::default();
        }
        let findings = clusters.into_iter().filter_map(lead);
        let findings = findings.map(|claim| ToVerify {
            claim: claim.id,
            finding: claim.finding.clone(),
        });
        Docket {
            findings: findings.collect(),
            pairs: pairs.clone(),
        }
    };
    assigned.into_iter().enumerate().map(docket).collect()
}

/// Decides what stands, from everything that is on the desks at the end.
#[must_use]
pub fn conclude(seats: &[Seat], testimonies: &[Testimony]) -> Conclusion {
    let claims = claims(testimonies);
    // By the words that the reviewers were asked about: the last pass words the findings anew.
    let grouping = cluster::group(&as_judged(testimonies, &claims));
    let grouping = grouping.merged(&answers(testimonies, &grouping));
    let grouping = grouping.with(&claims);
    let votes = votes(testimonies);
    let joined = votes::join(seats, &claims, &grouping, &votes);
    let figures = ledger::figures(seats, &joined, &votes);
    let (mut entries, numbers) = numbered(seats, testimonies);
    let carried = entries.iter().filter(|entry| entry.carried);
    let mut due: BTreeSet<FindingId> = carried.map(|entry| entry.finding.id.clone()).collect();
    for one in &joined {
        let Some(lead) = numbers.get(&one.lead).copied() else {
            continue;
        };
        for claim in &one.claims {
            let Some(number) = numbers.get(claim) else {
                continue;
            };
            let entry = &mut entries[*number];
            match &one.outcome {
                Outcome::Withdrawn { why, objections } => {
                    if entry.fate == Fate::Staged {
                        entry.fate = Fate::Withdrawn(reason(seats, *why, objections));
                    }
                }
                _ if claim == &one.lead => {
                    entry.fate = Fate::Staged;
                    entry.finding.assessment.score = one.score;
                    entry.finding.support = support(seats, one);
                    due.insert(entry.finding.id.clone());
                }
                _ => entry.fate = Fate::CombinedInto(number_of(lead)),
            }
        }
    }
    Conclusion {
        entries,
        due,
        joined,
        figures,
        reopened: reopened(testimonies),
        still_said: still_said(testimonies),
    }
}

fn reopened(testimonies: &[Testimony]) -> Vec<StagedReply> {
    let mut reopened: Vec<StagedReply> = Vec::new();
    for reply in testimonies.iter().flat_map(|said| &said.reopened) {
        if reopened.iter().all(|one| one.thread.id != reply.thread.id) {
            reopened.push(reply.clone());
        }
    }
    reopened
}

fn still_said(testimonies: &[Testimony]) -> BTreeMap<FindingId, Score> {
    let by_id = testimonies.iter().flat_map(|said| &said.still_said);
    by_id.map(|(id, score)| (id.clone(), *score)).collect()
}

fn number_of(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// The entries of all desks with numbers of their own, and the place of each claim among them.
fn numbered(seats: &[Seat], testimonies: &[Testimony]) -> (Vec<Entry>, BTreeMap<ClaimId, usize>) {
    let (mut entries, mut places) = (Vec::<Entry>::new(), BTreeMap::new());
    for (seat, said) in testimonies.iter().enumerate() {
        // A finding of an earlier review lies on every desk.
        let own = |entry: &&Entry| seat == 0 || !entry.carried;
        for entry in said.entries.iter().filter(own) {
            places.insert(claim_id(seat, entry), entries.len());
            entries.push(if entry.carried {
                carried(seats, testimonies, entry)
            } else {
                entry.clone()
            });
        }
    }
    for (claim, place) in &places {
        let entry = &mut entries[*place];
        if let Fate::CombinedInto(number) = entry.fate {
            let whole = ClaimId { number, ..*claim };
            let whole = places.get(&whole).copied().unwrap_or_default();
            entry.fate = Fate::CombinedInto(number_of(whole));
        }
        entry.id = number_of(*place);
    }
    (entries, places)
}

/// A finding of an earlier review, as the desks leave it. That of the first one counts, with the words of whoever scored it
/// highest; what blocks is withdrawn by two voices.
fn carried(seats: &[Seat], testimonies: &[Testimony], first: &Entry) -> Entry {
    let (mut entry, mut blocks, mut against) = (first.clone(), false, Vec::new());
    for (seat, said) in testimonies.iter().enumerate() {
        let same = |one: &&Entry| one.carried && one.finding.id == first.finding.id;
        let Some(one) = said.entries.iter().find(same) else {
            continue;
        };
        blocks |= said.blocking.contains(&one.id);
        if !one.is_live() {
            against.push(seat);
        } else if one.finding.assessment.score > entry.finding.assessment.score {
            entry.finding = one.finding.clone();
        }
    }
    if blocks && Voices::new(seats).of_all(against).len() < 2 {
        entry.fate = Fate::Staged;
    }
    entry
}

fn claim_id(seat: usize, entry: &Entry) -> ClaimId {
    ClaimId {
        seat,
        number: entry.id,
    }
}

/// The findings of finished passes that reach the threshold, those included that their own reviewer withdrew while others
/// judged them.
fn claims(testimonies: &[Testimony]) -> Vec<Claim> {
    let of_seat = |(seat, said): (usize, &Testimony)| {
        let claims = said.entries.iter().filter_map(|entry| {
            let withdrawn = said.withdrawn.contains(&entry.id);
            let counts = withdrawn || said.publishable.contains(&entry.id);
            (counts && !entry.carried).then(|| Claim {
                id: claim_id(seat, entry),
                finding: entry.finding.clone(),
                withdrawn,
                blocks: said.blocking.contains(&entry.id),
            })
        });
        claims.collect::<Vec<_>>()
    };
    testimonies.iter().enumerate().flat_map(of_seat).collect()
}

/// The claims as the reviewers judged them. Of a reviewer that did not take part in it, they are as it left them.
fn as_judged(testimonies: &[Testimony], claims: &[Claim]) -> Vec<Claim> {
    let of_seat = |(seat, said): (usize, &Testimony)| -> Vec<Claim> {
        let Some(judged) = &said.judged else {
            let own = claims.iter().filter(|claim| claim.id.seat == seat);
            return own.cloned().collect();
        };
        let claims = judged.iter().map(|(number, finding)| Claim {
            id: ClaimId {
                seat,
                number: *number,
            },
            finding: finding.clone(),
            withdrawn: said.withdrawn.contains(number),
            blocks: said.blocking.contains(number),
        });
        claims.collect()
    };
    testimonies.iter().enumerate().flat_map(of_seat).collect()
}

fn votes(testimonies: &[Testimony]) -> Vec<Vote> {
    let of_seat = |(seat, said): (usize, &Testimony)| {
        let votes = said.verdicts.iter().map(|(claim, verdict)| Vote {
            seat,
            claim: *claim,
            verdict: verdict.clone(),
        });
        votes.collect::<Vec<_>>()
    };
    testimonies.iter().enumerate().flat_map(of_seat).collect()
}

/// The answers about pairs, in the clusters of this grouping.
fn answers(testimonies: &[Testimony], grouping: &Grouping) -> Vec<Answer> {
    let number = |id: ClaimId| {
        let mut clusters = grouping.clusters();
        clusters.find_map(|(number, claims)| claims.contains(&id).then_some(number))
    };
    let compared = testimonies.iter().flat_map(|said| &said.compared);
    compared
        .filter_map(|((one, other), same)| {
            let pair: Pair = (number(*one)?, number(*other)?);
            Some(Answer { pair, same: *same })
        })
        .collect()
}

fn support(seats: &[Seat], one: &Joined) -> Support {
    let contest = match &one.outcome {
        Outcome::Contested {
            support,
            objections,
        } => Some(Contest {
            withdrawn_by: one.withdrawn_by.clone(),
            support: argued(seats, support),
            objections: argued(seats, objections),
        }),
        Outcome::Stands | Outcome::Withdrawn { .. } => None,
    };
    Support {
        raised_by: one.raised_by.clone(),
        verified_by: one.verified_by.clone(),
        panel: seats.len(),
        contest,
        places: one.places.clone(),
        proof: None,
        found_by: Vec::new(),
    }
}

/// The arguments that have words, each with the reviewer's name.
fn argued(seats: &[Seat], arguments: &[Argument]) -> Vec<Argued> {
    let worded = arguments.iter().filter_map(|argument| {
        Some(Argued {
            by: seats.get(argument.seat)?.name.clone(),
            reason: argument.reason.clone()?,
            quote: argument.quote.clone(),
        })
    });
    worded.collect()
}

fn reason(seats: &[Seat], why: Withdrawal, objections: &[Argument]) -> String {
    let how = match why {
        Withdrawal::ByRaiser => "its reviewer withdrew it",
        Withdrawal::Refuted => "another reviewer refuted it",
        Withdrawal::Outvoted => "more reviewers refuted it than supported it",
    };
    let objections = argued(seats, objections).into_iter();
    let objections = objections.map(|one| {
        let quote = one.quote.map(|quote| format!(" ({quote})"));
        format!("{}: {}{}", one.by, one.reason, quote.unwrap_or_default())
    });
    let objections: Vec<String> = objections.collect();
    if objections.is_empty() {
        how.to_owned()
    } else {
        format!("{how}. {}", objections.join("; "))
    }
}

#[cfg(test)]
mod tests;
