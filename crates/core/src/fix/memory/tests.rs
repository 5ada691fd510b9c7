//! Tests of what reports remember.

use super::super::issue::fixture::issue;
use super::super::report::Delivery;
use super::*;
use crate::domain::{Anchor, CommentId, Side};
use proptest::prelude::*;

fn sha(c: char) -> CommitSha {
    c.to_string().repeat(40).parse().unwrap()
}

fn kept(issue: &Issue, outcome: KeptOutcome) -> KeptIssue {
    KeptIssue::new(issue, outcome, Vec::new())
}

/// A cycle that pushed commit `b` on head `a`.
fn report(outcomes: Vec<KeptIssue>) -> FixReport {
    FixReport {
        at: "2026-01-01T00:00:00Z".into(),
        cycle: 1,
        max: 2,
        branch: "topic".into(),
        head: sha('a').to_string(),
        commit: Some(sha('b').to_string()),
        delivery: Some(Delivery::Push),
        known: outcomes.iter().map(|kept| kept.id.clone()).collect(),
        outcomes,
        ..FixReport::default()
    }
}

fn memory(outcome: KeptOutcome) -> Memory {
    Memory::new([report(vec![kept(&issue("x", "a.rs"), outcome)])])
}

fn order(at: &str, comment: u64) -> Order {
    Order {
        at: at.into(),
        comment,
        by: "ann".into(),
    }
}

#[test]
fn a_finding_that_was_called_fixed_and_is_raised_again_is_stuck() {
    let memory = memory(KeptOutcome::Fixed);
    let same = issue("x", "a.rs");
    assert!(memory.is_stuck(&same, Some(&sha('b'))));
    assert!(
        memory.is_stuck(&same, Some(&sha('c'))),
        "or on a later head"
    );
    assert!(
        !memory.is_stuck(&same, Some(&sha('a'))),
        "nobody looked after the fix yet"
    );
    assert!(!memory.is_stuck(&same, None));
}

#[test]
fn a_stuck_finding_is_known_in_other_words_at_the_same_place() {
    let memory = memory(KeptOutcome::Fixed);
    let mut reworded = issue("new", "a.rs");
    reworded.title = "Last page lost".into();
    reworded.line = Some(4);
    assert!(memory.is_stuck(&reworded, Some(&sha('b'))));
    let elsewhere = Issue {
        file: Some("b.rs".into()),
        ..reworded.clone()
    };
    assert!(!memory.is_stuck(&elsewhere, Some(&sha('b'))));
    let other = Issue {
        title: "The connection is never returned to the pool on error.".into(),
        text: "Every failed request leaks one.".into(),
        ..reworded.clone()
    };
    assert!(!memory.is_stuck(&other, Some(&sha('b'))));
    // One that was there before the fix was not raised by it.
    let mut known = report(vec![kept(&issue("x", "a.rs"), KeptOutcome::Fixed)]);
    known.known.push("new".into());
    assert!(!Memory::new([known]).is_stuck(&reworded, Some(&sha('b'))));
}

#[test]
fn only_what_is_on_the_branch_can_be_stuck() {
    for delivery in [Delivery::Patch, Delivery::PullRequest] {
        let elsewhere = FixReport {
            delivery: Some(delivery),
            ..report(vec![kept(&issue("x", "a.rs"), KeptOutcome::Fixed)])
        };
        assert!(!Memory::new([elsewhere]).is_stuck(&issue("x", "a.rs"), Some(&sha('b'))));
    }
    assert!(!memory(KeptOutcome::Rejected).is_stuck(&issue("x", "a.rs"), Some(&sha('b'))));
}

fn diff() -> FileDiff {
    let hunk = "@@ -1,2 +1,3 @@\n let a = 1;\n+let pages = count / size;\n let b = 2;\n";
    FileDiff {
        path: "a.rs".into(),
        hunks: FileDiff::parse_hunks(hunk).unwrap(),
        ..FileDiff::default()
    }
}

#[test]
fn a_rejected_finding_is_not_tried_again_until_its_code_changes() {
    let anchor = Anchor::Line {
        side: Side::Right,
        start: None,
        line: 2,
    };
    let anchored = Issue {
        anchor_hash: Some(diff().anchor_hash(anchor)),
        ..issue("x", "a.rs")
    };
    let memory = Memory::new([report(vec![kept(&anchored, KeptOutcome::Rejected)])]);
    assert!(memory.was_rejected(&anchored, &[diff()]));
    let hunk = "@@ -1,2 +1,3 @@\n let a = 1;\n+let pages = size;\n let b = 2;\n";
    let changed = FileDiff {
        hunks: FileDiff::parse_hunks(hunk).unwrap(),
        ..diff()
    };
    assert!(!memory.was_rejected(&anchored, &[changed]));
    assert!(!memory.was_rejected(&issue("y", "b.rs"), &[diff()]));
    // What has no line stays rejected.
    let body = Issue {
        id: "review-7".parse().unwrap(),
        file: None,
        line: None,
        ..issue("x", "a.rs")
    };
    let memory = Memory::new([report(vec![kept(&body, KeptOutcome::Rejected)])]);
    assert!(memory.was_rejected(&body, &[]));
}

