//! Measures how sure the words of two claims make that both mean the same cause. Separate from the clusters, because
//! this rule is measured on its own (`make panel`).
//!
//! Words are weighed as for repeats ([`Fingerprint`]), with one addition. A reviewer says different things in its own
//! findings, so a word that it uses in several of them does not tell causes apart: it is the subject of the change. Where
//! both reviewers repeat a word, its weight is divided by the number of findings that it stands in. This matters for
//! changes with many defects that are alike; elsewhere it changes little. Frequencies over all reviewers do worse: a word is
//! also frequent because everybody saw the same defect.

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
    /// Bars that are fitted to at most 3 % wrong merges lie at 0.45 to 0.52, and on other changes 4 to 5 % are wrong by
    /// them: mistakes come in changes with many defects that are alike. The bar is well above, because a wrong merge hides a
    /// finding and a missed one costs a question.
    pub const SHIPPED: Self = Self {
        same: 0.70,
        asked: 0.36,
    };
}

/// The texts of several reviewers, made ready for comparison.
#[derive(Debug)]
pub struct Texts {
    texts: Vec<(usize, Fingerprint)>,
    /// For each reviewer, the number of its texts that each word stands in.
    uses: BTreeMap<usize, HashMap<u64, u32>>,
}

impl Texts {
    /// Takes each text with the number of its reviewer.
    pub fn new<'a>(texts: impl IntoIterator<Item = (usize, &'a str)>) -> Self {
        let texts: Vec<(usize, Fingerprint)> = texts
            .into_iter()
            .map(|(seat, text)| (seat, Fingerprint::new(text)))
            .collect();
        let mut uses: BTreeMap<usize, HashMap<u64, u32>> = BTreeMap::new();
        for (seat, text) in &texts {
            let uses = uses.entry(*seat).or_default();
            for word in text.words() {
                *uses.entry(word).or_default() += 1;
            }
        }
        Self { texts, uses }
    }

    /// The certainty that two texts, by their places in the list, mean the same cause: from 0 to 1.
    #[must_use]
    pub fn certainty(&self, a: usize, b: usize) -> f64 {
        let (Some((one, a)), Some((other, b))) = (self.texts.get(a), self.texts.get(b)) else {
            return 0.0;
        };
        let uses = |seat: &usize, word| {
            let of_seat = self.uses.get(seat);
            of_seat
                .and_then(|uses| uses.get(&word))
                .copied()
                .unwrap_or(0)
        };
        let repeated = |word| uses(one, word).min(uses(other, word)).max(1);
        a.divided(repeated).certainty(&b.divided(repeated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "`drain` takes the lock twice, so shutdown deadlocks.";
    const AGAIN: &str = "Shutdown deadlocks because drain() locks twice";

    fn certainty(texts: &[(usize, &str)]) -> f64 {
        Texts::new(texts.iter().copied()).certainty(0, 1)
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
        let ways = [texts.certainty(0, 1), texts.certainty(1, 0)];
        assert!((ways[0] - ways[1]).abs() < f64::EPSILON, "{ways:?}");
    }

    #[test]
    fn words_that_both_reviewers_repeat_tell_causes_apart_no_more() {
        let theme = "The light theme color of the header was changed to lightness 70%";
        let other = "The light theme color of the footer was changed to lightness 70%";
        let third = "The light theme color of the sidebar was changed to lightness 70%";
        let once = certainty(&[(0, theme), (1, other)]);
        let repeated = certainty(&[(0, theme), (1, other), (0, third), (1, third)]);
        let by_one_of_them = certainty(&[(0, theme), (1, other), (0, third), (0, other)]);
        assert!(repeated < once, "{repeated} {once}");
        assert!((by_one_of_them - once).abs() < f64::EPSILON);
    }

    #[test]
    fn a_text_that_is_not_there_is_like_none() {
        assert!(certainty(&[(0, LOCK)]).abs() < f64::EPSILON);
        assert!(certainty(&[(0, ""), (1, "")]) < Bars::SHIPPED.asked);
    }
}
