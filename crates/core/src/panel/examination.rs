//! Assigns the cross-examination: which reviewer verifies which clusters of others in the last pass. Separate from the
//! votes, because it is decided before anybody votes.

use super::claim::{Claim, ClaimId};
use super::cluster::{ClusterNumber, Grouping};
use super::seats::{Seat, Voices};
use crate::domain::Score;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The most clusters that one reviewer verifies, unless more of them block.
pub const MOST_EACH: usize = 12;

/// A cluster that others have to look at. The order of the fields is the order of importance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    /// Raised by several voices.
    shared: bool,
    harmless: bool,
    score: Reverse<Option<Score>>,
    number: ClusterNumber,
    raisers: BTreeSet<usize>,
}

/// The clusters that each seat verifies, the most important first. Nobody verifies its own. A blocking cluster of one voice
/// goes to two others where there are two, because withdrawing it takes two voices; every other single and every other
/// blocking cluster goes to one. Seats that cannot take part are `absent`.
#[must_use]
pub fn assign(
    seats: &[Seat],
    claims: &[Claim],
    grouping: &Grouping,
    absent: &BTreeSet<usize>,
) -> Vec<Vec<ClusterNumber>> {
    let voices = Voices::new(seats);
    let mut cases = cases(&voices, claims, grouping);
    // What blocks is assigned before anything else, so that the limit never drops it.
    cases.sort_by_key(|case| (case.harmless, case.clone()));
    let present: Vec<usize> = (0..seats.len())
        .filter(|seat| !absent.contains(seat))
        .collect();
    let mut assigned: Vec<Vec<&Case>> = vec![Vec::new(); seats.len()];
    for case in &cases {
        let mut heard = voices.of_all(case.raisers.iter().copied());
        let wanted = if case.shared || case.harmless { 1 } else { 2 };
        for _ in 0..wanted {
            let free = present.iter().copied().filter(|seat| {
                let may = !case.raisers.contains(seat) && !assigned[*seat].contains(&case);
                may && (!case.harmless || assigned[*seat].len() < MOST_EACH)
            });
            let rotated =
                |seat: usize| (seat + seats.len() - case.number.0 % seats.len()) % seats.len();
            let chosen = free.min_by_key(|seat| {
                let known = voices.of(*seat).is_some_and(|voice| heard.contains(&voice));
                (known, assigned[*seat].len(), rotated(*seat))
            });
            let Some(chosen) = chosen else { break };
            heard.extend(voices.of(chosen));
            assigned[chosen].push(case);
        }
    }
    let in_order = |mut cases: Vec<&Case>| {
        cases.sort();
        cases.into_iter().map(|case| case.number).collect()
    };
    assigned.into_iter().map(in_order).collect()
}

/// The clusters that need a look: those of one voice, and those that block. What its only raiser has withdrawn and blocks
/// nothing is settled.
fn cases(voices: &Voices, claims: &[Claim], grouping: &Grouping) -> Vec<Case> {
    let by_id: BTreeMap<ClaimId, &Claim> = claims.iter().map(|claim| (claim.id, claim)).collect();
    let case = |(number, ids): (ClusterNumber, &[ClaimId])| {
        let claims: Vec<&Claim> = ids.iter().filter_map(|id| by_id.get(id).copied()).collect();
        let raisers: BTreeSet<usize> = ids.iter().map(|id| id.seat).collect();
        let case = Case {
            shared: voices.of_all(raisers.iter().copied()).len() > 1,
            harmless: !claims.iter().any(|claim| claim.blocks),
            score: Reverse(claims.iter().map(|claim| claim.score()).max()),
            number,
            raisers,
        };
        let settled = case.harmless && (case.shared || claims.iter().all(|claim| claim.withdrawn));
        (!settled).then_some(case)
    };
    grouping.clusters().filter_map(case).collect()
}

#[cfg(test)]
mod tests;
