//! The words rule on labelled pairs, whatever their places: the shipped bar on all of them, and bars that were fitted on other
//! folds. A fold holds whole changes, or whole groups of pairs that share texts.

use super::{Change, folds, percent, ratio, wire};
use reviewer_core::panel::words::{Bars, Texts};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The shares of wrong merges, in percent, that bars allow on the folds that they are fitted on.
pub const AIMS: [usize; 2] = [3, 2];

#[derive(Debug, Clone, Copy)]
pub struct Scored {
    same: bool,
    certainty: f64,
    group: usize,
}

/// Pairs without the names of their reviewers, by groups that share texts.
pub fn labelled(pairs: &[wire::Pair]) -> Vec<Scored> {
    let groups = folds::groups(pairs);
    let scored = pairs.iter().zip(groups).map(|(pair, group)| Scored {
        same: pair.same,
        certainty: Texts::new([(0, pair.a.as_str()), (1, pair.b.as_str())]).certainty(0, 1),
        group,
    });
    scored.collect()
}

/// Pairs of findings that two tools made on a change and that both name a known defect. Without the names of the tools no word
/// counts as repeated.
pub fn within(changes: &[Change], named: bool) -> Vec<Scored> {
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
                        certainty: texts.certainty(a, b),
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
struct Merges {
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

    fn at(pairs: &[Scored], bar: f64) -> Self {
        let mut merges = Self::default();
        for pair in pairs {
            merges.add(*pair, bar);
        }
        merges
    }

    fn row(self, name: &str) -> String {
        let all = self.right + self.wrong;
        let (wrong, recall) = (percent(self.wrong, all), percent(self.right, self.same));
        format!("  {name:<44}{all:>7} merges, {wrong:>7} wrong, recall {recall:>7}\n")
    }
}

pub fn report(name: &str, pairs: &[Scored]) -> String {
    let Bars { same, asked } = Bars::SHIPPED;
    let alike = pairs.iter().filter(|pair| pair.same).count();
    let groups: Vec<usize> = pairs.iter().map(|pair| pair.group).collect();
    let mut out = format!(
        "words, {name}: {} pairs, {alike} of them the same\n",
        pairs.len()
    );
    for bar in [0.60, 0.64, 0.66, 0.70, 0.72, 0.76] {
        out += &Merges::at(pairs, bar).row(&format!("all pairs, bar {bar:.2}"));
    }
    out += &Merges::at(pairs, same).row(&format!("all pairs, shipped bar {same:.2}"));
    out += &Merges::at(pairs, asked).row(&format!("merged or asked about, from {asked:.2}"));
    let folds = folds::folds(&groups);
    out += &worst(pairs, &folds, same).row("the worst fold, shipped bar");
    for aim in AIMS {
        out += &validated(pairs, &folds, aim);
    }
    out
}

/// The merges of the fold that has the largest share of wrong ones.
fn worst(pairs: &[Scored], folds: &[usize], bar: f64) -> Merges {
    let of = |fold: &usize| {
        let held: Vec<Scored> = pairs
            .iter()
            .zip(folds)
            .filter(|(_, of)| *of == fold)
            .map(|(pair, _)| *pair)
            .collect();
        Merges::at(&held, bar)
    };
    let share =
        |merges: &Merges| ratio(merges.wrong, merges.right + merges.wrong).unwrap_or_default();
    let merges = folds.iter().collect::<BTreeSet<_>>().into_iter().map(of);
    merges
        .max_by(|a, b| share(a).total_cmp(&share(b)))
        .unwrap_or_default()
}

/// Each fold is judged by the bar that the others support.
fn validated(pairs: &[Scored], folds: &[usize], aim: usize) -> String {
    let mut merges = Merges::default();
    let mut bars: Vec<f64> = Vec::new();
    for fold in folds.iter().collect::<BTreeSet<_>>() {
        let (held_out, others): (Vec<_>, Vec<_>) =
            pairs.iter().zip(folds).partition(|(_, of)| *of == fold);
        let others: Vec<Scored> = others.into_iter().map(|(pair, _)| *pair).collect();
        let bar = fitted(&others, aim);
        bars.push(bar);
        for (pair, _) in held_out {
            merges.add(*pair, bar);
        }
    }
    bars.sort_by(f64::total_cmp);
    let mut name = String::new();
    if let (Some(least), Some(most)) = (bars.first(), bars.last()) {
        let _ = write!(name, "held out, aim {aim} %, bars {least:.2} to {most:.2}");
    }
    merges.row(&name)
}

/// The lowest bar at which so many percent of the merges are wrong at most.
fn fitted(pairs: &[Scored], aim: usize) -> f64 {
    let mut pairs = pairs.to_vec();
    pairs.sort_by(|a, b| b.certainty.total_cmp(&a.certainty));
    let (mut wrong, mut bar) = (0, f64::INFINITY);
    for (before, pair) in pairs.iter().enumerate() {
        wrong += usize::from(!pair.same);
        if wrong * 100 <= aim * (before + 1) {
            bar = pair.certainty;
        }
    }
    bar
}
