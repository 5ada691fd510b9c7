//! Measures how sure the words of two claims make that both mean the same cause. Separate from the clusters, because
//! this rule is measured on its own (`make panel`).
//!
//! Words are weighed as for repeats ([`Fingerprint`]), with two additions. Both rest on this: a reviewer says different
//! things in its own findings.
//!
//! A word that a reviewer uses in several of them does not tell causes apart: it is the subject of the change. Where both
//! reviewers repeat a word, its weight is divided by the number of findings that it stands in. Frequencies over all reviewers
//! do worse: a word is also frequent because everybody saw the same defect.
//!
//! And a finding has its match in at most one finding of another reviewer. So a pair is surer by its lead over the next
//! best pair of either text with the same two reviewers at the same place, and less sure where another pair is better. This
//! tells causes apart where many defects are alike. Pairs elsewhere do not count: the place told them apart already, and a
//! lead over them would only say that both texts are about the same code. Without another pair the words alone count.

use crate::state::repeats::Fingerprint;
use std::collections::{BTreeMap, HashMap};

/// The certainties from which claims are merged or asked about; `make panel` measures them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bars {
    /// From here on, two claims at the same place are merged.
    pub same: f64,
    /// From here on, two claims at the same place are worth a question.
    pub asked: f64,
}

impl Bars {
    /// The bar for a merge is fitted to at most 3 % wrong merges, two standard errors included, where mistakes of one
    /// change count as one: they come in bunches. It is the higher of the bars of two sets of findings. A test holds it
    /// against them, because a wrong merge hides a finding and a missed one costs a question.
    pub const SHIPPED: Self = Self {
        same: 0.72,
        asked: 0.36,
    };
}

/// The most that a lead adds. However clear it is, two texts need many of the same words to be merged.
const MOST_LEAD: f64 = 0.2;

/// The texts of several reviewers, compared.
#[derive(Debug)]
pub struct Texts {
    /// The number of each text's reviewer.
    seats: Vec<usize>,
    /// The agreement of each text with those before it, from 0 to 1.
    agreements: Vec<Vec<f64>>,
}

impl Texts {
    /// Takes each text with the number of its reviewer.
    pub fn new<'a>(texts: impl IntoIterator<Item = (usize, &'a str)>) -> Self {
        let texts: Vec<(usize, Fingerprint)> = texts
            .into_iter()
            .map(|(seat, text)| (seat, Fingerprint::new(text)))
            .collect();
        let uses = Uses::new(&texts);
        let row = |a: usize| {
            (0..a)
                .map(|b| uses.agreement(&texts[a], &texts[b]))
                .collect()
        };
        Self {
            agreements: (0..texts.len()).map(row).collect(),
            seats: texts.into_iter().map(|(seat, _)| seat).collect(),
        }
    }

    /// The certainty that texts of two reviewers, by their places in the list, mean the same cause: from 0 to 1. Two texts
    /// are at the same place if `near` says so, in either order.
    #[must_use]
    pub fn certainty(&self, a: usize, b: usize, near: impl Fn(usize, usize) -> bool) -> f64 {
        let agreement = self.agreement(a, b);
        let others = |of: usize, other: usize| {
            let seat = self.seats.get(other).copied();
            (0..self.seats.len())
                .filter(move |at| Some(self.seats[*at]) == seat && *at != other && *at != of)
        };
        let pairs = others(a, b)
            .map(|other| (a, other))
            .chain(others(b, a).map(|other| (b, other)));
        let rivals = pairs.filter(|(one, other)| near(*one, *other));
        let best = rivals
            .map(|(one, other)| self.agreement(one, other))
            .max_by(f64::total_cmp);
        let lead = best.map_or(0.0, |best| agreement - best);
        (agreement + lead.min(MOST_LEAD)).clamp(0.0, 1.0)
    }

    fn agreement(&self, a: usize, b: usize) -> f64 {
        let row = self.agreements.get(a.max(b));
        row.and_then(|row| row.get(a.min(b)))
            .copied()
            .unwrap_or(0.0)
    }
}

/// For each reviewer, the number of its texts that each word stands in.
struct Uses(BTreeMap<usize, HashMap<u64, u32>>);

impl Uses {
    fn new(texts: &[(usize, Fingerprint)]) -> Self {
        let mut uses: BTreeMap<usize, HashMap<u64, u32>> = BTreeMap::new();
        for (seat, text) in texts {
            let uses = uses.entry(*seat).or_default();
            for word in text.words() {
                *uses.entry(word).or_default() += 1;
            }
        }
        Self(uses)
    }

