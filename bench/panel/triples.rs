//! Panels of three: every three of the tools that spoke on a change, as if they had reviewed it together. The findings have no
//! places, so all of a change are taken as near. An answer to a question is yes if both clusters name the same known defect;
//! that is the best that reviewers could answer.

use super::fit::{Count, is_supported};
use super::{Change, Raised, claim, folds, percent, ratio};
use reviewer_core::panel::cluster::{group, group_by};
use reviewer_core::panel::words::Bars;
use reviewer_core::panel::{Answer, Claim, Grouping};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The sums over all panels.
#[derive(Debug, Default)]
struct Sums {
    /// Comments, and those that name a known defect.
    comments: usize,
    right: usize,
    /// Known defects, and those that a comment names.
    known: usize,
    found: usize,
    /// Pairs of findings in one cluster that both name a known defect, and those of them that name two.
    pairs: usize,
    wrong: usize,
    /// Pairs in one cluster of which one names a known defect and the other none.
    mixed: usize,
}

pub fn report(changes: &[Change]) -> String {
    let names = [
        "no clusters",
        "words alone",
        "questions answered",
        "of two or more",
    ];
    let mut sums: [Sums; 4] = Default::default();
    let (mut count, mut questions) = (0, 0);
    for change in changes {
        for (found, claims) in panels(change) {
            let grouping = group(&claims);
            let answered = grouping.merged(&answers(&grouping, &claims, &found));
            count += 1;
            questions += grouping.questions().len();
            let [words, after] =
                [&grouping, &answered].map(|grouping| clusters(grouping, &claims, &found));
            let alone: Vec<Vec<&Raised>> = found.iter().map(|finding| vec![*finding]).collect();
            let agreed = after
                .iter()
                .filter(|cluster| cluster.len() > 1)
                .cloned()
                .collect();
            for (sums, clusters) in sums.iter_mut().zip([alone, words, after, agreed]) {
                sums.add(&clusters, change.known);
            }
        }
    }
    let each = ratio(questions, count).unwrap_or_default();
    let mut out =
        format!("panels of three, panel-findings: {count} panels, {each:.1} questions each\n");
    for (name, sums) in names.iter().zip(&sums) {
        out += &sums.row(name, count);
    }
    out
}

impl Sums {
    fn add(&mut self, clusters: &[Vec<&Raised>], known: usize) {
        self.known += known;
        let mut named: BTreeSet<&str> = BTreeSet::new();
        for cluster in clusters {
            self.comments += 1;
            self.right += usize::from(cluster.iter().any(|finding| !finding.defects.is_empty()));
            named.extend(
                cluster
                    .iter()
                    .flat_map(|finding| finding.defects.iter().map(String::as_str)),
            );
            for (at, one) in cluster.iter().enumerate() {
                for other in &cluster[..at] {
                    self.add_pair(&one.defects, &other.defects);
                }
            }
        }
        self.found += named.len();
    }

    fn add_pair(&mut self, one: &BTreeSet<String>, other: &BTreeSet<String>) {
        match (one.is_empty(), other.is_empty()) {
            (false, false) => {
                self.pairs += 1;
                self.wrong += usize::from(one.is_disjoint(other));
            }
            (true, true) => {}
            _ => self.mixed += 1,
        }
    }

    fn count(&self) -> Count {
        let [merges, wrong] =
            [self.pairs, self.wrong].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        Count { merges, wrong }
    }

    fn row(&self, name: &str, panels: usize) -> String {
        let per_defect = ratio(self.right, self.found).unwrap_or_default();
        let each = ratio(self.comments, panels).unwrap_or_default();
        format!(
            "  {name:<20}{each:>6.1} comments each, {per_defect:.2} per known defect, precision {}, recall {}; of {} merged \
             pairs {} wrong, {} more with an unknown one\n",
            percent(self.right, self.comments),
            percent(self.found, self.known),
            self.pairs,
            percent(self.wrong, self.pairs),
            self.mixed,
        )
    }
}

/// The findings of every three tools on a change, with the claims that they make.
fn panels(change: &Change) -> impl Iterator<Item = (Vec<&Raised>, Vec<Claim>)> {
    let panel = |three: [&str; 3]| {
        let all = change.findings.iter();
        let found: Vec<&Raised> = all.filter(|of| three.contains(&of.tool.as_str())).collect();
        let claims = claims(&found, &three).ok()?;
        Some((found, claims))
    };
    triples(change).into_iter().filter_map(panel)
}

