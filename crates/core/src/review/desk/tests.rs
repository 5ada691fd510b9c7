//! Tests of what the model can and cannot do at the desk, as it experiences it.

use super::*;
use crate::domain::{
    Anchor, Awaiting, CommentId, DecidedId, Login, Reply, Resolution, Side, Standing, Status,
    fixture,
};

use crate::state::decided::{Decided, Decision};

fn score(n: u64) -> Score {
    Score::new(n).unwrap()
}

fn sha(c: char) -> CommitSha {
    c.to_string().repeat(40).parse().unwrap()
}

/// Head lines 10 to 13 of `src/a.rs` are in the diff; base line 11 was removed.
fn diff(path: &str) -> FileDiff {
    let hunk = "@@ -10,3 +10,4 @@ fn page()\n let a = 1;\n-let old = 2;\n+let b = 2;\n+let c = 3;\n let d = 4;\n";
    FileDiff {
        path: path.into(),
        hunks: FileDiff::parse_hunks(hunk).unwrap(),
        ..FileDiff::default()
    }
}

fn thread(id: u64, status: Status, replies: Vec<Reply>) -> Thread {
    Thread {
        id: CommentId(id),
        file: "src/a.rs".into(),
        line: Some(11),
        original_line: Some(11),
        status,
        awaiting: if replies.is_empty() {
            Awaiting::Developer
        } else {
            Awaiting::Us
        },
        assessment: Assessment {
            finding: "The page counter overflows on the last page.".into(),
            assessment: "Level 7.".into(),
            score: score(7),
        },
        head: Some(sha('a')),
        replies,
        ..fixture::thread()
    }
}

fn reply(standing: Standing) -> Reply {
    Reply {
        id: CommentId(900),
        author: Some(Login::new("dev")),
        standing,
        body: "It cannot overflow: pages are capped at 100.".into(),
        created_at: String::new(),
    }
}

fn desk_with(threads: Vec<Thread>) -> Desk {
    let subject = Subject {
        head: sha('b'),
        base: sha('c'),
        diffs: vec![diff("src/a.rs"), diff("AGENTS.md")],
        threads,
        root: "/snapshot".into(),
        shown_paths: HashMap::from([("AGENTS.md.pr-data".into(), "AGENTS.md".into())]),
        changed_since: HashMap::new(),
        removed_lines: HashMap::new(),
        human_reviewers: vec![],
        others: vec![],
        decided: vec![],
    };
    let weights = Weights {
        threshold: score(5),
        elevation: 3,
        blocking: Some(score(9)),
        sensitive: None,
    };
    let mut desk = Desk::new(subject, weights, "reviewer-1", "run".into());
    desk.ledger.begin(PassNumber::FIRST);
    desk
}

pub(in crate::review) fn desk() -> Desk {
    desk_with(vec![])
}

pub(in crate::review) fn draft(finding: &str, n: u64) -> Draft {
    Draft {
        file: "src/a.rs".into(),
        line: Some(11),
        body: format!("{finding} Fix it."),
        assessment: Assessment {
            finding: finding.into(),
            assessment: "Because.".into(),
            score: score(n),
        },
        category: None,
        quote: None,
        distinct_from: None,
        combines: vec![],
    }
}

#[test]
fn what_is_said_and_what_is_not_get_the_same_answer() {
    let mut desk = desk();
    let said = desk.post(draft("Counter starts at two.", 7)).unwrap();
    let unsaid = desk.post(draft("Name is too generic here.", 2)).unwrap();
    assert_eq!(said, "Recorded as new-1 at src/a.rs:11.");
    assert_eq!(unsaid, "Recorded as new-2 at src/a.rs:11.");
    desk.submit(1, "Two.", false, &[]).unwrap();
    let (publishable, _) = desk.publishable();
    assert_eq!(publishable.len(), 1);
    assert_eq!(publishable[0].given, score(7));
}