    fn count(&self, seat: usize, word: u64) -> u32 {
        let of_seat = self.0.get(&seat);
        of_seat
            .and_then(|uses| uses.get(&word))
            .copied()
            .unwrap_or(0)
    }

    /// The agreement of two texts, the words that both reviewers repeat at less weight.
    fn agreement(&self, (one, a): &(usize, Fingerprint), (other, b): &(usize, Fingerprint)) -> f64 {
        let repeated = |word| self.count(*one, word).min(self.count(*other, word)).max(1);
        a.divided(repeated).certainty(&b.divided(repeated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "`drain` takes the lock twice, so shutdown deadlocks.";
    const AGAIN: &str = "Shutdown deadlocks because drain() locks twice";

    fn certainty(texts: &[(usize, &str)]) -> f64 {
        Texts::new(texts.iter().copied()).certainty(0, 1, |_, _| true)
    }

    #[test]
    fn a_restatement_is_sure_and_another_defect_is_not_even_asked_about() {
        let leak = "The connection is never returned to the pool on error.";
        assert!(certainty(&[(0, LOCK), (1, AGAIN)]) >= Bars::SHIPPED.same);
        assert!(certainty(&[(0, LOCK), (1, leak)]) < Bars::SHIPPED.asked);
    }

    #[test]
    fn both_ways_are_equal() {
        let texts = Texts::new([(0, LOCK), (1, AGAIN)]);
        let ways = [(0, 1), (1, 0)].map(|(a, b)| texts.certainty(a, b, |_, _| true));
        assert!((ways[0] - ways[1]).abs() < f64::EPSILON, "{ways:?}");
    }

    #[test]
    fn words_that_both_reviewers_repeat_tell_causes_apart_no_more() {
        let agreement = |texts: &[_]| Texts::new(texts.iter().copied()).agreement(0, 1);
        let theme = "The light theme color of the header was changed to lightness 70%";
        let other = "The light theme color of the footer was changed to lightness 70%";
        let third = "The light theme color of the sidebar was changed to lightness 70%";
        let once = agreement(&[(0, theme), (1, other)]);
        let repeated = agreement(&[(0, theme), (1, other), (0, third), (1, third)]);
        let by_one_of_them = agreement(&[(0, theme), (1, other), (0, third), (0, other)]);
        assert!(repeated < once, "{repeated} {once}");
        assert!((by_one_of_them - once).abs() < f64::EPSILON);
    }

    #[test]
    fn a_lead_makes_sure_and_a_better_match_elsewhere_takes_the_certainty() {
        let loose = "Two locks in drain block each other on shutdown";
        let leak = "The connection is never returned to the pool on error.";
        let alone = certainty(&[(0, LOCK), (1, loose)]);
        let leading = certainty(&[(0, LOCK), (1, loose), (1, leak)]);
        let behind = certainty(&[(0, LOCK), (1, loose), (1, AGAIN)]);
        assert!(
            leading > alone && alone > behind,
            "{leading} {alone} {behind}"
        );
        assert!(leading - alone <= MOST_LEAD + f64::EPSILON);
        let mirrored = certainty(&[(1, loose), (0, LOCK), (1, AGAIN)]);
        assert!((mirrored - behind).abs() < f64::EPSILON, "{mirrored}");
    }

    #[test]
    fn pairs_elsewhere_are_no_rivals() {
        let texts = [(0, LOCK), (1, AGAIN), (1, LOCK)];
        let alone = certainty(&texts[..2]);
        let elsewhere = Texts::new(texts).certainty(0, 1, |a, b| a.max(b) < 2);
        assert!((alone - elsewhere).abs() < f64::EPSILON);
        assert!(certainty(&texts) < alone);
    }

    #[test]
    fn a_lead_alone_never_merges() {
        let texts = [(0, LOCK), (1, "Shutdown is slow"), (0, "x"), (1, "y")];
        let sure = certainty(&texts);
        assert!(sure > 0.0 && sure < Bars::SHIPPED.same, "{sure}");
    }

    #[test]
    fn texts_of_a_third_reviewer_change_nothing() {
        let leak = "The connection is never returned to the pool on error.";
        let two = certainty(&[(0, LOCK), (1, AGAIN), (1, leak)]);
        let three = certainty(&[(0, LOCK), (1, AGAIN), (1, leak), (2, LOCK), (2, AGAIN)]);
        assert!((two - three).abs() < f64::EPSILON, "{two} {three}");
    }

    #[test]
    fn a_text_that_is_not_there_is_like_none() {
        assert!(certainty(&[(0, LOCK)]).abs() < f64::EPSILON);
        assert!(certainty(&[(0, ""), (1, "")]) < Bars::SHIPPED.asked);
    }
}
