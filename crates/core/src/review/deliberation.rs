//! From the desks of several reviewers to one result: the questions of the cross-examination, and the findings that stand
//! after the votes. Pure; the rules themselves are in `panel`.

use super::desk::{Desk, Docket, Entry, Fate, SharedDesk, ToCompare, ToVerify};
use crate::domain::{Argued, Contest, FindingId, Support};
use crate::panel::cluster::{self, Pair};
use crate::panel::examination;
use crate::panel::ledger::{self, Figures};
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
    verdicts: Vec<(ClaimId, Verdict)>,
    compared: Vec<((ClaimId, ClaimId), bool)>,
}

impl Testimony {
    fn of(desk: &Desk) -> Self {
        let (publishable, _) = desk.publishable();
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
    let grouping = cluster::group(&claims);
    let grouping = grouping.merged(&answers(testimonies, &grouping));
    let votes = votes(testimonies);
    let joined = votes::join(seats, &claims, &grouping, &votes);
    let figures = ledger::figures(seats, &joined, &votes);
    let (mut entries, numbers) = numbered(testimonies);
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
    }
}

fn number_of(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// The entries of all desks with numbers of their own, and the place of each claim among them.
fn numbered(testimonies: &[Testimony]) -> (Vec<Entry>, BTreeMap<ClaimId, usize>) {
    let (mut entries, mut places) = (Vec::<Entry>::new(), BTreeMap::new());
    for (seat, said) in testimonies.iter().enumerate() {
        // A finding of an earlier review lies on every desk; that of the first one counts.
        let own = |entry: &&Entry| seat == 0 || !entry.carried;
        for entry in said.entries.iter().filter(own) {
            places.insert(claim_id(seat, entry), entries.len());
            entries.push(entry.clone());
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
mod tests {
    use super::*;
    use crate::domain::fixture;
    use crate::review::policy::Reason;

    fn seats(count: usize) -> Vec<Seat> {
        let names = ["general", "quality", "security"].into_iter();
        let seat = |name: &str| Seat {
            name: name.into(),
            model: "standin/one".into(),
        };
        names.take(count).map(seat).collect()
    }

    fn entry(id: u32, reviewer: &str, line: u32, sentence: &str, score: u8) -> Entry {
        let mut finding = fixture::finding();
        finding.id = format!("{reviewer}-{id}").parse().unwrap();
        finding.reviewer = reviewer.into();
        finding.anchor = crate::domain::Anchor::Line {
            side: crate::domain::Side::Right,
            start: None,
            line,
        };
        finding.anchor_hash = format!("hash-{line}");
        finding.assessment.finding = sentence.into();
        finding.body = sentence.into();
        finding.assessment.score = crate::domain::Score::new(score.into()).unwrap();
        Entry {
            id,
            given: finding.assessment.score,
            finding,
            fate: Fate::Staged,
            carried: false,
            worded: false,
        }
    }

    fn said(entries: Vec<Entry>) -> Testimony {
        let ids = |entries: &[Entry], keep: fn(&Entry) -> bool| {
            let kept = entries.iter().filter(|entry| keep(entry));
            kept.map(|entry| entry.id).collect()
        };
        Testimony {
            publishable: ids(&entries, |entry| entry.fate == Fate::Staged),
            blocking: ids(&entries, |entry| entry.given.get() >= 9),
            entries,
            ..Testimony::default()
        }
    }

    const LOST: &str = "The last page of the list is lost because pages rounds down.";

    #[test]
    fn the_same_cause_is_published_once_with_the_highest_score() {
        let general = said(vec![entry(1, "general", 8, LOST, 7)]);
        let quality = said(vec![entry(1, "quality", 8, LOST, 8)]);
        let concluded = conclude(&seats(2), &[general, quality]);
        assert_eq!(concluded.due.len(), 1);
        let [general, quality] = concluded.entries.as_slice() else {
            panic!("{:?}", concluded.entries);
        };
        assert_eq!((general.id, quality.id), (1, 2), "numbered through");
        assert_eq!(general.fate, Fate::CombinedInto(2));
        assert_eq!(quality.fate, Fate::Staged);
        let support = &quality.finding.support;
        assert_eq!(support.raised_by, ["general", "quality"]);
        assert_eq!(quality.finding.assessment.score.get(), 8);
    }

    #[test]
    fn a_single_finding_goes_to_another_reviewer_and_falls_by_its_refutation() {
        let testimonies = [
            said(vec![entry(1, "general", 8, LOST, 7)]),
            Testimony::default(),
        ];
        let dockets = dockets(&seats(2), &testimonies, &BTreeSet::new());
        assert!(dockets[0].is_empty(), "nobody verifies its own");
        let claim = dockets[1].findings[0].claim;
        let [general, mut quality] = testimonies;
        quality.verdicts.push((
            claim,
            Verdict::Refute {
                reason: "It rounds up.".into(),
                quote: "Math.ceil(count / size)".into(),
            },
        ));
        let concluded = conclude(&seats(2), &[general, quality]);
        assert!(concluded.due.is_empty());
        assert_eq!(
            concluded.entries[0].fate,
            Fate::Withdrawn(
                "another reviewer refuted it. quality: It rounds up. (Math.ceil(count / size))"
                    .into()
            )
        );
        assert_eq!(concluded.figures[0].refuted, 1);
    }

    #[test]
    fn what_its_reviewer_withdrew_before_the_others_judged_it_stays_withdrawn() {
        let mut own = entry(1, "general", 8, LOST, 9);
        own.fate = Fate::Withdrawn("It rounds up.".into());
        let testimonies = [said(vec![own]), Testimony::default()];
        let none = BTreeSet::new();
        assert!(dockets(&seats(2), &testimonies, &none)[1].is_empty());
        let concluded = conclude(&seats(2), &testimonies);
        assert!(concluded.due.is_empty() && concluded.joined.is_empty());
        let [general, quality] = testimonies;
        let withdrawn = Testimony {
            withdrawn: BTreeSet::from([1]),
            ..general
        };
        let concluded = conclude(&seats(2), &[withdrawn, quality]);
        let entry = &concluded.entries[0];
        assert_eq!(
            entry.fate,
            Fate::Staged,
            "one voice does not clear what blocks"
        );
        let contest = entry.finding.support.contest.as_ref();
        assert_eq!(contest.expect("a contest").withdrawn_by, ["general"]);
    }

    #[test]
    fn who_is_absent_verifies_nothing_and_what_it_found_is_verified() {
        let absent = BTreeSet::from([1]);
        let testimonies = [
            Testimony::default(),
            said(vec![entry(1, "quality", 8, LOST, 9)]),
            Testimony::default(),
        ];
        let dockets = dockets(&seats(3), &testimonies, &absent);
        let asked: Vec<usize> = dockets.iter().map(|one| one.findings.len()).collect();
        assert_eq!(asked, [1, 0, 1], "two voices for what blocks");
    }

    #[test]
    fn a_finding_of_an_earlier_review_counts_once_and_is_not_judged_again() {
        let earlier = |reviewer| Entry {
            carried: true,
            ..entry(1, reviewer, 8, LOST, 7)
        };
        let testimonies = [
            said(vec![earlier("general")]),
            said(vec![earlier("general")]),
        ];
        let none = BTreeSet::new();
        assert!(
            dockets(&seats(2), &testimonies, &none)
                .iter()
                .all(Docket::is_empty)
        );
        let concluded = conclude(&seats(2), &testimonies);
        assert_eq!(concluded.entries.len(), 1);
        assert_eq!(concluded.due.len(), 1);
    }

    #[test]
    fn what_is_below_the_threshold_stays_so_and_combined_findings_keep_their_whole() {
        let suppressed = Fate::Suppressed(Reason::BelowThreshold {
            score: crate::domain::Score::new(3).unwrap(),
            threshold: crate::domain::Score::new(5).unwrap(),
        });
        let mut small = entry(1, "quality", 3, "A name.", 3);
        small.fate = suppressed.clone();
        let mut part = entry(2, "quality", 4, "Another name.", 3);
        part.fate = Fate::CombinedInto(3);
        let whole = entry(3, "quality", 5, "Names say nothing here.", 5);
        let testimonies = [
            said(vec![entry(1, "general", 8, LOST, 7)]),
            said(vec![small, part, whole]),
        ];
        let concluded = conclude(&seats(2), &testimonies);
        let fates: Vec<&Fate> = concluded.entries.iter().map(|one| &one.fate).collect();
        assert_eq!(
            fates,
            [
                &Fate::Staged,
                &suppressed,
                &Fate::CombinedInto(4),
                &Fate::Staged
            ]
        );
    }
}
