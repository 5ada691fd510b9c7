//! Tests of what the model can and cannot do at the fix desk, as it experiences it.

use super::super::gate::{FileFacts, FileKind};
use super::super::issue::fixture::issue;
use super::*;
use crate::config::Globs;
use crate::panel::consensus::Priority;
use proptest::prelude::*;
use reviewer_text::redact::Redactor;
use secrecy::SecretString;

const HEAD: &str = "let pages = count / size;\nlet last = pages - 1;\nlet first = 0;\n";

/// A desk with the issues `x` and `y` to fix, and `z`, which is optional.
fn desk() -> FixDesk {
    let optional = Issue {
        priority: Priority::P3,
        optional: true,
        ..issue("z", "src/a.rs")
    };
    let issues: Arc<[Issue]> = [issue("x", "src/a.rs"), issue("y", "src/a.rs"), optional].into();
    let own: [&SecretString; 0] = [];
    let redactor = Arc::new(Redactor::new(own));
    FixDesk::new(
        issues.clone(),
        Gate::new(issues, Globs::default(), redactor),
    )
}

fn head(text: Option<&str>) -> HeadFile<'_> {
    let kind = if text.is_some() {
        FileKind::Regular
    } else {
        FileKind::Absent
    };
    HeadFile {
        bytes: text.map(str::as_bytes),
        facts: FileFacts::new(kind, true),
    }
}

fn request(issue: &str, file: &str, old: &str, new: &str) -> EditRequest {
    EditRequest {
        issue: issue.into(),
        file: file.into(),
        change: Change::Replace {
            old: old.into(),
            new: new.into(),
        },
        depends_on: None,
    }
}

fn edit(desk: &mut FixDesk, issue: &str, old: &str, new: &str) -> Answer {
    desk.edit(request(issue, "src/a.rs", old, new), &head(Some(HEAD)))
}

fn fixed(desk: &mut FixDesk, issue: &str) -> Answer {
    let description = "Rounds up.".into();
    desk.submit(issue, Word::Fixed { description })
}

fn rejected(desk: &mut FixDesk, issue: &str) -> Answer {
    let reason = "The list is never empty.".into();
    desk.submit(issue, Word::Rejected { reason })
}

fn told(outcome: &Outcome) -> (&str, &str) {
    match outcome {
        Outcome::Fixed { description } => ("fixed", description),
        Outcome::Rejected { reason } => ("rejected", reason),
        Outcome::Deferred { reason } => ("deferred", reason),
        Outcome::Undone { reason } => ("undone", reason),
    }
}

#[test]
fn edits_that_take_each_other_back_fix_nothing_even_where_others_changed_the_file() {
    let mut desk = desk();
    edit(&mut desk, "x", "let first = 0;", "let first = 1;").unwrap();
    fixed(&mut desk, "x").unwrap();
    edit(&mut desk, "y", "pages - 1", "pages - 2").unwrap();
    edit(&mut desk, "y", "pages - 2", "pages - 1").unwrap();
    let told = fixed(&mut desk, "y").unwrap_err();
    assert!(told.starts_with("No file is changed for y"), "{told}");
    edit(&mut desk, "y", "pages - 1", "pages - 2").unwrap();
    fixed(&mut desk, "y").unwrap();
    // Taken back by another issue, it fixes nothing in the end.
    edit(&mut desk, "x", "pages - 2", "pages - 1").unwrap();
    fixed(&mut desk, "x").unwrap();
    let end = desk.finish();
    assert!(!end.edits.changed_files().is_empty());
}

fn outcomes(fixed: &Fixed) -> Vec<(&str, &str)> {
    fixed.settled.iter().map(|one| told(&one.outcome)).collect()
}

