//! The words rule on labelled pairs, whatever their places: the shipped bar on all of them, and bars that were fitted on other
//! folds. A fold holds whole changes, or whole groups of pairs that share texts.

use super::{Change, fit, folds, in_percent, ratio, wire};
use reviewer_core::panel::words::{Bars, Texts};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy)]
pub struct Scored {
    pub same: bool,
    pub certainty: f64,
    /// The number of its change, or of the pairs that it shares texts with.
    pub group: usize,
}

/// Pairs without the names of their reviewers, by groups that share texts.
pub(super) fn labelled(pairs: &[wire::Pair]) -> Vec<Scored> {
    let groups = folds::groups(pairs);
    let scored = pairs.iter().zip(groups).map(|(pair, group)| Scored {
        same: pair.same,
        certainty: Texts::new([(0, pair.a.as_str()), (1, pair.b.as_str())]).certainty(
            0,
            1,
            |_, _| true,
        ),
        group,
    });
    scored.collect()
}

/// Pairs of findings that two tools made on a change and that both name a known defect. Without the names of the tools no word
/// counts as repeated, and no pair leads another. The findings have no places, so all of a change are taken as near.
pub(super) fn within(changes: &[Change], named: bool) -> Vec<Scored> {
    let mut scored = Vec::new();
    for (group, change) in changes.iter().enumerate() {
        let tools: Vec<&str> = change
            .findings
            .iter()
            .map(|finding| finding.tool.as_str())
            .collect();
        let number = |tool| tools.iter().position(|other| *other == tool).unwrap_or(0);
        let seat = |at, tool| if named { number(tool) } else { at };
        let found = change.findings.iter().enumerate();
        let texts =
            found.map(|(at, finding)| (seat(at, finding.tool.as_str()), finding.text.as_str()));
        let texts = Texts::new(texts);
        for (a, one) in change.findings.iter().enumerate() {
            for (b, other) in change.findings[..a].iter().enumerate() {
                if one.tool != other.tool && !one.defects.is_empty() && !other.defects.is_empty() {
                    scored.push(Scored {
                        same: !one.defects.is_disjoint(&other.defects),
                        certainty: texts.certainty(a, b, |_, _| true),
                        group,
                    });
                }
            }
        }
    }
    scored
}

/// The merges among some pairs.
#[derive(Debug, Default, Clone, Copy)]
pub struct Merges {
    right: usize,
    wrong: usize,
    same: usize,
}

impl Merges {
    fn add(&mut self, pair: Scored, bar: f64) {
        self.same += usize::from(pair.same);
        if pair.certainty >= bar {
            *if pair.same {
                &mut self.right
            } else {
                &mut self.wrong
            } += 1;
        }
    }

    pub fn at(pairs: &[Scored], bar: f64) -> Self {
        let mut merges = Self::default();
        for pair in pairs {
            merges.add(*pair, bar);
        }
        merges
    }

    pub fn wrong_share(self) -> Option<f64> {
        ratio(self.wrong, self.right + self.wrong)
    }

    pub fn recall(self) -> Option<f64> {
        ratio(self.right, self.same)
    }

    fn row(self, name: &str) -> String {
        let all = self.right + self.wrong;
        let [wrong, recall] = [self.wrong_share(), self.recall()].map(in_percent);
        format!("  {name:<44}{all:>7} merges, {wrong:>7} wrong, recall {recall:>7}\n")
    }
}

pub(super) fn report(name: &str, pairs: &[Scored]) -> String {
    let Bars { same, asked } = Bars::SHIPPED;
    let alike = pairs.iter().filter(|pair| pair.same).count();
    let mut out = format!(
        "words, {name}: {} pairs, {alike} of them the same\n",
        pairs.len()
    );
    for bar in [0.60, 0.64, 0.68, 0.76] {
        out += &Merges::at(pairs, bar).row(&format!("all pairs, bar {bar:.2}"));
    }
    out += &Merges::at(pairs, same).row(&format!("all pairs, shipped bar {same:.2}"));
    out += &Merges::at(pairs, asked).row(&format!("merged or asked about, from {asked:.2}"));
    out += &worst(pairs, same).row("the worst fold, shipped bar");
    let fitted = fit::bar(pairs.iter());
    out += &Merges::at(pairs, fitted).row(&format!("all pairs, fitted bar {fitted:.3}"));
    let (merges, [least, most]) = held_out(pairs);
    out += &merges.row(&format!("held out, fitted bars {least:.2} to {most:.2}"));
    out
}

fn folds_of(pairs: &[Scored]) -> Vec<usize> {
    let groups: Vec<usize> = pairs.iter().map(|pair| pair.group).collect();
    folds::folds(&groups)
}

/// The merges of the fold that has the largest share of wrong ones.
fn worst(pairs: &[Scored], bar: f64) -> Merges {
    let folds = folds_of(pairs);
    let of = |fold: &usize| {
        let held: Vec<Scored> = pairs
            .iter()
            .zip(&folds)
            .filter(|(_, of)| *of == fold)
            .map(|(pair, _)| *pair)
            .collect();
        Merges::at(&held, bar)
    };
    let share = |merges: &Merges| merges.wrong_share().unwrap_or_default();
    let merges = folds.iter().collect::<BTreeSet<_>>().into_iter().map(of);
    merges
        .max_by(|a, b| share(a).total_cmp(&share(b)))
        .unwrap_or_default()
}

/// The merges where each fold is judged by the bar that was fitted on the others, with the lowest and the highest bar.
pub fn held_out(pairs: &[Scored]) -> (Merges, [f64; 2]) {
    let folds = folds_of(pairs);
    let mut merges = Merges::default();
    let mut bars = [f64::INFINITY, 0.0_f64];
    for fold in folds.iter().collect::<BTreeSet<_>>() {
        let (held_out, others): (Vec<_>, Vec<_>) =
            pairs.iter().zip(&folds).partition(|(_, of)| *of == fold);
        let bar = fit::bar(others.into_iter().map(|(pair, _)| pair));
        bars = [bars[0].min(bar), bars[1].max(bar)];
        for (pair, _) in held_out {
            merges.add(*pair, bar);
        }
    }
    (merges, bars)
}
