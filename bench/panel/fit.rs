//! The fit of a bar to the share of wrong merges that is allowed, with a margin. Separate from the figures, because the held-out
//! fold must play no part in it.
//!
//! Mistakes come in bunches: a change with many defects that are alike, or a finding that names two of them. A bar that just
//! meets the aim on some changes misses it on others. So the standard error counts whole groups, not pairs, and two of them have
//! to fit under the aim.

use super::pairs::Scored;
use std::collections::BTreeMap;

/// The share of merges that may be wrong.
pub const AIM: f64 = 0.03;

/// The standard errors that have to fit under the aim.
const MARGIN: f64 = 2.0;

/// With fewer merges nothing is known about their mistakes.
const LEAST: u32 = 30;

/// The merges of one group of pairs.
#[derive(Debug, Default, Clone, Copy)]
pub struct Count {
    pub merges: u32,
    pub wrong: u32,
}

/// True if the groups show that at most the aim is wrong.
pub fn is_supported<'a>(groups: impl Iterator<Item = &'a Count> + Clone) -> bool {
    let groups = groups.filter(|group| group.merges > 0);
    let merges: u32 = groups.clone().map(|group| group.merges).sum();
    let wrong: u32 = groups.clone().map(|group| group.wrong).sum();
    let number = u32::try_from(groups.clone().count()).unwrap_or(u32::MAX);
    if merges < LEAST || number < 2 {
        return false;
    }
    let (all, number) = (f64::from(merges), f64::from(number));
    let share = f64::from(wrong) / all;
    let squares: f64 = groups
        .map(|group| (f64::from(group.wrong) - share * f64::from(group.merges)).powi(2))
        .sum();
    let error = (number / (number - 1.0) * squares).sqrt() / all;
    share + MARGIN * error <= AIM
}

/// The lowest supported bar; none is supported where it is infinite.
pub fn bar<'a>(pairs: impl Iterator<Item = &'a Scored>) -> f64 {
    let mut pairs: Vec<&Scored> = pairs.collect();
    pairs.sort_by(|a, b| b.certainty.total_cmp(&a.certainty));
    let mut groups: BTreeMap<usize, Count> = BTreeMap::new();
    let mut bar = f64::INFINITY;
    for equal in pairs.chunk_by(|a, b| a.certainty.total_cmp(&b.certainty).is_eq()) {
        for pair in equal {
            let group = groups.entry(pair.group).or_default();
            group.merges += 1;
            group.wrong += u32::from(!pair.same);
        }
        if is_supported(groups.values()) {
            bar = equal[0].certainty;
        }
    }
    bar
}

/// The bar to ship: the highest of the bars of several sets, rounded up to hundredths.
pub fn shipped(sets: &[&[Scored]]) -> f64 {
    let bars = sets.iter().map(|pairs| bar(pairs.iter()));
    let highest = bars.max_by(f64::total_cmp).unwrap_or(f64::INFINITY);
    (highest * 100.0).ceil() / 100.0
}

#[cfg(test)]
#[allow(
    dead_code,
    reason = "the benchmark is built for tests without running them"
)]
mod tests {
    use super::*;

    fn groups(counts: &[(u32, u32)]) -> Vec<Count> {
        let count = |(merges, wrong): &(u32, u32)| Count {
            merges: *merges,
            wrong: *wrong,
        };
        counts.iter().map(count).collect()
    }

    #[test]
    fn mistakes_of_one_group_weigh_more_than_as_many_of_several() {
        let spread = groups(&[(50, 1), (50, 1), (50, 1), (50, 0)]);
        let bunched = groups(&[(50, 3), (50, 0), (50, 0), (50, 0)]);
        assert!(is_supported(spread.iter()));
        assert!(!is_supported(bunched.iter()));
    }

    #[test]
    fn few_merges_or_one_group_support_nothing() {
        assert!(!is_supported(groups(&[(15, 0), (14, 0)]).iter()));
        assert!(!is_supported(groups(&[(90, 0), (0, 0)]).iter()));
        assert!(is_supported(groups(&[(15, 0), (15, 0)]).iter()));
    }

    #[test]
    fn the_lowest_supported_bar_is_found() {
        let pair = |at: u32, same| Scored {
            same,
            certainty: f64::from(at / 10) / 10.0,
            group: at as usize % 5,
        };
        let right = (30..100).map(|at| pair(at, true));
        let wrong = (20..30).map(|at| pair(at, false));
        let pairs: Vec<Scored> = right.chain(wrong).collect();
        let higher = &pairs[10..];
        for (found, expected) in [
            (bar(pairs.iter()), 0.3),
            (bar(higher.iter()), 0.4),
            (shipped(&[higher, &pairs]), 0.4),
        ] {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        assert!(bar(pairs[..20].iter()).is_infinite());
    }
}
