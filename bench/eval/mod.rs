//! How well repetition is recognised, measured on labelled pairs of texts. Separate from what it measures, because
//! the product never runs it: it is there so that a change of a weight shows in figures.

mod folds;
pub mod redact;
mod wire;

use folds::Scored;
use reviewer_core::state::repeats::{Bars, Fingerprint, Likeness};
use std::collections::BTreeSet;
use std::fmt;

/// Why a file of pairs cannot be measured on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPairs {
    #[error(
        "line {line} is not a pair ({reason}); each line must be a JSON object with \"same\" (true or false) and the \
         texts \"a\" and \"b\""
    )]
    Line { line: usize, reason: String },
    #[error(
        "there are no pairs in it; give one JSON object a line with \"same\" (true or false) and the texts \"a\" and \
         \"b\""
    )]
    Empty,
}

/// What one tier said about pairs that are the same, and about pairs that are not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tier {
    pub found: u32,
    pub mistaken: u32,
}

/// The counts of one file. A near-certain pair is also a possible one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dedupe {
    pub same: u32,
    pub different: u32,
    pub near_certain: Tier,
    pub possible: Tier,
}

/// The counts of pairs that were each judged by bars which were fitted on other pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unseen {
    pub counts: Dedupe,
    /// How many groups of pairs there are that share no text.
    pub groups: usize,
}

/// What is measured on one file: the bars of the product on all pairs, and fitted bars on unseen pairs, where there are
/// pairs that share no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    pub shipped: Dedupe,
    pub unseen: Option<Unseen>,
}

/// Measures on a file with a pair a line; empty lines are passed over.
pub fn dedupe(file: &str) -> Result<Report, BadPairs> {
    let pairs = pairs(file)?;
    let scored: Vec<Scored> = pairs.iter().map(score).collect();
    let mut shipped = Dedupe::default();
    for pair in &scored {
        shipped.add(*pair, Bars::SHIPPED);
    }
    let groups = folds::groups(&pairs);
    Ok(Report {
        shipped,
        unseen: unseen(&scored, &groups),
    })
}

fn score(pair: &wire::Pair) -> Scored {
    Scored {
        same: pair.same,
        agreement: Fingerprint::new(&pair.a).agreement(&Fingerprint::new(&pair.b)),
    }
}

fn unseen(scored: &[Scored], groups: &[usize]) -> Option<Unseen> {
    let count = groups.iter().max().map_or(0, |last| last + 1);
    if count < 2 {
        return None;
    }
    let folds = folds::folds(groups);
    let mut counts = Dedupe::default();
    for fold in folds.iter().collect::<BTreeSet<_>>() {
        let (held_out, others): (Vec<_>, Vec<_>) =
            scored.iter().zip(&folds).partition(|(_, of)| *of == fold);
        let bars = folds::fitted(others.into_iter().map(|(pair, _)| *pair));
        for (pair, _) in held_out {
            counts.add(*pair, bars);
        }
    }
    Some(Unseen {
        counts,
        groups: count,
    })
}

fn pairs(file: &str) -> Result<Vec<wire::Pair>, BadPairs> {
    let mut pairs = Vec::new();
    for (index, line) in file.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let pair = serde_json::from_str(line).map_err(|error| BadPairs::Line {
            line: index + 1,
            reason: without_place(&error),
        })?;
        pairs.push(pair);
    }
    if pairs.is_empty() {
        return Err(BadPairs::Empty);
    }
    Ok(pairs)
}

/// serde_json counts lines within the one line that it was given.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or_default();
    reason.to_owned()
}

impl Dedupe {
    fn add(&mut self, pair: Scored, bars: Bars) {
        let Scored { same, agreement } = pair;
        let likeness = bars.likeness(agreement);
        let total = if same {
            &mut self.same
        } else {
            &mut self.different
        };
        *total += 1;
        for (tier, bar) in [
            (&mut self.near_certain, Likeness::NearCertain),
            (&mut self.possible, Likeness::Possible),
        ] {
            let count = if same {
                &mut tier.found
            } else {
                &mut tier.mistaken
            };
            *count += u32::from(likeness >= bar);
        }
    }

    /// The share of the pairs that are the same and were found; `None` where there are none.
    #[must_use]
    pub fn recall(&self, tier: Tier) -> Option<f64> {
        share(tier.found, self.same)
    }