#[test]
fn a_reverted_fix_ends_its_finding_and_a_reverted_commit_ends_all_of_its() {
    let fixed = report(vec![
        kept(&issue("x", "a.rs"), KeptOutcome::Fixed),
        kept(&issue("y", "b.rs"), KeptOutcome::Fixed),
    ]);
    let one = FixReport {
        reverted_findings: vec!["x".into()],
        ..FixReport::default()
    };
    let memory = Memory::new([fixed.clone(), one]);
    assert!(memory.was_reverted(&issue("x", "a.rs")));
    assert!(memory.was_reverted(&issue("again", "a.rs")), "by its words");
    assert!(!memory.was_reverted(&issue("y", "b.rs")));
    assert_eq!(memory.stop(), None);
    let whole = FixReport {
        reverted_commits: vec![sha('b').to_string()],
        ..FixReport::default()
    };
    let memory = Memory::new([fixed, whole]);
    assert!(memory.was_reverted(&issue("y", "b.rs")));
    assert_eq!(memory.stop(), Some(Stop::Reverted(sha('b').to_string())));
    // Going on again does not bring its findings back.
    let resumed = memory.with_orders(&[], &[order("2026-01-02T00:00:00Z", 3)]);
    assert_eq!(resumed.stop(), None);
    assert!(resumed.was_reverted(&issue("y", "b.rs")));
}

#[test]
fn a_revert_that_is_told_twice_was_noticed_when_it_was_told_first() {
    let told = |at: &str| FixReport {
        at: at.into(),
        reverted_commits: vec![sha('b').to_string()],
        ..FixReport::default()
    };
    let memory = Memory::new([told("2026-01-05T00:00:00Z"), told("2026-01-01T00:00:00Z")]);
    let memory = memory.with_orders(&[], &[order("2026-01-03T00:00:00Z", 3)]);
    assert_eq!(memory.stop(), None);
}

#[test]
fn the_word_after_the_push_counts_over_the_one_before_it() {
    let after = report(vec![kept(&issue("x", "a.rs"), KeptOutcome::Fixed)]);
    let before = FixReport {
        commit: None,
        delivery: None,
        ..after.clone()
    };
    for reports in [
        [before.clone(), after.clone()],
        [after.clone(), before.clone()],
    ] {
        let memory = Memory::new(reports);
        assert_eq!(memory.cycles(), std::slice::from_ref(&after));
        assert!(memory.made(&sha('b')));
        assert_eq!(memory.next_cycle(), 2);
    }
    assert!(!Memory::new([before]).made(&sha('b')));
}

#[test]
fn all_findings_on_the_pull_request_are_known() {
    let mut thread = crate::domain::fixture::thread();
    thread.finding_id = Some("abc".parse().unwrap());
    let unnamed = Thread {
        id: CommentId(1),
        finding_id: None,
        ..thread.clone()
    };
    assert_eq!(known(&[thread, unnamed]), ["abc"]);
}

fn reports() -> impl Strategy<Value = Vec<FixReport>> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let one = (
        0_u32..3,
        0_u32..4,
        prop::sample::select(vec!['a', 'b', 'c']),
        flags,
    )
        .prop_map(
            |(cycle, minute, head, (pushed, reverted, stopped, resumed))| {
                let at = format!("2026-01-01T00:0{minute}:00Z");
                let order = order(&at, minute.into());
                FixReport {
                    at,
                    cycle,
                    head: sha(head).to_string(),
                    commit: pushed.then(|| sha('d').to_string()),
                    reverted_commits: if reverted {
                        vec![sha(head).to_string()]
                    } else {
                        vec![]
                    },
                    stops: if stopped { vec![order.clone()] } else { vec![] },
                    resumes: if resumed { vec![order] } else { vec![] },
                    human_review_required: reverted && stopped,
                    ..FixReport::default()
                }
            },
        );
    prop::collection::vec(one, 0..10)
}

proptest! {
    #[test]
    fn duplicated_and_reordered_reports_give_the_same_memory(reports in reports(), again in reports(), at in 0_usize..10) {
        let memory = Memory::new(reports.clone());
        let mut other = reports.clone();
        other.rotate_left(at.min(reports.len()));
        other.reverse();
        other.extend(reports.iter().take(at).cloned());
        prop_assert_eq!(Memory::new(other), memory.clone());
        // And nothing that was noticed is forgotten when more is told.
        let more = Memory::new(reports.iter().chain(&again).cloned());
        for commit in memory.reverted_commits.keys() {
            prop_assert!(more.is_reverted(commit));
        }
        prop_assert!(more.next_cycle() >= memory.next_cycle());
    }
}

#[test]
fn the_round_of_a_head_is_told_by_a_report_of_nothing_else() {
    let round = FixReport {
        head: sha('a').to_string(),
        ..FixReport::default()
    };
    assert!(Memory::new([round.clone()]).tells_round(&sha('a')));
    assert!(!Memory::new([round.clone()]).tells_round(&sha('b')));
    for other in [
        FixReport {
            human_review_required: true,
            ..round.clone()
        },
        FixReport {
            reverted_findings: vec!["x".into()],
            ..round.clone()
        },
        FixReport {
            resumes: vec![order("t", 1)],
            ..round.clone()
        },
        FixReport { cycle: 1, ..round },
    ] {
        assert!(!Memory::new([other]).tells_round(&sha('a')));
    }
}

#[test]
fn a_report_that_was_just_posted_counts_at_once() {
    let reverted = FixReport {
        reverted_commits: vec![sha('b').to_string()],
        ..FixReport::default()
    };
    let memory = memory(KeptOutcome::Fixed);
    assert_eq!(memory.stop(), None);
    let memory = memory.with_report(&reverted);
    assert_eq!(memory.stop(), Some(Stop::Reverted(sha('b').to_string())));
}
