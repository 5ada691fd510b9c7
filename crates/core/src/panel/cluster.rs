//! Groups the claims of all reviewers by cause. What place and words decide is merged here; what they leave open becomes
//! a question, and its answers merge further. A model only names duplicates: code merges.
//!
//! A cluster holds at most one claim of a reviewer, because whoever said two things meant two. Clusters are joined by
//! average linkage, every two of their claims near each other, so that no chain of likenesses joins different causes.

use super::claim::{Claim, ClaimId};
use super::words::{Bars, Texts};
use crate::domain::{Anchor, Finding};
use crate::state::repeats::NEAR;
use std::collections::{BTreeMap, BTreeSet};

/// The most pairs that one run asks about.
pub const MOST_QUESTIONS: usize = 24;

/// The place of a cluster in its grouping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterNumber(pub usize);

/// Two clusters that may have the same cause, the lower number first.
pub type Pair = (ClusterNumber, ClusterNumber);

/// The answer of one reviewer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub pair: Pair,
    /// True for the same cause.
    pub same: bool,
}

/// All claims by cause.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grouping {
    clusters: Vec<Vec<ClaimId>>,
    questions: Vec<Pair>,
}

impl Grouping {
    /// The clusters in the order of their first claims, each with its claims in order.
    pub fn clusters(&self) -> impl Iterator<Item = (ClusterNumber, &[ClaimId])> {
        let numbered = self.clusters.iter().enumerate();
        numbered.map(|(number, claims)| (ClusterNumber(number), claims.as_slice()))
    }

    #[must_use]
    pub fn cluster(&self, number: ClusterNumber) -> &[ClaimId] {
        self.clusters.get(number.0).map_or(&[], Vec::as_slice)
    }

    /// The pairs to ask about, the most likely first.
    #[must_use]
    pub fn questions(&self) -> &[Pair] {
        &self.questions
    }

    /// Merges the pairs that were answered, and always with yes. Likelier pairs come first; a merge that would put a pair
    /// with a "no", or two claims of one reviewer, into one cluster is left out. Nothing is asked any more.
    #[must_use]
    pub fn merged(&self, answers: &[Answer]) -> Self {
        let mut same: BTreeMap<Pair, bool> = BTreeMap::new();
        for Answer {
            pair: (a, b),
            same: yes,
        } in answers
        {
            let all = same.entry((*a.min(b), *a.max(b))).or_insert(true);
            *all &= yes;
        }
        // The group that each cluster is in, by its lowest member.
        let mut group_of: Vec<usize> = (0..self.clusters.len()).collect();
        let agreed = self
            .questions
            .iter()
            .filter(|pair| same.get(pair) == Some(&true));
        for (a, b) in agreed {
            let (Some(&a), Some(&b)) = (group_of.get(a.0), group_of.get(b.0)) else {
                continue;
            };
            let members = |group: usize| -> Vec<usize> {
                (0..group_of.len())
                    .filter(|at| group_of[*at] == group)
                    .collect()
            };
            let (ours, theirs) = (members(a), members(b));
            if a != b && self.may_merge(&ours, &theirs, &same) {
                for at in ours.into_iter().chain(theirs) {
                    group_of[at] = a.min(b);
                }
            }
        }
        let mut groups: BTreeMap<usize, Vec<ClaimId>> = BTreeMap::new();
        for (claims, group) in self.clusters.iter().zip(group_of) {
            groups.entry(group).or_default().extend(claims);
        }
        Self::of(groups.into_values())
    }

    /// Adds the claims that were made since. Each joins what it is surely the same as, else it is a cluster of its own; two
    /// clusters that were there are never joined by it.
    #[must_use]
    pub fn with(&self, claims: &[Claim]) -> Self {
        let is_known = |id: &ClaimId| self.clusters.iter().any(|one| one.contains(id));
        if claims.iter().all(|claim| is_known(&claim.id)) {
            return self.clone();
        }
        let mut claims: Vec<&Claim> = claims.iter().collect();
        claims.sort_by_key(|claim| claim.id);
        let is_new: Vec<bool> = claims.iter().map(|claim| !is_known(&claim.id)).collect();
        let place = |id: &ClaimId| claims.binary_search_by_key(id, |claim| claim.id).ok();
        let known = self.clusters.iter();
        let known = known.map(|cluster| cluster.iter().filter_map(place).collect());
        let new = (0..claims.len()).filter(|at| is_new[*at]);
        let begin: Vec<Vec<usize>> = known.chain(new.map(|at| vec![at])).collect();
        let links = Links::new(&claims, Bars::SHIPPED);
        let may_grow = |cluster: &[usize]| cluster.iter().all(|at| is_new[*at]);
        let clusters = links.joined(begin, may_grow).into_iter();
        Self::of(clusters.map(|cluster| cluster.iter().map(|at| claims[*at].id).collect()))
    }