#[test]
fn an_accepted_edit_is_an_effect_and_the_answer_says_what_is_next() {
    let mut desk = desk();
    let answer = edit(&mut desk, "x", "count / size", "count.div_ceil(size)").unwrap();
    assert_eq!(
        answer,
        "src/a.rs is changed; the fix has 2 changed lines in 1 file so far (at most 400 lines). Read the file again before the \
         next edit of it; call submit_fix_result when x is done."
    );
    let effects = desk.take_effects();
    let [effect] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(effect.path, "src/a.rs");
    let new = HEAD.replace("count / size", "count.div_ceil(size)");
    assert_eq!(effect.content.as_deref(), Some(new.as_bytes()));
    assert_eq!(desk.take_effects(), []);
    assert_eq!(
        fixed(&mut desk, "x").unwrap(),
        "Recorded x as fixed. Still open: y."
    );
    assert_eq!(
        rejected(&mut desk, "y").unwrap(),
        "Recorded y as rejected. Every issue to fix has an outcome; end your turn."
    );
    let result = desk.finish();
    let expected = [
        ("fixed", "Rounds up."),
        ("rejected", "The list is never empty."),
        ("deferred", "the fixer said nothing about it"),
    ];
    assert_eq!(outcomes(&result), expected);
    assert_eq!(result.edits.changed_files().len(), 1);
}

#[test]
fn files_are_created_and_deleted_for_an_issue() {
    let mut desk = desk();
    let request = |file: &str, change| EditRequest {
        change,
        ..request("x", file, "", "")
    };
    let create = request(
        "src/b.rs",
        Change::Create {
            content: "fn b() {}\n".into(),
        },
    );
    desk.edit(create, &head(None)).unwrap();
    desk.edit(
        request("src/c.rs", Change::Delete),
        &head(Some("fn c() {}\n")),
    )
    .unwrap();
    let effects = desk.take_effects();
    let contents: Vec<bool> = effects
        .iter()
        .map(|effect| effect.content.is_some())
        .collect();
    assert_eq!(contents, [true, false]);
    let gone = request("src/d.rs", Change::Delete);
    let answer = desk.edit(gone, &head(None)).unwrap_err();
    assert_eq!(
        answer,
        "src/d.rs was not changed: there is no such file; use fix_create for a new one."
    );
}

#[test]
fn an_issue_without_an_edit_is_not_fixed() {
    let mut desk = desk();
    let answer = fixed(&mut desk, "x").unwrap_err();
    assert_eq!(
        answer,
        "No file is changed for x, so it is not fixed. Edit first, or reject it with a reason."
    );
    // Edits that end where they began are none.
    edit(&mut desk, "x", "first", "1st").unwrap();
    edit(&mut desk, "x", "1st", "first").unwrap();
    assert!(fixed(&mut desk, "x").is_err());
    // Nor are those of another issue in the same file.
    edit(&mut desk, "y", "pages - 1", "pages").unwrap();
    assert!(fixed(&mut desk, "x").is_err());
}

#[test]
fn what_the_gate_refuses_in_the_end_is_undone() {
    let old = "a()  # noqa\nb()\nc()\n";
    let mut desk = desk();
    let edit = |desk: &mut FixDesk, issue, old_text, new| {
        let request = request(issue, "src/a.py", old_text, new);
        desk.edit(request, &head(Some(old))).unwrap();
    };
    edit(&mut desk, "x", "a()  # noqa", "a()");
    edit(&mut desk, "z", "c()", "c(1)");
    edit(&mut desk, "y", "b()", "b()  # noqa");
    for issue in ["x", "y", "z"] {
        fixed(&mut desk, issue).unwrap();
    }
    // Without the edit that took one away, the other one is new.
    desk.undo("x").unwrap();
    let result = desk.finish();
    let new = result.edits.changed_files()[0].new.clone().unwrap();
    assert_eq!(String::from_utf8(new).unwrap(), "a()  # noqa\nb()\nc(1)\n");
    let (outcome, reason) = outcomes(&result)[1];
    assert_eq!(outcome, "rejected");
    assert!(reason.contains("would get a suppression"), "{reason}");
    assert_eq!(outcomes(&result)[2].0, "fixed");
}