    /// The share of the pairs that are different and were taken for the same; `None` where there are none.
    #[must_use]
    pub fn false_positive_rate(&self, tier: Tier) -> Option<f64> {
        share(tier.mistaken, self.different)
    }
}

fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}

impl fmt::Display for Dedupe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (same, different) = (self.same, self.different);
        for (name, tier) in [
            ("near-certain", self.near_certain),
            ("possible", self.possible),
        ] {
            writeln!(
                f,
                "{name:<12}  recall {} ({} of {same})  false positives {} ({} of {different})",
                percent(self.recall(tier)),
                tier.found,
                percent(self.false_positive_rate(tier)),
                tier.mistaken,
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dedupe {
            same, different, ..
        } = self.shipped;
        let all = same + different;
        writeln!(
            f,
            "pairs         {all} ({same} same, {different} different)"
        )?;
        write!(f, "{}", self.shipped)?;
        match self.unseen {
            Some(Unseen { counts, groups }) => write!(
                f,
                "unseen        bars fitted on the pairs of other folds ({groups} groups that share no text)\n{counts}"
            ),
            None => writeln!(
                f,
                "unseen        n/a (all pairs are one group that shares texts)"
            ),
        }
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "n/a".into(), |share| format!("{:.1} %", share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "The lock is never released when the upload fails.";

    fn line(same: bool, b: &str) -> String {
        serde_json::json!({"same": same, "a": LOCK, "b": b, "repo": "ignored"}).to_string()
    }

    #[test]
    fn a_file_of_pairs_gives_the_figures_of_both_tiers() {
        let file = [
            line(true, "Lock never released when upload fails"),
            line(
                true,
                "After a broken upload the lock stays taken, and later jobs wait for it in vain",
            ),
            String::new(),
            line(false, "Lock is never released if the upload fails"),
            line(false, "Typo in the name of the test"),
        ]
        .join("\r\n");
        let report = dedupe(&file).unwrap().to_string();
        assert_eq!(
            report,
            "pairs         4 (2 same, 2 different)\n\
             near-certain  recall 50.0 % (1 of 2)  false positives 50.0 % (1 of 2)\n\
             possible      recall 100.0 % (2 of 2)  false positives 50.0 % (1 of 2)\n\
             unseen        n/a (all pairs are one group that shares texts)\n"
        );
    }

    #[test]
    fn an_unseen_pair_is_judged_by_bars_of_the_pairs_that_share_no_text_with_it() {
        let other = |same, b: &str| {
            serde_json::json!({"same": same, "a": "The page loop is off by one.", "b": b})
                .to_string()
        };
        let file = [
            line(true, LOCK),
            line(false, "Lock released twice when the upload fails"),
            other(
                true,
                "Off by one, and the cursor is lost after the last request.",
            ),
            other(false, "The loop over pages is off by one."),
        ];
        let report = dedupe(&file.join("\n")).unwrap();
        let unseen = report.unseen.unwrap();
        let tier = |found, mistaken| Tier { found, mistaken };
        assert_eq!(unseen.groups, 2);
        assert_eq!(report.shipped.near_certain, tier(1, 2), "{report}");
        // The first group is judged by the low bar of the second one, and the second one by a high bar.
        assert_eq!(unseen.counts.near_certain, tier(1, 1), "{report}");
    }

    #[test]
    fn a_wrong_line_is_named_with_what_a_line_must_be() {
        let file = format!(
            "{}\n\n{{\"same\": \"yes\", \"a\": \"\", \"b\": \"\"}}\n",
            line(true, "x")
        );
        assert_eq!(
            dedupe(&file).unwrap_err().to_string(),
            "line 3 is not a pair (invalid type: string \"yes\", expected a boolean); each line must be a JSON object \
             with \"same\" (true or false) and the texts \"a\" and \"b\""
        );
        assert_eq!(dedupe("\n \n"), Err(BadPairs::Empty));
    }

    #[test]
    fn a_rate_of_nothing_is_not_a_number() {
        let only_same = dedupe(&line(true, LOCK)).unwrap();
        assert_eq!(
            only_same.shipped.recall(only_same.shipped.possible),
            Some(1.0)
        );
        assert_eq!(
            only_same
                .shipped
                .false_positive_rate(only_same.shipped.possible),
            None
        );
        assert!(
            only_same
                .to_string()
                .contains("false positives n/a (0 of 0)")
        );
    }
}
