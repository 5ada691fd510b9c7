//! Decides what becomes of each cluster after the cross-examination. A finding stands unless it is refuted; nobody's
//! silence counts against it, and what blocks is withdrawn by two voices or not at all.

use super::claim::{Claim, ClaimId};
use super::cluster::Grouping;
use super::seats::{Seat, Voices};
use crate::domain::Score;
use std::collections::{BTreeMap, BTreeSet};

/// The judgement of a reviewer on a finding of another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Confirm {
        /// The scenario in the reviewer's own words.
        reason: String,
    },
    Refute {
        reason: String,
        /// Code or a test that contradicts the finding; it was looked up before it counts.
        quote: String,
    },
    Unsure,
}

/// A verdict with the reviewer that gave it and the claim it is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vote {
    pub seat: usize,
    pub claim: ClaimId,
    pub verdict: Verdict,
}

/// The reason of one reviewer for or against a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Argument {
    /// The number of the reviewer.
    pub seat: usize,
    /// The reviewer's words; `None` for whoever raised or withdrew it.
    pub reason: Option<String>,
    pub quote: Option<String>,
}

/// The reason why a finding is not posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawal {
    /// Nobody but those who raised it spoke against it.
    ByRaiser,
    /// Another voice refuted it, and nobody but the voice that raised it supports it.
    Refuted,
    /// More voices are against it than for it.
    Outvoted,
}

/// The result of the votes on a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Stands,
    Withdrawn {
        why: Withdrawal,
        objections: Vec<Argument>,
    },
    /// Posted with both arguments, still blocking, for a person to decide.
    Contested {
        support: Vec<Argument>,
        objections: Vec<Argument>,
    },
}

/// A cluster after the votes: one comment, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The claim at the best anchor; its finding is the one to post.
    pub lead: ClaimId,
    /// All claims of the cluster, in order.
    pub claims: Vec<ClaimId>,
    pub raised_by: Vec<String>,
    /// Those of them that withdrew it.
    pub withdrawn_by: Vec<String>,
    /// Others that confirmed it.
    pub verified_by: Vec<String>,
    pub outcome: Outcome,
    /// The highest score that anybody gave it.
    pub score: Score,
    /// The score of each that raised it.
    pub scores: Vec<(String, Score)>,
    /// Places other than the lead's, in the order of their claims.
    pub places: Vec<String>,
}

impl Joined {
    /// True if it is posted.
    #[must_use]
    pub fn stood(&self) -> bool {
        !matches!(self.outcome, Outcome::Withdrawn { .. })
    }
}

/// Decides about all clusters, in their order. Claims and votes come in any order; votes on unknown claims count for
/// nothing.
#[must_use]
pub fn join(seats: &[Seat], claims: &[Claim], grouping: &Grouping, votes: &[Vote]) -> Vec<Joined> {
    let by_id: BTreeMap<ClaimId, &Claim> = claims.iter().map(|claim| (claim.id, claim)).collect();
    let joined = |ids: &[ClaimId]| {
        let cluster: Vec<&Claim> = ids.iter().filter_map(|id| by_id.get(id).copied()).collect();
        join_one(seats, &cluster, votes)
    };
    let clusters = grouping.clusters();
    clusters.filter_map(|(_, ids)| joined(ids)).collect()
}

