//! Panels of three: every three of the tools that spoke on a change, as if they had reviewed it together. The findings have no
//! places, so all of a change are taken as near. An answer to a question is yes if both clusters name the same known defect;
//! that is the best that reviewers could answer.

use super::pairs::AIMS;
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
    let (mut panels, mut questions) = (0, 0);
    for change in changes {
        for three in triples(change) {
            let found: Vec<&Raised> = change
                .findings
                .iter()
                .filter(|of| three.contains(&of.tool.as_str()))
                .collect();
            let Ok(claims) = claims(&found, &three) else {
                return "triples: the findings cannot be read\n".to_owned();
            };
            let grouping = group(&claims);
            let answered = grouping.merged(&answers(&grouping, &claims, &found));
            panels += 1;
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
    let each = ratio(questions, panels).unwrap_or_default();
    let mut out =
        format!("panels of three, panel-findings: {panels} panels, {each:.1} questions each\n");
    for (name, sums) in names.iter().zip(&sums) {
        out += &sums.row(name, panels);
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
const HUNDREDTHS: std::ops::RangeInclusive<u32> = 38..=82;

/// Merges by words on whole panels, where each fold of changes is judged by the lowest bar that the others support.
pub fn validated(changes: &[Change]) -> String {
    let bars: Vec<u32> = HUNDREDTHS.step_by(4).collect();
    // For each change and bar, the sums over its panels.
    let sums: Vec<Vec<Sums>> = changes
        .iter()
        .map(|change| bars.iter().map(|bar| merged(change, *bar)).collect())
        .collect();
    let groups: Vec<usize> = (0..changes.len()).collect();
    let folds = folds::folds(&groups);
    let total = |at: usize, keep: &dyn Fn(usize) -> bool| {
        let kept = sums.iter().zip(&folds).filter(|(_, fold)| keep(**fold));
        kept.fold((0, 0), |(pairs, wrong), (of, _)| {
            (pairs + of[at].pairs, wrong + of[at].wrong)
        })
    };
    let mut out = "merges by words on panels of three, panel-findings\n".to_owned();
    for (at, bar) in bars.iter().enumerate() {
        let (pairs, wrong) = total(at, &|_| true);
        let _ = writeln!(
            out,
            "  all changes, bar 0.{bar:<28}{pairs:>7} pairs, {:>7} wrong, {} more with an unknown one",
            percent(wrong, pairs),
            sums.iter().map(|of| of[at].mixed).sum::<usize>(),
        );
    }
    for aim in AIMS {
        let (mut pairs, mut wrong, mut chosen) = (0, 0, BTreeSet::new());
        for fold in folds.iter().copied().collect::<BTreeSet<usize>>() {
            let supported = |at: &usize| {
                let (pairs, wrong) = total(*at, &|of| of != fold);
                wrong * 100 <= aim * pairs
            };
            let Some(at) = (0..bars.len()).find(supported) else {
                continue;
            };
            let held_out = total(at, &|of| of == fold);
            (pairs, wrong) = (pairs + held_out.0, wrong + held_out.1);
            chosen.insert(bars[at]);
        }
        let _ = writeln!(
            out,
            "  held out, aim {aim} %, bars {chosen:?} (hundredths): {pairs} pairs, {} wrong",
            percent(wrong, pairs)
        );
    }
    out
}

fn merged(change: &Change, hundredths: u32) -> Sums {
    let bars = Bars {
        same: f64::from(hundredths) / 100.0,
        ..Bars::SHIPPED
    };
    let mut sums = Sums::default();
    for three in triples(change) {
        let found: Vec<&Raised> = change
            .findings
            .iter()
            .filter(|of| three.contains(&of.tool.as_str()))
            .collect();
        if let Ok(claims) = claims(&found, &three) {
            sums.add(
                &clusters(&group_by(&claims, bars), &claims, &found),
                change.known,
            );
        }
    }
    sums
}