#[test]
fn a_line_outside_the_diff_is_refused_with_what_would_do() {
    let mut desk = desk();
    let off = Draft {
        line: Some(108),
        ..draft("Off.", 7)
    };
    let answer = desk.post(off).unwrap_err();
    assert!(
        answer.contains("line 108") && answer.contains("10-13"),
        "{answer}"
    );
    let elsewhere = Draft {
        file: "src/zzz.rs".into(),
        ..draft("Off.", 7)
    };
    let answer = desk.post(elsewhere).unwrap_err();
    assert!(
        answer.contains("not changed by this pull request") && answer.contains("src/a.rs"),
        "{answer}"
    );
    assert!(desk.entries().is_empty());
}

#[test]
fn a_file_is_known_by_the_name_the_model_read_it_under() {
    let mut desk = desk();
    let shown = Draft {
        file: "./AGENTS.md.pr-data".into(),
        ..draft("The rule contradicts itself.", 7)
    };
    assert!(desk.post(shown).unwrap().contains("at AGENTS.md:11"));
    let absolute = Draft {
        file: "/snapshot/src/a.rs".into(),
        ..draft("The lock is never released.", 7)
    };
    assert!(desk.post(absolute).unwrap().contains("at src/a.rs:11"));
}

#[test]
fn a_quote_of_removed_code_anchors_on_the_left() {
    let mut desk = desk();
    let removed = Draft {
        quote: Some("let old = 2;".into()),
        ..draft("The old value is still needed.", 7)
    };
    desk.post(removed).unwrap();
    let anchor = desk.entries()[0].finding.anchor;
    assert!(
        matches!(
            anchor,
            Anchor::Line {
                side: Side::Left,
                line: 11,
                ..
            }
        ),
        "{anchor:?}"
    );
}

#[test]
fn the_same_thing_is_not_said_twice() {
    let mut desk = desk_with(vec![thread(55, Status::Pending, vec![])]);
    let again = desk
        .post(draft("Page counter overflows on last page", 7))
        .unwrap_err();
    assert!(again.contains("Already said in thread 55"), "{again}");
    desk.post(draft("The lock is never released on error.", 7))
        .unwrap();
    let twice = desk
        .post(draft("Lock never released on error", 7))
        .unwrap_err();
    assert!(twice.contains("new-1"), "{twice}");
    assert_eq!(desk.entries().len(), 1);
}

#[test]
fn a_possible_repeat_is_asked_about_once() {
    let alike = "The page counter wraps around when the nightly import job runs against a shard of some big file.";
    let mut desk = desk_with(vec![thread(55, Status::Pending, vec![])]);
    let asked = desk.post(draft(alike, 7)).unwrap_err();
    assert!(
        asked.contains("looks like thread 55") && asked.contains("distinct_from"),
        "{asked}"
    );
    let distinct = Draft {
        distinct_from: Some(Distinct {
            thread: ThreadId::Published(CommentId(55)),
            reason: "Another page.".into(),
        }),
        ..draft(alike, 7)
    };
    assert!(desk.post(distinct).is_ok());
}

#[test]
fn only_pass_four_may_raise_a_score() {
    let mut desk = desk();
    desk.post(draft("The lock is never released on error.", 3))
        .unwrap();
    assert!(desk.post(draft("Lock never released on error", 9)).is_err());
    for number in 1..=3 {
        desk.submit(number, "Done.", false, &[]).unwrap();
        desk.ledger.begin(PassNumber::new(number + 1).unwrap());
    }
    desk.post(draft("Lock never released on error", 7)).unwrap();
    let entry = &desk.entries()[0];
    assert_eq!((entry.given, &entry.fate), (score(7), &Fate::Staged));
    assert_eq!(entry.finding.pass, PassNumber::FIRST);
}