/// `None` for a cluster without a claim.
fn join_one(seats: &[Seat], cluster: &[&Claim], votes: &[Vote]) -> Option<Joined> {
    let lead = cluster
        .iter()
        .copied()
        .min_by_key(|claim| claim.lead_key())?;
    let name = |seat: usize| {
        let named = seats.get(seat).map(|seat| seat.name.clone());
        named.unwrap_or_else(|| format!("reviewer {}", seat + 1))
    };
    let names = |seats: BTreeSet<usize>| seats.into_iter().map(name).collect();
    let raisers: BTreeSet<usize> = cluster.iter().map(|claim| claim.id.seat).collect();
    let withdrawn = cluster.iter().filter(|claim| claim.withdrawn);
    let confirmed = votes_on(cluster, votes)
        .filter(|vote| matches!(vote.verdict, Verdict::Confirm { .. }))
        .map(|vote| vote.seat)
        .filter(|seat| !raisers.contains(seat));
    let lead_place = lead.finding.place();
    let mut places: Vec<String> = Vec::new();
    for place in cluster.iter().map(|claim| claim.finding.place()) {
        if place != lead_place && !places.contains(&place) {
            places.push(place);
        }
    }
    Some(Joined {
        lead: lead.id,
        claims: cluster.iter().map(|claim| claim.id).collect(),
        withdrawn_by: names(withdrawn.map(|claim| claim.id.seat).collect()),
        verified_by: names(confirmed.collect()),
        outcome: decide(seats, cluster, votes),
        score: cluster.iter().map(|claim| claim.score()).max()?,
        scores: cluster
            .iter()
            .map(|claim| (name(claim.id.seat), claim.score()))
            .collect(),
        places,
        raised_by: names(raisers),
    })
}

fn votes_on<'a>(cluster: &'a [&Claim], votes: &'a [Vote]) -> impl Iterator<Item = &'a Vote> {
    let about = |vote: &&Vote| cluster.iter().any(|claim| claim.id == vote.claim);
    votes.iter().filter(about)
}

/// Decides about one cluster by its voices. A voice supports the finding if any of its sessions does, and objects if none
/// does and one objects.
#[must_use]
pub fn decide(seats: &[Seat], cluster: &[&Claim], votes: &[Vote]) -> Outcome {
    let (support, objections) = arguments(cluster, votes);
    let voices = Voices::new(seats);
    let of = |arguments: &[Argument]| voices.of_all(arguments.iter().map(|argument| argument.seat));
    let supporting = of(&support);
    let objecting: BTreeSet<usize> = of(&objections).difference(&supporting).copied().collect();
    let raising = voices.of_all(cluster.iter().map(|claim| claim.id.seat));
    if objecting.is_empty() {
        return Outcome::Stands;
    }
    let why = if objecting.is_subset(&raising) && supporting.is_empty() {
        Some(Withdrawal::ByRaiser)
    } else if objecting.len() > supporting.len() {
        Some(Withdrawal::Outvoted)
    } else if raising.len() == 1 && supporting == raising {
        Some(Withdrawal::Refuted)
    } else {
        None
    };
    let blocks = cluster.iter().any(|claim| claim.blocks);
    // A reviewer alone has nobody beside it to ask.
    let enough = !blocks || objecting.len() >= 2 || seats.len() < 2;
    match why {
        Some(why) if enough => Outcome::Withdrawn { why, objections },
        _ if blocks => Outcome::Contested {
            support,
            objections,
        },
        _ => Outcome::Stands,
    }
}

/// The arguments for and against, in the order of the seats. Whoever raised a finding supports it until it withdraws it.
fn arguments(cluster: &[&Claim], votes: &[Vote]) -> (Vec<Argument>, Vec<Argument>) {
    let (mut support, mut objections) = (BTreeSet::new(), BTreeSet::new());
    for claim in cluster {
        let side = if claim.withdrawn {
            &mut objections
        } else {
            &mut support
        };
        side.insert(Argument {
            seat: claim.id.seat,
            reason: None,
            quote: None,
        });
    }
    for Vote { seat, verdict, .. } in votes_on(cluster, votes) {
        let (side, reason, quote) = match verdict {
            Verdict::Confirm { reason } => (&mut support, reason, None),
            Verdict::Refute { reason, quote } => (&mut objections, reason, Some(quote.clone())),
            Verdict::Unsure => continue,
        };
        side.insert(Argument {
            seat: *seat,
            reason: Some(reason.clone()),
            quote,
        });
    }
    (
        support.into_iter().collect(),
        objections.into_iter().collect(),
    )
}

#[cfg(test)]
mod tests;
