//! Cross-validation of the bars of repetition: each pair is judged by bars that were fitted without it and without any
//! pair that shares a text with it. Separate from the counts, because it only says which pairs judge which.

use super::wire::Pair;
use reviewer_core::state::repeats::{Agreement, Bars};
use std::cmp::Reverse;
use std::collections::HashMap;

const FOLDS: usize = 10;

/// The share of the pairs that are the same, in percent, which a fitted bar finds. A little more than is asked of unseen
/// pairs, because a share that is met on some pairs is missed by a little on others.
const POSSIBLE_AIM: usize = 90;
const NEAR_CERTAIN_AIM: usize = 43;

/// A pair as far as bars are concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    pub same: bool,
    pub agreement: Agreement,
}

/// The group of each pair, counted from 0. Two pairs that share a text are in one group, also by way of other pairs.
pub(super) fn groups(pairs: &[Pair]) -> Vec<usize> {
    let mut numbers = HashMap::new();
    let mut parents = Vec::new();
    let mut firsts = Vec::new();
    for pair in pairs {
        let [a, b] = [pair.a.as_str(), pair.b.as_str()].map(|text| {
            *numbers.entry(text).or_insert_with(|| {
                parents.push(parents.len());
                parents.len() - 1
            })
        });
        let (a, b) = (top(&mut parents, a), top(&mut parents, b));
        parents[b] = a;
        firsts.push(a);
    }
    let mut counted = HashMap::new();
    let tops = firsts.into_iter().map(|first| top(&mut parents, first));
    tops.map(|top| {
        let next = counted.len();
        *counted.entry(top).or_insert(next)
    })
    .collect()
}

fn top(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

/// The fold of each pair: whole groups, the largest first, each into the fold that has the fewest pairs.
pub(super) fn folds(groups: &[usize]) -> Vec<usize> {
    let mut sizes = vec![0_usize; groups.iter().max().map_or(0, |last| last + 1)];
    for group in groups {
        sizes[*group] += 1;
    }
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|group| Reverse(sizes[*group]));
    let mut loads = [0; FOLDS];
    let mut fold_of = vec![0; sizes.len()];
    for group in order {
        let fold = (0..FOLDS).min_by_key(|fold| loads[*fold]).unwrap_or(0);
        loads[fold] += sizes[group];
        fold_of[group] = fold;
    }
    groups.iter().map(|group| fold_of[*group]).collect()
}

/// The bars that find what is aimed at among these pairs.
pub(super) fn fitted(pairs: impl Iterator<Item = Scored>) -> Bars {
    let same: Vec<Agreement> = pairs
        .filter_map(|pair| pair.same.then_some(pair.agreement))
        .collect();
    Bars {
        possible: bar(same.iter().map(|of| of.share), POSSIBLE_AIM),
        near_certain: bar(same.iter().map(|of| of.certainty), NEAR_CERTAIN_AIM),
    }
}

/// The highest bar that so many percent of the values reach.
fn bar(values: impl Iterator<Item = f64>, percent: usize) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(|a, b| b.total_cmp(a));
    let found = (values.len() * percent).div_ceil(100);
    let last = found.checked_sub(1).and_then(|at| values.get(at));
    last.copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(a: &str, b: &str) -> Pair {
        Pair {
            same: true,
            a: a.into(),
            b: b.into(),
        }
    }

    #[test]
    fn pairs_that_share_a_text_are_in_one_group_also_by_way_of_others() {
        let pairs = [
            pair("a", "b"),
            pair("c", "d"),
            pair("e", "f"),
            pair("d", "b"),
            pair("f", "e"),
            pair("g", "g"),
        ];
        assert_eq!(groups(&pairs), [0, 0, 1, 0, 1, 2]);
    }

    #[test]
    fn a_group_is_never_divided_and_the_folds_are_about_equal() {
        let sizes = [60, 40, 30, 30, 30, 30, 30, 30, 30, 20, 15, 5];
        let groups: Vec<usize> = (0..sizes.len())
            .flat_map(|group| std::iter::repeat_n(group, sizes[group]))
            .collect();
        let folds = folds(&groups);
        let mut seen: HashMap<usize, usize> = HashMap::new();
        let mut loads = [0; FOLDS];
        for (group, fold) in groups.iter().zip(&folds) {
            assert_eq!(seen.entry(*group).or_insert(*fold), fold);
            loads[*fold] += 1;
        }
        loads.sort_unstable();
        assert_eq!(loads, [30, 30, 30, 30, 30, 30, 35, 35, 40, 60]);
    }

    #[test]
    fn a_fitted_bar_finds_just_what_is_aimed_at() {
        let scored = |same, percent: u32| Scored {
            same,
            agreement: Agreement {
                share: f64::from(percent) / 100.0,
                certainty: f64::from(percent) / 200.0,
            },
        };
        let same = (1..=100).map(|percent| scored(true, percent));
        let bars = fitted(same.chain([scored(false, 99)]));
        assert_eq!(
            bars,
            Bars {
                possible: 0.11,
                near_certain: 0.29
            }
        );
        let nothing = fitted([scored(false, 99)].into_iter());
        assert!(nothing.possible.is_infinite(), "nothing reaches it");
    }
}