#[test]
fn several_small_findings_can_make_one_that_is_said() {
    let mut desk = desk();
    for text in [
        "Shadowed variable alpha here.",
        "Unclear naming of beta value.",
        "Gamma constant duplicated twice.",
    ] {
        desk.post(draft(text, 3)).unwrap();
    }
    let ids = (1..=3).map(ThreadId::Provisional).collect();
    let combined = Draft {
        combines: ids,
        ..draft("This module cannot be followed any more.", 4)
    };
    desk.post(combined).unwrap();
    let fates: Vec<&Fate> = desk.entries().iter().map(|entry| &entry.fate).collect();
    assert_eq!(fates[3], &Fate::Staged);
    assert_eq!(fates[0], &Fate::CombinedInto(4));
    assert_eq!(desk.entries()[3].finding.assessment.score, score(5));
}

#[test]
fn a_withdrawn_finding_is_not_published_and_an_amended_one_says_more() {
    let mut desk = desk();
    desk.post(draft("The lock is never released on error.", 7))
        .unwrap();
    desk.post(draft("Retry loops without any bound.", 7))
        .unwrap();
    desk.resolve(ThreadId::Provisional(1), "A guard releases it.", None)
        .unwrap();
    desk.reply(
        ThreadId::Provisional(2),
        "Seen with three hosts.",
        Word::Argument,
    )
    .unwrap();
    desk.submit(1, "One.", false, &[]).unwrap();
    let (said, _) = desk.publishable();
    assert_eq!(said.len(), 1);
    assert!(said[0].finding.body.ends_with("Seen with three hosts."));
}

#[test]
fn nothing_is_recorded_outside_a_pass() {
    let mut desk = desk();
    desk.submit(1, "Nothing to report.", false, &[]).unwrap();
    assert!(
        desk.post(draft("Late.", 7))
            .unwrap_err()
            .contains("submitted")
    );
}

#[test]
fn findings_of_an_unfinished_pass_are_not_published() {
    let mut desk = desk();
    desk.post(draft("The lock is never released on error.", 7))
        .unwrap();
    assert_eq!(desk.publishable().0.len(), 0);
}

#[test]
fn other_people_s_threads_are_not_touched() {
    let mut desk = desk_with(vec![thread(55, Status::Resolved, vec![])]);
    let foreign = ThreadId::Published(CommentId(77));
    assert!(
        desk.reply(foreign, "x", Word::Argument)
            .unwrap_err()
            .contains("not one of yours")
    );
    assert!(
        desk.resolve(foreign, "x", None)
            .unwrap_err()
            .contains("not one of yours")
    );
    let resolved = ThreadId::Published(CommentId(55));
    assert!(
        desk.resolve(resolved, "x", None)
            .unwrap_err()
            .contains("already resolved")
    );
}

#[test]
fn a_concession_needs_a_word_that_counts() {
    let id = ThreadId::Published(CommentId(55));
    let concede = |standing| {
        let mut desk = desk_with(vec![thread(55, Status::Pending, vec![reply(standing)])]);
        desk.reply(id, "You are right.", Word::Concession).is_ok()
    };
    assert!(concede(Standing::Writer) && concede(Standing::Author));
    assert!(!concede(Standing::Other));
    let mut silent = desk_with(vec![thread(55, Status::Pending, vec![])]);
    assert!(
        silent
            .resolve(id, "Fine.", None)
            .unwrap_err()
            .contains("fixed_by")
    );
    assert!(
        silent
            .reply(id, "Still.", Word::Argument)
            .unwrap_err()
            .contains("nothing to answer")
    );
}

#[test]
fn fixed_means_that_a_changed_file_fixes_it() {
    let id = ThreadId::Published(CommentId(55));
    let fixed = |file: &str, threads| {
        let mut desk = desk_with(threads);
        let claim = Claim {
            file: file.into(),
            commit: None,
            quote: None,
        };
        desk.resolve(id, "Capped now.", Some(claim))
    };
    let open = || vec![thread(55, Status::Pending, vec![])];
    assert!(fixed("src/a.rs", open()).is_ok());
    assert!(
        fixed("src/other.rs", open())
            .unwrap_err()
            .contains("has not changed since")
    );
    let mut same_head = open();
    same_head[0].head = Some(sha('b'));
    assert!(
        fixed("src/a.rs", same_head)
            .unwrap_err()
            .contains("Nothing was pushed")
    );
}