fn triples(change: &Change) -> Vec<[&str; 3]> {
    let tools: BTreeSet<&str> = change
        .findings
        .iter()
        .map(|finding| finding.tool.as_str())
        .collect();
    let tools: Vec<&str> = tools.into_iter().collect();
    let mut triples = Vec::new();
    for (a, first) in tools.iter().enumerate() {
        for (b, second) in tools.iter().enumerate().skip(a + 1) {
            triples.extend(
                tools
                    .iter()
                    .skip(b + 1)
                    .map(|third| [*first, *second, *third]),
            );
        }
    }
    triples
}

fn claims(found: &[&Raised], tools: &[&str]) -> anyhow::Result<Vec<Claim>> {
    let one = |(number, finding): (usize, &&Raised)| {
        let seat = tools
            .iter()
            .position(|tool| *tool == finding.tool)
            .unwrap_or(0);
        claim(seat, number, "change", &finding.text)
    };
    found.iter().enumerate().map(one).collect()
}

fn clusters<'a>(
    grouping: &Grouping,
    claims: &[Claim],
    found: &[&'a Raised],
) -> Vec<Vec<&'a Raised>> {
    let by_id: BTreeMap<_, _> = claims
        .iter()
        .map(|claim| claim.id)
        .zip(found.iter().copied())
        .collect();
    let of = |ids: &[_]| ids.iter().filter_map(|id| by_id.get(id).copied()).collect();
    grouping.clusters().map(|(_, ids)| of(ids)).collect()
}

fn answers(grouping: &Grouping, claims: &[Claim], found: &[&Raised]) -> Vec<Answer> {
    let clusters = clusters(grouping, claims, found);
    let defects = |number: usize| -> BTreeSet<&str> {
        clusters[number]
            .iter()
            .flat_map(|finding| finding.defects.iter().map(String::as_str))
            .collect()
    };
    let answer = |pair: &(_, _)| {
        let (a, b): (
            reviewer_core::panel::ClusterNumber,
            reviewer_core::panel::ClusterNumber,
        ) = *pair;
        let same = !defects(a.0).is_disjoint(&defects(b.0));
        Answer { pair: *pair, same }
    };
    grouping.questions().iter().map(answer).collect()
}

/// The bars to choose from, in hundredths.
const HUNDREDTHS: std::ops::RangeInclusive<u32> = 40..=80;

/// Merges by words on whole panels, where each fold of changes is judged by the lowest bar that the others support.
pub fn validated(changes: &[Change]) -> String {
    let bars: Vec<u32> = HUNDREDTHS.step_by(4).collect();
    // For each bar and change, the sums over its panels.
    let sums: Vec<Vec<Sums>> = bars
        .iter()
        .map(|bar| changes.iter().map(|change| merged(change, *bar)).collect())
        .collect();
    let folds = folds::folds(&(0..changes.len()).collect::<Vec<_>>());
    let mut out = "merges by words on panels of three, panel-findings\n".to_owned();
    for (bar, of) in bars.iter().zip(&sums) {
        let all = total(of.iter());
        let _ = writeln!(
            out,
            "  all changes, bar 0.{bar:<28}{:>7} pairs, {:>7} wrong, {} more with an unknown one",
            all.pairs,
            percent(all.wrong, all.pairs),
            all.mixed,
        );
    }
    let mut judged = Sums::default();
    let mut chosen = BTreeSet::new();
    for fold in folds.iter().copied().collect::<BTreeSet<usize>>() {
        let supported = |(_, of): &(&u32, &Vec<Sums>)| {
            let others = of.iter().zip(&folds).filter(|(_, of)| **of != fold);
            let counts: Vec<Count> = others.map(|(sums, _)| sums.count()).collect();
            is_supported(counts.iter())
        };
        let Some((bar, of)) = bars.iter().zip(&sums).find(supported) else {
            continue;
        };
        let held_out = of.iter().zip(&folds).filter(|(_, of)| **of == fold);
        judged = total([&judged, &total(held_out.map(|(sums, _)| sums))].into_iter());
        chosen.insert(*bar);
    }
    let _ = writeln!(
        out,
        "  held out, fitted bars {chosen:?} (hundredths): {} pairs, {} wrong",
        judged.pairs,
        percent(judged.wrong, judged.pairs)
    );
    out
}

/// The merged pairs of several changes.
fn total<'a>(sums: impl Iterator<Item = &'a Sums>) -> Sums {
    sums.fold(Sums::default(), |all, of| Sums {
        pairs: all.pairs + of.pairs,
        wrong: all.wrong + of.wrong,
        mixed: all.mixed + of.mixed,
        ..all
    })
}

fn merged(change: &Change, hundredths: u32) -> Sums {
    let bars = Bars {
        same: f64::from(hundredths) / 100.0,
        ..Bars::SHIPPED
    };
    let mut sums = Sums::default();
    for (found, claims) in panels(change) {
        let grouping = group_by(&claims, bars);
        sums.add(&clusters(&grouping, &claims, &found), change.known);
    }
    sums
}
