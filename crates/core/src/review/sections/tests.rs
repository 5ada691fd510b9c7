use super::*;
use crate::domain::fixture;
use crate::domain::{Anchor, PassNumber, Side};
use crate::review::desk::tests::desk;
use crate::review::policy::Reason;
use proptest::prelude::*;

/// An entry of a section, about a line of `src/page.ts`.
fn entry(section: usize, number: u32, line: u32, text: &str, score: u64) -> Entry {
    let mut finding = fixture::finding();
    finding.id = format!("{:016x}", section * 1_000 + number as usize)
        .parse()
        .unwrap();
    finding.anchor = Anchor::Line {
        side: Side::Right,
        start: None,
        line,
    };
    finding.anchor_hash = format!("line {line}");
    finding.assessment.finding = text.into();
    finding.assessment.score = Score::new(score).unwrap();
    finding.pass = PassNumber::FIRST;
    Entry {
        id: number,
        given: finding.assessment.score,
        finding,
        fate: Fate::Staged,
        carried: false,
        worded: true,
    }
}

/// The words of a finished section; everything that is staged may be published.
fn said(entries: Vec<Entry>) -> Said {
    let staged = entries.iter().filter(|entry| entry.fate == Fate::Staged);
    Said {
        due: staged.map(|entry| entry.finding.id.clone()).collect(),
        entries,
        finished: true,
        ..Said::default()
    }
}

const LOST: &str = "`pages` rounds down, so the last page of every list is lost";
const LOGGED: &str = "A password is written to the log in clear text";

fn suppressed(mut entry: Entry) -> Entry {
    entry.fate = Fate::Suppressed(Reason::BelowThreshold {
        score: entry.given,
        threshold: Score::new(5).unwrap(),
    });
    entry
}

fn due(said: &Said) -> Vec<(u32, &str)> {
    let entries = said.entries.iter();
    let due = entries.filter(|entry| said.due.contains(&entry.finding.id));
    due.map(|entry| (entry.id, entry.finding.assessment.finding.as_str()))
        .collect()
}

#[test]
fn a_defect_that_two_sections_report_is_said_once_with_the_higher_score() {
    let first = said(vec![entry(1, 1, 8, LOST, 7), entry(1, 2, 90, LOGGED, 9)]);
    let second = said(vec![entry(2, 1, 8, LOST, 8)]);
    let assembled = Assembled::new(vec![first, second]);
    assert_eq!(due(&assembled.said), [(2, LOGGED), (3, LOST)]);
    assert_eq!(assembled.said.entries[0].fate, Fate::CombinedInto(3));
    assert!(assembled.to_consolidate().is_some());
}

#[test]
fn what_an_earlier_review_promised_keeps_its_name() {
    let mut carried = entry(1, 1, 8, LOST, 5);
    carried.carried = true;
    let assembled = Assembled::new(vec![
        said(vec![entry(2, 1, 8, LOST, 9)]),
        said(vec![carried]),
    ]);
    assert_eq!(due(&assembled.said), [(2, LOST)]);
}

#[test]
fn what_one_section_says_twice_stays_two_findings() {
    let both = said(vec![entry(1, 1, 8, LOST, 7), entry(1, 2, 9, LOST, 7)]);
    let assembled = Assembled::new(vec![both, said(vec![])]);
    assert_eq!(due(&assembled.said).len(), 2);
    // And it has consolidated them.
    assert!(assembled.to_consolidate().is_none());
}

#[test]
fn findings_of_passes_that_were_not_submitted_are_neither_published_nor_consolidated() {
    let mut unfinished = said(vec![
        entry(1, 1, 8, LOST, 7),
        suppressed(entry(1, 2, 20, "x", 2)),
    ]);
    unfinished.due.clear();
    unfinished.finished = false;
    let finished = said(vec![entry(2, 1, 8, LOST, 7)]);
    let assembled = Assembled::new(vec![unfinished, finished]);
    assert_eq!(due(&assembled.said), [(3, LOST)]);
    assert!(assembled.to_consolidate().is_none() && !assembled.said.finished);
}