#[test]
fn one_reply_per_thread_and_run() {
    let id = ThreadId::Published(CommentId(55));
    let mut desk = desk_with(vec![thread(
        55,
        Status::Pending,
        vec![reply(Standing::Writer)],
    )]);
    desk.reply(id, "It stands: the cap is not enforced.", Word::Argument)
        .unwrap();
    assert_eq!(desk.replies()[0].effect, Effect::Keep);
    assert!(
        desk.reply(id, "Again.", Word::Argument)
            .unwrap_err()
            .contains("already recorded")
    );
}

#[test]
fn a_run_closes_no_more_than_its_share_of_threads() {
    let threads = (1..=120).map(|id| thread(id, Status::Pending, vec![reply(Standing::Writer)]));
    let mut desk = desk_with(threads.collect());
    let id = |id| ThreadId::Published(CommentId(id));
    let closed = (1..=120).filter(|n| desk.resolve(id(*n), "Explained.", None).is_ok());
    assert_eq!(closed.count(), 50);
    let kept = (51..=120).filter(|n| desk.reply(id(*n), "It stands.", Word::Argument).is_ok());
    assert_eq!(
        kept.count(),
        50,
        "replies that close nothing have room left"
    );
    let refusal = desk
        .reply(id(120), "It stands.", Word::Argument)
        .unwrap_err();
    assert!(
        refusal.contains("Leave the rest for the next run"),
        "{refusal}"
    );
    assert_eq!(desk.replies().len(), 100);
}

#[test]
fn empty_and_endless_texts_are_refused() {
    let mut desk = desk();
    let empty = Draft {
        body: "  ".into(),
        ..draft("x", 7)
    };
    assert!(desk.post(empty).unwrap_err().contains("body"));
    let endless = Draft {
        body: "x".repeat(MAX_BODY + 1),
        ..draft("x", 7)
    };
    assert!(desk.post(endless).unwrap_err().contains("body"));
}

fn disputed(standing: Standing, n: u64) -> Thread {
    let mut thread = thread(55, Status::Disputed, vec![reply(standing)]);
    thread.assessment.score = score(n);
    thread
}

/// Returns the effect of a further argument on a thread that was argued once.
fn argued_again(thread: Thread, people: &[&str]) -> Effect {
    let mut desk = desk_with(vec![thread]);
    Arc::get_mut(&mut desk.subject).unwrap().human_reviewers =
        people.iter().map(|name| (*name).to_owned()).collect();
    desk.reply(
        ThreadId::Published(CommentId(55)),
        "It stands.",
        Word::Argument,
    )
    .unwrap();
    desk.replies()[0].effect.clone()
}

#[test]
fn a_second_argument_is_left_to_people_where_there_are_some() {
    let escalated = argued_again(disputed(Standing::Author, 7), &["lead"]);
    assert_eq!(
        escalated,
        Effect::Escalate {
            people: vec!["lead".into()]
        }
    );
    let alone = argued_again(disputed(Standing::Author, 7), &[]);
    assert_eq!(alone, Effect::DevelopersWord);
}

#[test]
fn an_author_without_write_access_does_not_win_a_blocking_finding_by_insisting() {
    let maintainers = Effect::Escalate { people: vec![] };
    assert_eq!(
        argued_again(disputed(Standing::Author, 9), &[]),
        maintainers
    );
    assert_eq!(
        argued_again(disputed(Standing::Author, 9), &["lead"]),
        maintainers
    );
    assert_eq!(
        argued_again(disputed(Standing::Writer, 9), &[]),
        maintainers,
        "not by write access either: somebody closes the thread"
    );
}