#[test]
fn unknown_issues_empty_words_and_huge_edits_are_refused_with_a_hint() {
    let mut desk = desk();
    let answer = edit(&mut desk, "nope", "first", "1st").unwrap_err();
    assert_eq!(
        answer,
        "There is no issue \"nope\". Nothing was changed; the issues are x, y, z."
    );
    let empty = desk
        .submit("x", Word::Rejected { reason: " ".into() })
        .unwrap_err();
    assert_eq!(empty, "reason must have 1 to 2000 characters.");
    let huge = edit(&mut desk, "x", "first", &"a\n".repeat(MAX_LINES + 1)).unwrap_err();
    assert!(huge.contains("at most 400 lines"), "{huge}");
    let old = edit(&mut desk, "x", "let", "const").unwrap_err();
    assert!(
        old.starts_with("src/a.rs was not changed: old occurs 3 times, at lines 1, 2 and 3; add"),
        "{old}"
    );
    assert_eq!(desk.take_effects(), []);
    assert!(desk.undo("x").unwrap_err().contains("nothing to undo"));
}

#[test]
fn the_gate_is_told_twice_and_then_the_issue_is_closed() {
    let mut desk = desk();
    edit(&mut desk, "x", "first = 0", "first = 1").unwrap();
    edit(&mut desk, "y", "pages - 1", "pages").unwrap();
    let workflow = || request("x", ".github/workflows/ci.yml", "a", "b");
    let ask = |desk: &mut FixDesk| desk.edit(workflow(), &head(Some("a\n"))).unwrap_err();
    assert!(
        ask(&mut desk).ends_with(
            "Nothing was changed; after 2 more refusals the issue is closed as rejected."
        )
    );
    assert!(
        ask(&mut desk)
            .ends_with("Nothing was changed; the next refusal closes the issue as rejected.")
    );
    desk.take_effects();
    let answer = ask(&mut desk);
    assert!(
        answer.starts_with(".github/workflows/ci.yml is a file of git or GitHub; "),
        "{answer}"
    );
    assert!(
        answer.ends_with("x is closed as rejected, and its edits are undone. Still open: y."),
        "{answer}"
    );
    let restored = HEAD.replace("pages - 1", "pages");
    assert_eq!(
        desk.take_effects()[0].content.as_deref(),
        Some(restored.as_bytes())
    );
    for answer in [
        edit(&mut desk, "x", "first", "1st"),
        fixed(&mut desk, "x"),
        rejected(&mut desk, "x"),
    ] {
        assert!(answer.unwrap_err().starts_with("x is closed as rejected"));
    }
    fixed(&mut desk, "y").unwrap();
    let result = desk.finish();
    assert_eq!(outcomes(&result)[1], ("fixed", "Rounds up."));
    let (outcome, reason) = outcomes(&result)[0];
    assert_eq!(outcome, "rejected");
    assert!(reason.contains("it decides what runs"), "{reason}");
}

#[test]
fn a_refused_path_is_refused_even_if_the_edit_would_not_apply() {
    let mut desk = desk();
    let workflow = request("x", ".github/workflows/ci.yml", "missing", "b");
    let answer = desk.edit(workflow, &head(None)).unwrap_err();
    assert!(
        answer.starts_with(".github/workflows/ci.yml is a file of git or GitHub"),
        "{answer}"
    );
}

#[test]
fn undoing_is_refused_while_another_issue_builds_on_it() {
    let mut desk = desk();
    edit(&mut desk, "x", "first = 0", "start = 0").unwrap();
    edit(&mut desk, "y", "start = 0", "start = 1").unwrap();
    let answer = desk.undo("x").unwrap_err();
    assert_eq!(
        answer,
        "The edits for x cannot be undone alone: those for y build on them. Undo y first, then x."
    );
    assert!(
        rejected(&mut desk, "x").is_err(),
        "a rejected issue leaves no edit"
    );
    desk.undo("y").unwrap();
    desk.undo("x").unwrap();
    assert_eq!(desk.edits().changed_files(), []);
}

