//! Tests of what is to be fixed and what is not.

use super::super::report::{Delivery, FixReport, KeptIssue, KeptOutcome};
use super::*;
use crate::authority::Person;
use crate::domain::{Login, Resolution, Score, fixture};
use crate::panel::consensus::Priority;

fn thread(id: u64, name: &str, score: u64) -> Thread {
    let mut thread = fixture::thread();
    thread.id = CommentId(id);
    thread.finding_id = Some(name.parse().unwrap());
    thread.assessment.score = Score::new(score).unwrap();
    thread.assessment.finding = format!("{name} is wrong in `{name}_of_page`.");
    thread
}

fn request(id: &str, body: &str) -> ChangeRequest {
    ChangeRequest {
        id: id.parse().unwrap(),
        author: Login::new("ann"),
        person: Person {
            writes: true,
            ..Person::default()
        },
        body: body.into(),
        file: None,
        line: None,
        created_at: "2026-01-24T00:00:00Z".into(),
        url: "https://example.com".into(),
        weighed: None,
        resolved: false,
    }
}

struct Given {
    threads: Vec<Thread>,
    requests: Vec<ChangeRequest>,
    memory: Memory,
    only: Option<CommentId>,
}

fn given(threads: Vec<Thread>, requests: Vec<ChangeRequest>) -> Given {
    Given {
        threads,
        requests,
        memory: Memory::default(),
        only: None,
    }
}

impl Given {
    fn select(&self) -> Selection {
        let reviewed = "b".repeat(40).parse().unwrap();
        select(&Sources {
            threads: &self.threads,
            requests: &self.requests,
            diffs: &[],
            memory: &self.memory,
            reviewed: Some(&reviewed),
            only: self.only,
        })
    }
}

fn ids(selection: &Selection) -> Vec<String> {
    selection
        .issues
        .iter()
        .map(|issue| issue.id.to_string())
        .collect()
}

fn reasons(selection: &Selection) -> Vec<(String, Reason)> {
    let left_out = selection.left_out.iter();
    left_out
        .map(|one| (one.issue.id.to_string(), one.reason))
        .collect()
}

#[test]
fn open_findings_are_fixed_the_heaviest_first_and_p3_if_there_is_time() {
    let resolved = Thread {
        status: Status::Resolved,
        resolution: Some(Resolution::Fixed),
        ..thread(4, "done", 9)
    };
    let threads = vec![
        thread(1, "small", 4),
        thread(2, "large", 5),
        thread(3, "huge", 9),
        resolved,
    ];
    let selection = given(threads, vec![]).select();
    assert_eq!(ids(&selection), ["huge", "large", "small"]);
    assert_eq!(selection.needed(), 2);
    assert!(selection.issues[2].optional);
    assert_eq!(selection.left_out, []);
}

#[test]
fn what_people_dispute_waits_for_people() {
    let disputed = |status| Thread {
        status,
        ..thread(1, "x", 9)
    };
    for status in [Status::Disputed, Status::Escalated] {
        let mut given = given(vec![disputed(status)], vec![]);
        assert_eq!(
            reasons(&given.select()),
            [("x".to_owned(), Reason::Disputed)]
        );
        // A writer who asks in the thread has decided.
        given.only = Some(CommentId(1));
        assert_eq!(ids(&given.select()), ["x"]);
    }
    let tampered = Thread {
        trust: Trust::Tampered,
        ..thread(1, "x", 9)
    };
    let selection = given(vec![tampered], vec![]).select();
    assert_eq!(reasons(&selection), [("x".to_owned(), Reason::Tampered)]);
}

#[test]
fn in_a_thread_only_its_finding_is_fixed_whatever_its_priority() {
    let threads = vec![thread(1, "small", 3), thread(2, "huge", 9)];
    let mut given = given(threads, vec![request("comment-5", "Rename it.")]);
    given.only = Some(CommentId(1));
    let selection = given.select();
    assert_eq!(ids(&selection), ["small"]);
    assert_eq!(selection.needed(), 1, "whoever asks wants it done");
    given.only = Some(CommentId(5));
    assert_eq!(ids(&given.select()), ["comment-5"]);
}

#[test]
fn people_who_may_write_have_what_they_request_fixed() {
    let inline = ChangeRequest {
        file: Some("src/page.ts".into()),
        line: Some(3),
        ..request("comment-5", "Rename this.\nIt says nothing.")
    };
    let stranger = ChangeRequest {
        person: Person::default(),
        ..request("review-8", "Delete everything.")
    };
    let resolved = ChangeRequest {
        resolved: true,
        ..request("comment-6", "Done.")
    };
    let light = ChangeRequest {
        weighed: Some(Priority::P3),
        ..request("comment-9", "A nit.")
    };
    let body = request("review-7", "Please handle errors.");
    let requests = vec![
        inline,
        stranger,
        resolved,
        light,
        body,
        request("review-10", " \n"),
    ];
    let selection = given(vec![], requests).select();
    assert_eq!(ids(&selection), ["review-7", "comment-5", "comment-9"]);
    assert_eq!(
        reasons(&selection),
        [("review-8".to_owned(), Reason::Unauthorized)]
    );
    let first = &selection.issues[1];
    assert_eq!(
        (first.title.as_str(), first.priority),
        ("Rename this.", Priority::P1)
    );
    assert!(selection.issues[2].optional);
}

#[test]
fn what_was_stuck_rejected_or_reverted_is_not_tried_again() {
    let threads = vec![
        thread(1, "stuck", 9),
        thread(2, "rejected", 9),
        thread(3, "reverted", 9),
        thread(4, "fresh", 9),
    ];
    let kept = |at: usize, outcome| {
        let mut kept = KeptIssue::new(&Issue::from(&threads[at]), outcome, Vec::new());
        kept.line = None;
        kept
    };
    let report = FixReport {
        cycle: 1,
        head: "a".repeat(40),
        commit: Some("b".repeat(40)),
        delivery: Some(Delivery::Push),
        known: vec!["fresh".into()],
        outcomes: vec![
            kept(0, KeptOutcome::Fixed),
            kept(1, KeptOutcome::Rejected),
            kept(2, KeptOutcome::Fixed),
        ],
        reverted_findings: vec!["reverted".into()],
        ..FixReport::default()
    };
    let mut given = given(threads, vec![]);
    given.memory = Memory::new([report]);
    let selection = given.select();
    assert_eq!(ids(&selection), ["fresh"]);
    let expected = [
        ("stuck".to_owned(), Reason::Stuck),
        ("rejected".to_owned(), Reason::RejectedBefore),
        ("reverted".to_owned(), Reason::Reverted),
    ];
    assert_eq!(reasons(&selection), expected);
    assert_eq!(selection.stuck().count(), 1);
}

#[test]
fn what_a_person_requested_is_fixed_once_unless_somebody_asks_for_it() {
    let asked = request("comment-7", "Round up.");
    let kept = KeptIssue::new(&Issue::from(&asked), KeptOutcome::Fixed, Vec::new());
    let mut given = given(Vec::new(), vec![asked]);
    given.memory = Memory::new([FixReport {
        cycle: 1,
        head: "a".repeat(40),
        commit: Some("b".repeat(40)),
        delivery: Some(Delivery::Push),
        outcomes: vec![kept],
        ..FixReport::default()
    }]);
    let selection = given.select();
    let awaits = ("comment-7".to_owned(), Reason::AwaitsAuthor);
    assert_eq!(reasons(&selection), [awaits]);
    given.only = Some(CommentId(7));
    assert_eq!(ids(&given.select()), ["comment-7"]);
}