#[test]
fn a_blocking_finding_is_given_up_after_a_writer_s_reply_since_our_last_word_and_stays_open() {
    let id = ThreadId::Published(CommentId(55));
    let given_up = |standing, answered| {
        let mut thread = thread(55, Status::Pending, vec![reply(standing)]);
        thread.assessment.score = score(9);
        thread.answered = answered;
        let mut desk = desk_with(vec![thread]);
        let words = [
            desk.reply(id, "You are right.", Word::Concession),
            desk.resolve(id, "Explained.", None),
        ];
        let recorded = words.iter().filter(|word| word.is_ok()).count();
        let effects = desk.replies().iter().map(|reply| reply.effect.clone());
        assert_eq!(recorded, desk.replies().len());
        effects.collect::<Vec<_>>()
    };
    assert_eq!(given_up(Standing::Writer, 0), [Effect::GiveUp]);
    assert!(!Effect::GiveUp.closes());
    assert_eq!(given_up(Standing::Writer, 1), [], "answered already");
    assert_eq!(given_up(Standing::Author, 0), []);
}

/// A thread at line 11 whose finding blocks, and a push since with this patch.
fn blocking_since(patch: &str) -> Desk {
    let mut blocking = thread(55, Status::Pending, vec![]);
    blocking.assessment.score = score(9);
    let mut desk = desk_with(vec![blocking]);
    let since = FileDiff {
        hunks: FileDiff::parse_hunks(patch).unwrap(),
        ..diff("src/a.rs")
    };
    Arc::get_mut(&mut desk.subject)
        .unwrap()
        .changed_since
        .insert(sha('a'), vec![since]);
    desk
}

fn claim(quote: Option<&str>) -> Claim {
    Claim {
        file: "src/a.rs".into(),
        commit: None,
        quote: quote.map(str::to_owned),
    }
}

#[test]
fn a_blocking_finding_is_fixed_when_the_code_shows_it_and_a_check_confirms_it() {
    let id = ThreadId::Published(CommentId(55));
    let mended = "@@ -11 +11 @@\n-let b = 2;\n+let b = capped(2);\n";
    let effect = |confirmed: Option<bool>| {
        let mut desk = blocking_since(mended);
        desk.ledger.begin_turn_zero();
        desk.resolve(id, "It is capped.", Some(claim(None)))
            .unwrap();
        desk.ledger.finish_turn_zero();
        assert!(desk.check_fix(id, true, "Too early.").is_err());
        assert_eq!(desk.begin_fix_check().len(), 1);
        assert!(desk.reply(id, "Hm.", Word::Answer).is_err(), "not here");
        if let Some(confirmed) = confirmed {
            desk.check_fix(id, confirmed, "Line 11.").unwrap();
            assert!(desk.check_fix(id, true, "No, yes.").is_err(), "one word");
        }
        desk.replies()[0].effect.clone()
    };
    assert!(matches!(effect(Some(true)), Effect::Fixed { .. }));
    for unconfirmed in [effect(None), effect(Some(false))] {
        assert!(!unconfirmed.closes(), "{unconfirmed:?}");
        let Effect::SeemsFixed { fix, .. } = unconfirmed else {
            panic!("{unconfirmed:?}");
        };
        assert_eq!(fix.line, Some((11, "let b = capped(2);".into())));
    }
}

#[test]
fn a_blocking_finding_whose_own_line_stands_needs_a_quoted_line() {
    let id = ThreadId::Published(CommentId(55));
    let beside = "@@ -10,2 +10,3 @@\n-let a = 1;\n+let a = 3;\n+guard(a);\n let b = 2;\n";
    let refusal = blocking_since(beside).resolve(id, "Guarded.", Some(claim(None)));
    assert!(refusal.unwrap_err().contains("fixed_by.quote"));
    let wrong = blocking_since(beside).resolve(id, "Guarded.", Some(claim(Some("let b = 2;"))));
    assert!(
        wrong
            .unwrap_err()
            .contains("no line of code that was added")
    );
    let quoted = blocking_since(beside).resolve(id, "Guarded.", Some(claim(Some(" guard(a);"))));
    assert!(quoted.is_ok(), "{quoted:?}");
    let mut unknown = blocking_since(beside);
    Arc::get_mut(&mut unknown.subject)
        .unwrap()
        .changed_since
        .clear();
    let refusal = unknown.resolve(id, "Guarded.", Some(claim(Some("guard(a);"))));
    assert!(refusal.unwrap_err().contains("not known"));
}