    fn may_merge(&self, ours: &[usize], theirs: &[usize], same: &BTreeMap<Pair, bool>) -> bool {
        let seats = |group: &[usize]| -> BTreeSet<usize> {
            let claims = group.iter().flat_map(|at| &self.clusters[*at]);
            claims.map(|claim| claim.seat).collect()
        };
        let denied = |a: usize, b: usize| {
            let pair = (ClusterNumber(a.min(b)), ClusterNumber(a.max(b)));
            same.get(&pair) == Some(&false)
        };
        let mut pairs = ours
            .iter()
            .flat_map(|a| theirs.iter().map(move |b| (*a, *b)));
        seats(ours).is_disjoint(&seats(theirs)) && !pairs.any(|(a, b)| denied(a, b))
    }

    /// Sorts the clusters and their claims; there are no questions.
    fn of(clusters: impl IntoIterator<Item = Vec<ClaimId>>) -> Self {
        let mut clusters: Vec<Vec<ClaimId>> = clusters.into_iter().collect();
        for cluster in &mut clusters {
            cluster.sort_unstable();
        }
        clusters.sort_unstable();
        Self {
            clusters,
            questions: Vec::new(),
        }
    }
}

/// Groups the claims, which have different ids. Their order does not matter.
#[must_use]
pub fn group(claims: &[Claim]) -> Grouping {
    group_by(claims, Bars::SHIPPED)
}

/// Groups the claims by other bars.
#[must_use]
pub fn group_by(claims: &[Claim], bars: Bars) -> Grouping {
    let mut claims: Vec<&Claim> = claims.iter().collect();
    claims.sort_by_key(|claim| claim.id);
    let links = Links::new(&claims, bars);
    // By their first claims, which are in order.
    let clusters: Vec<Vec<usize>> = links.clusters();
    let ids = |cluster: &Vec<usize>| cluster.iter().map(|at| claims[*at].id).collect();
    let mut grouping = Grouping::of(clusters.iter().map(ids));
    grouping.questions = links.questions(&clusters);
    grouping
}

/// The relation of two claims of different reviewers on the same file.
#[derive(Debug, Clone, Copy)]
struct Link {
    certainty: f64,
    near: bool,
}

/// The relation of two clusters.
#[derive(Debug, Clone, Copy)]
struct Linkage {
    /// The mean over all pairs.
    certainty: f64,
    least: f64,
    all_near: bool,
    some_near: bool,
}

impl Linkage {
    fn is_same(&self, bars: Bars) -> bool {
        self.all_near && self.certainty >= bars.same && self.least >= bars.asked
    }

    /// Near with some of the same words, or with the same words elsewhere in the file.
    fn is_open(&self, bars: Bars) -> bool {
        let bar = if self.some_near {
            bars.asked
        } else {
            bars.same
        };
        self.certainty >= bar
    }
}

/// The relations of all claims, by their places in the sorted list; `None` where two can never be merged.
struct Links {
    rows: Vec<Vec<Option<Link>>>,
    bars: Bars,
}

impl Links {
    fn new(claims: &[&Claim], bars: Bars) -> Self {
        let words: Vec<String> = claims.iter().map(|claim| claim.text()).collect();
        let seats = claims.iter().map(|claim| claim.id.seat);
        let texts = Texts::new(seats.zip(words.iter().map(String::as_str)));
        let same_file = |a: usize, b: usize| claims[a].finding.file == claims[b].finding.file;
        let near = |a, b| same_file(a, b) && is_near(&claims[a].finding, &claims[b].finding);
        let link = |a: usize, b: usize| {
            let possible = claims[a].id.seat != claims[b].id.seat && same_file(a, b);
            possible.then(|| Link {
                certainty: texts.certainty(a, b, near),
                near: near(a, b),
            })
        };
        // The half below the diagonal.
        let row = |a: usize| (0..a).map(|b| link(a, b)).collect();
        Self {
            rows: (0..claims.len()).map(row).collect(),
            bars,
        }
    }