/// Two sections, each with a small finding and a larger one, and the desk of their consolidation.
fn consolidating() -> (Assembled, Desk) {
    let section = |number: usize, line: u32| {
        said(vec![
            suppressed(entry(number, 1, line, "A magic number", 2)),
            entry(number, 2, line + 50, LOGGED, 7),
            suppressed(entry(number, 3, line + 90, "A magic number", 2)),
        ])
    };
    let assembled = Assembled::new(vec![section(1, 10), section(2, 200)]);
    let mut joint = desk();
    joint.lay_down(assembled.said.entries.clone());
    joint
        .ledger
        .begin(PASSES.first(Role::Consolidation).unwrap());
    (assembled, joint)
}

#[test]
fn the_consolidation_withdraws_what_two_sections_say_in_other_words() {
    let (assembled, mut joint) = consolidating();
    assert_eq!(due(&assembled.said).len(), 2);
    joint
        .resolve("new-5".parse().unwrap(), "It repeats new-2.", None)
        .unwrap();
    joint.submit(4, "One stands.", false, &[]).unwrap();
    let said = assembled.consolidated(&joint);
    assert_eq!(due(&said), [(2, LOGGED)]);
    assert!(said.finished);
}

#[test]
fn a_consolidation_that_was_not_submitted_changes_nothing() {
    let (assembled, mut joint) = consolidating();
    let before = assembled.said.clone();
    joint
        .resolve("new-5".parse().unwrap(), "It repeats new-2.", None)
        .unwrap();
    let said = assembled.consolidated(&joint);
    assert_eq!(due(&said), due(&before));
    assert!(!said.finished);
}

#[test]
fn a_finding_that_combines_small_ones_of_several_sections_is_published() {
    let (assembled, mut joint) = consolidating();
    let draft = crate::review::desk::Draft {
        combines: ["new-1", "new-3", "new-4"]
            .map(|id| id.parse().unwrap())
            .to_vec(),
        ..crate::review::desk::tests::draft("Limits are magic numbers everywhere.", 4)
    };
    joint.post(draft).unwrap();
    joint.submit(4, "Combined.", false, &[]).unwrap();
    let said = assembled.consolidated(&joint);
    assert!(
        due(&said).iter().any(|(id, _)| *id == 7),
        "{:?}",
        due(&said)
    );
    assert_eq!(said.entries.len(), 7);
}

fn any_said(section: usize) -> impl Strategy<Value = Said> {
    let one = (
        0_u32..4,
        prop::sample::select(vec![LOST, LOGGED]),
        3_u64..10,
    );
    proptest::collection::vec(one, 0..4).prop_map(move |found| {
        let found = (1..).zip(found);
        let entries = found.map(|(number, (line, text, score))| {
            entry(section, number, 10 + line * 30, text, score)
        });
        said(entries.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing is lost: what is not due any more stands in a finding that is.
    #[test]
    fn every_finding_stands_or_is_part_of_one_that_stands(
        all in (any_said(1), any_said(2), any_said(3)),
    ) {
        let all = vec![all.0, all.1, all.2];
        let made: BTreeSet<FindingId> = all.iter().flat_map(|said| said.due.clone()).collect();
        let Assembled { said, .. } = Assembled::new(all);
        prop_assert_eq!(said.entries.len(), made.len());
        for (at, entry) in said.entries.iter().enumerate() {
            prop_assert_eq!(entry.id as usize, at + 1);
            let is_due = said.due.contains(&entry.finding.id);
            match entry.fate {
                Fate::CombinedInto(lead) => {
                    let lead = &said.entries[lead as usize - 1];
                    prop_assert!(!is_due && said.due.contains(&lead.finding.id));
                    prop_assert_eq!(&lead.finding.file, &entry.finding.file);
                    prop_assert!(lead.finding.assessment.score >= entry.finding.assessment.score);
                }
                _ => prop_assert!(is_due),
            }
        }
    }
}