#[test]
fn a_question_is_answered_and_decides_nothing() {
    let mut desk = desk_with(vec![disputed(Standing::Author, 7)]);
    desk.reply(ThreadId::Published(CommentId(55)), "Line 11.", Word::Answer)
        .unwrap();
    assert_eq!(desk.replies()[0].effect, Effect::Answer);
}

#[test]
fn an_escalated_thread_is_closed_by_somebody_else_s_decision_only() {
    let id = ThreadId::Published(CommentId(55));
    let mut waiting = thread(55, Status::Escalated, vec![reply(Standing::Writer)]);
    waiting.awaiting = Awaiting::People;
    let mut desk = desk_with(vec![waiting.clone()]);
    assert!(desk.resolve(id, "Decided.", None).is_err());
    waiting.awaiting = Awaiting::Us;
    let mut desk = desk_with(vec![waiting]);
    desk.resolve(id, "The lead decided so.", None).unwrap();
    assert_eq!(desk.replies()[0].effect, Effect::Concede);
}

#[test]
fn turn_zero_takes_words_and_no_findings() {
    let id = ThreadId::Published(CommentId(55));
    let mut desk = desk_with(vec![thread(
        55,
        Status::Pending,
        vec![reply(Standing::Author)],
    )]);
    desk.ledger.begin_turn_zero();
    let refused = desk.post(draft("Something new.", 7)).unwrap_err();
    assert!(refused.contains("belong to the passes"), "{refused}");
    assert!(desk.submit(1, "Done.", false, &[]).is_err());
    desk.reply(id, "You are right.", Word::Concession).unwrap();
    assert_eq!(
        desk.publishable().1.len(),
        0,
        "not before the turn has ended well"
    );
    desk.ledger.finish_turn_zero();
    assert_eq!(desk.publishable().1.len(), 1);
}

#[test]
fn what_was_fixed_and_is_back_reopens_its_thread_unless_a_person_closed_it() {
    let hash = diff("src/a.rs").anchor_hash(Anchor::Line {
        side: Side::Right,
        start: None,
        line: 11,
    });
    let mut fixed = thread(55, Status::Resolved, vec![]);
    fixed.anchor_hash = Some(hash);
    fixed.resolution = Some(Resolution::Fixed);
    let again = || draft("Page counter overflows on last page", 7);
    let mut desk = desk_with(vec![fixed.clone()]);
    desk.post(again()).unwrap();
    assert_eq!(desk.replies()[0].effect, Effect::Reopen);
    assert_eq!(desk.entries().len(), 0);
    let conceded = Thread {
        resolution: Some(Resolution::Conceded),
        ..fixed.clone()
    };
    assert!(
        desk_with(vec![conceded])
            .post(again())
            .unwrap_err()
            .contains("Already said")
    );
    let closed = Thread {
        resolution: Some(Resolution::ByPerson),
        ..fixed
    };
    assert!(
        desk_with(vec![closed])
            .post(again())
            .unwrap_err()
            .contains("Already said")
    );
}