    fn between(&self, a: &[usize], b: &[usize]) -> Option<Linkage> {
        let mut sum = 0.0;
        let mut linkage = Linkage {
            certainty: 0.0,
            least: 1.0,
            all_near: true,
            some_near: false,
        };
        for one in a {
            for other in b {
                let Link { certainty, near } = self.rows[*one.max(other)][*one.min(other)]?;
                sum += certainty;
                linkage.least = linkage.least.min(certainty);
                linkage.all_near &= near;
                linkage.some_near |= near;
            }
        }
        let pairs = u32::try_from(a.len() * b.len()).unwrap_or(u32::MAX);
        linkage.certainty = sum / f64::from(pairs);
        Some(linkage)
    }

    fn clusters(&self) -> Vec<Vec<usize>> {
        let single = (0..self.rows.len()).map(|at| vec![at]);
        self.joined(single.collect(), |_| true)
    }

    /// Joins the two clusters that are surest to be the same, until none are. One of both has to be one that may grow.
    fn joined(
        &self,
        mut clusters: Vec<Vec<usize>>,
        may_grow: impl Fn(&[usize]) -> bool,
    ) -> Vec<Vec<usize>> {
        clusters.retain(|cluster| !cluster.is_empty());
        let sure = |clusters: &[Vec<usize>], a: usize, b: usize| {
            let (one, other) = (&clusters[a], &clusters[b]);
            let linkage = self.between(one, other)?;
            if !may_grow(one) && !may_grow(other) {
                return None;
            }
            linkage
                .is_same(self.bars)
                .then_some((linkage.certainty, a.min(b), a.max(b)))
        };
        let mut candidates: Vec<(f64, usize, usize)> = (0..clusters.len())
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .filter_map(|(a, b)| sure(&clusters, a, b))
            .collect();
        while let Some((_, kept, gone)) = surest(&candidates) {
            let moved = std::mem::take(&mut clusters[gone]);
            clusters[kept].extend(moved);
            clusters[kept].sort_unstable();
            candidates.retain(|(_, a, b)| ![*a, *b].iter().any(|at| [kept, gone].contains(at)));
            let others = (0..clusters.len()).filter(|at| *at != kept && !clusters[*at].is_empty());
            candidates.extend(others.filter_map(|at| sure(&clusters, at, kept)));
        }
        clusters.retain(|cluster| !cluster.is_empty());
        clusters
    }

    fn questions(&self, clusters: &[Vec<usize>]) -> Vec<Pair> {
        let pairs = (0..clusters.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let mut open: Vec<(f64, Pair)> = pairs
            .filter_map(|(a, b)| {
                let linkage = self.between(&clusters[a], &clusters[b])?;
                let pair = (ClusterNumber(a), ClusterNumber(b));
                linkage
                    .is_open(self.bars)
                    .then_some((linkage.certainty, pair))
            })
            .collect();
        open.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.cmp(other)));
        open.truncate(MOST_QUESTIONS);
        open.into_iter().map(|(_, pair)| pair).collect()
    }
}

/// The candidate of the highest certainty; of several, the one of the earliest claims.
fn surest(candidates: &[(f64, usize, usize)]) -> Option<(f64, usize, usize)> {
    let order = |one: &&(f64, usize, usize), other: &&(f64, usize, usize)| {
        let earlier = (other.1, other.2).cmp(&(one.1, one.2));
        one.0.total_cmp(&other.0).then(earlier)
    };
    candidates.iter().max_by(order).copied()
}

/// The same place, for findings on the same file: the same code, or lines at most [`NEAR`] apart on the same side. A
/// finding about the whole file is near everything in it.
pub(crate) fn is_near(a: &Finding, b: &Finding) -> bool {
    let same_code = !a.anchor_hash.is_empty() && a.anchor_hash == b.anchor_hash;
    let near = match (a.anchor, b.anchor) {
        (
            Anchor::Line { side, start, line },
            Anchor::Line {
                side: other_side,
                start: other_start,
                line: other_line,
            },
        ) => {
            let (first, other_first) = (start.unwrap_or(line), other_start.unwrap_or(other_line));
            let gap = first.max(other_first).saturating_sub(line.min(other_line));
            side == other_side && gap <= NEAR
        }
        _ => true,
    };
    same_code || near
}

#[cfg(test)]
mod tests;