#[test]
fn what_is_not_submitted_is_undone_with_what_builds_on_it() {
    let mut desk = desk();
    edit(&mut desk, "x", "first = 0", "start = 0").unwrap();
    edit(&mut desk, "y", "start = 0", "start = 1").unwrap();
    edit(&mut desk, "z", "count / size", "count.div_ceil(size)").unwrap();
    fixed(&mut desk, "y").unwrap();
    fixed(&mut desk, "z").unwrap();
    let result = desk.finish();
    let expected = [
        ("undone", "the fixer said nothing about it"),
        (
            "undone",
            "its edits build on those for x, which were undone",
        ),
        ("fixed", "Rounds up."),
    ];
    assert_eq!(outcomes(&result), expected);
    let new = result.edits.changed_files()[0].new.clone().unwrap();
    assert_eq!(
        new,
        HEAD.replace("count / size", "count.div_ceil(size)")
            .as_bytes()
    );
}

#[test]
fn a_later_edit_opens_an_issue_again() {
    let mut desk = desk();
    edit(&mut desk, "x", "first = 0", "start = 0").unwrap();
    fixed(&mut desk, "x").unwrap();
    edit(&mut desk, "x", "start = 0", "start = 1").unwrap();
    assert_eq!(desk.open().count(), 2);
    assert_eq!(outcomes(&desk.finish())[0].0, "undone");
}

/// A call of the model.
#[derive(Debug, Clone)]
enum Call {
    Edit(&'static str, &'static str, String, String),
    Undo(&'static str),
    Fixed(&'static str),
    Rejected(&'static str),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let id = || prop::sample::select(vec!["x", "y", "z", "w"]);
    let file = prop::sample::select(vec!["src/a.rs", "src/a.rs", "Cargo.toml", "tests/a.rs"]);
    let text = || "[a-c]{1,2}";
    let call = prop_oneof![
        6 => (id(), file, text(), text()).prop_map(|(id, file, old, new)| Call::Edit(id, file, old, new)),
        1 => id().prop_map(Call::Undo),
        3 => id().prop_map(Call::Fixed),
        1 => id().prop_map(Call::Rejected),
    ];
    prop::collection::vec(call, 0..25)
}

proptest! {
    #[test]
    fn whatever_the_model_calls_every_issue_ends_with_one_outcome_and_only_fixed_ones_have_edits(calls in calls()) {
        let text = "ab\ncb\nba\nac\n";
        let mut desk = desk();
        let mut copy: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
        for call in calls {
            let _answer = match call {
                Call::Edit(id, file, old, new) => desk.edit(request(id, file, &old, &new), &head(Some(text))),
                Call::Undo(id) => desk.undo(id),
                Call::Fixed(id) => fixed(&mut desk, id),
                Call::Rejected(id) => rejected(&mut desk, id),
            };
            copy.extend(desk.take_effects().into_iter().map(|effect| (effect.path, effect.content)));
            // The copy of the snapshot is what the list says.
            for (path, content) in &copy {
                let now = desk.edits().effect(path).map_or_else(|| Some(text.as_bytes().to_vec()), |one| one.content);
                prop_assert_eq!(&now, content);
            }
        }
        let result = desk.finish();
        prop_assert_eq!(result.settled.len(), 3);
        for one in &result.settled {
            let has_edits = !result.edits.files_of(&one.issue.id).is_empty();
            prop_assert_eq!(has_edits, one.outcome.is_fixed());
        }
        let files = result.edits.changed_files();
        prop_assert!(files.iter().all(|file| file.path == "src/a.rs" || file.path == "tests/a.rs"));
    }
}