#[test]
fn what_the_text_of_an_earlier_review_says_is_not_said_again_and_stays_open() {
    let mut desk = desk();
    let text = "The `lock_guard` is never released when `flush()` returns an error.";
    Arc::get_mut(&mut desk.subject)
        .unwrap()
        .others
        .push(crate::state::rebuild::Remark {
            author: Login::new("reviewer[bot]"),
            file: "src/a.rs".into(),
            line: Some(12),
            body: text.into(),
            own: Some(("f1".parse().unwrap(), score(7))),
        });
    for _ in 0..2 {
        desk.post(draft(text, 7)).unwrap_err();
    }
    assert!(desk.entries().is_empty());
    let scores = desk.still_said().map(|(_, score)| score);
    assert_eq!(scores.collect::<Vec<_>>(), [score(7)]);
}

#[test]
fn what_a_person_said_at_the_place_is_left_to_them() {
    let mut desk = desk();
    Arc::get_mut(&mut desk.subject)
        .unwrap()
        .others
        .push(crate::state::rebuild::Remark {
            author: Login::new("lead"),
            file: "src/a.rs".into(),
            line: Some(12),
            body: "The `lock_guard` is never released when `flush()` returns an error here.".into(),
            own: None,
        });
    let refused = desk
        .post(draft(
            "The `lock_guard` is never released when `flush()` returns an error.",
            7,
        ))
        .unwrap_err();
    assert!(refused.contains("lead has said this"), "{refused}");
    let blocking = draft(
        "The `lock_guard` is never released when `flush()` returns an error.",
        9,
    );
    assert!(desk.post(blocking).is_ok(), "the gate hangs on it");
    assert!(desk.post(draft("The retry loop has no bound.", 7)).is_ok());
}

/// A question about line 11 of `src/a.rs` that was decided in pull request 3.
fn decided(finding: &str) -> DecidedHere {
    let anchor = Anchor::Line {
        side: Side::Right,
        start: None,
        line: 11,
    };
    DecidedHere {
        decided: Decided {
            id: DecidedId {
                pull: 3,
                root: CommentId(1001),
            },
            file: "src/a.rs".into(),
            line: Some(40),
            assessment: draft(finding, 7).assessment,
            category: None,
            anchor_hash: diff("src/a.rs").anchor_hash(anchor),
            decision: Decision::Dismissed,
            since: "2026-01-31".into(),
            url: String::new(),
        },
        file: "src/a.rs".into(),
        anchor,
    }
}

fn desk_after(finding: &str) -> Desk {
    let mut desk = desk();
    let subject = Arc::get_mut(&mut desk.subject).unwrap();
    subject.decided = vec![decided(finding)];
    desk
}

#[test]
fn what_people_decided_elsewhere_is_asked_back_until_the_model_says_what_differs() {
    let claim = "The page counter overflows on the last page.";
    let mut desk = desk_after(claim);
    for score in [7, 10] {
        let asked = desk.post(draft("Page counter overflows at the last page", score));
        let asked = asked.unwrap_err();
        for told in [
            "decided in #3",
            claim,
            "\"#3/1001\"",
            "leave it",
            "dismissed it",
        ] {
            assert!(asked.contains(told), "{told}: {asked}");
        }
    }
    let [left] = desk.repeated() else {
        panic!("{:?}", desk.repeated());
    };
    assert!(left.insists.is_none() && left.serious);
    assert_eq!(left.finding.assessment.score, score(10));
    let insists = Draft {
        distinct_from: Some(Distinct {
            thread: "#3/1001".parse().unwrap(),
            reason: "The cap is gone.".into(),
        }),
        ..draft("Page counter overflows at the last page", 7)
    };
    desk.post(insists).unwrap();
    let [made] = desk.repeated() else {
        panic!("{:?}", desk.repeated());
    };
    assert_eq!(made.insists.as_deref(), Some("The cap is gone."));
    // The last pass may score it anew without another question.
    assert_eq!(desk.entries().len(), 1);
}

#[test]
fn another_finding_about_decided_code_is_not_asked_back() {
    let mut desk = desk_after("The page counter overflows on the last page.");
    desk.post(draft("The token is written to the log.", 7))
        .unwrap();
    assert!(desk.repeated().is_empty());
}
