//! Tests of edits, their order, and what is left when an issue is undone.

use super::*;
use proptest::prelude::*;

fn id(name: &str) -> IssueId {
    name.parse().unwrap()
}

fn replace(issue: &str, file: &str, old: &str, new: &str) -> Edit {
    let (old, new) = (old.into(), new.into());
    edit(issue, file, Change::Replace { old, new })
}

fn edit(issue: &str, file: &str, change: Change) -> Edit {
    Edit {
        issue: id(issue),
        file: file.into(),
        change,
    }
}

fn create(issue: &str, file: &str, content: &str) -> Edit {
    let content = content.into();
    edit(issue, file, Change::Create { content })
}

const HEAD: &[u8] = b"one\ntwo\nthree\n";

fn list(edits: Vec<Edit>) -> EditList {
    let mut list = EditList::default();
    for edit in edits {
        let head = (edit.file == "a").then_some(HEAD);
        list.apply(edit, head).unwrap();
    }
    list
}

fn shown(list: &EditList, path: &str) -> Option<String> {
    let bytes = list.content(path)??.to_bytes();
    Some(String::from_utf8(bytes).unwrap())
}

fn content(path: &str, content: Option<&str>) -> FileEffect {
    FileEffect {
        path: path.into(),
        content: content.map(|text| text.as_bytes().to_vec()),
    }
}

#[test]
fn edits_of_several_issues_add_up() {
    let list = list(vec![
        replace("x", "a", "one", "1"),
        replace("y", "a", "three", "3"),
        create("y", "b", "new\n"),
    ]);
    assert_eq!(shown(&list, "a").as_deref(), Some("1\ntwo\n3\n"));
    let changed = list.changed_files();
    let paths: Vec<&str> = changed.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a", "b"]);
    assert_eq!(changed[0].issues, BTreeSet::from([id("x"), id("y")]));
    assert_eq!(changed[0].old.as_deref(), Some(HEAD));
    assert_eq!(changed[1].old, None);
    assert_eq!(list.files_of(&id("y")), BTreeSet::from(["a", "b"]));
    let patch = String::from_utf8(list.patch()).unwrap();
    assert_eq!(
        patch,
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n-three\n+3\n\
         diff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+new\n"
    );
}

#[test]
fn an_undone_issue_leaves_the_edits_of_the_others() {
    let mut list = list(vec![
        replace("x", "a", "one", "1"),
        replace("y", "a", "three", "3"),
        create("x", "b", "new\n"),
    ]);
    let effects = list.undo(&id("x")).unwrap();
    let expected = [content("a", Some("one\ntwo\n3\n")), content("b", None)];
    assert_eq!(effects, expected);
    assert_eq!(shown(&list, "a").as_deref(), Some("one\ntwo\n3\n"));
    assert_eq!(list.content("b"), None);
    let effects = list.undo(&id("y")).unwrap();
    assert_eq!(effects, [content("a", Some("one\ntwo\nthree\n"))]);
    assert_eq!(list, EditList::default());
}

#[test]
fn an_issue_that_another_one_builds_on_is_not_undone_alone() {
    let edits = vec![
        replace("x", "a", "one", "first"),
        replace("y", "a", "first", "1st"),
        replace("z", "a", "two", "2"),
    ];
    let mut list = list(edits);
    let before = list.clone();
    assert_eq!(list.undo(&id("x")), Err(id("y")));
    assert_eq!(list, before, "nothing happened");
    let (effects, dependents) = list.undo_with_dependents(&id("x"));
    assert_eq!(dependents, [id("y")]);
    assert_eq!(effects, [content("a", Some("one\n2\nthree\n"))]);
}

#[test]
fn files_are_created_once_and_only_those_that_exist_are_changed() {
    let mut list = EditList::default();
    let of = |list: &mut EditList, edit, head| list.apply(edit, head).unwrap_err().to_string();
    let exists = of(&mut list, create("x", "a", "y"), Some(HEAD));
    assert_eq!(exists, "the file exists; change it with fix_edit");
    let missing = of(&mut list, replace("x", "c", "y", "z"), None);
    assert_eq!(
        missing,
        "there is no such file; use fix_create for a new one"
    );
    let latin = of(&mut list, edit("x", "d", Change::Delete), Some(b"caf\xe9"));
    assert!(latin.starts_with("line 1 holds bytes"), "{latin}");
    assert_eq!(list, EditList::default());
    list.apply(edit("x", "a", Change::Delete), Some(HEAD))
        .unwrap();
    assert_eq!(list.content("a"), Some(None));
    list.apply(create("x", "a", "one\ntwo\nthree\n"), Some(HEAD))
        .unwrap();
    assert_eq!(list.changed_files(), [], "the same as in the head");
}

#[test]
fn each_step_of_an_issue_is_known() {
    let list = list(vec![
        replace("x", "a", "one", "1"),
        replace("y", "a", "two", "2"),
        replace("x", "a", "three", "3"),
    ]);
    let steps = list.steps_of(&id("x"));
    let steps: Vec<(&str, &str)> = steps
        .iter()
        .map(|(_, b, a)| (b.as_str(), a.as_str()))
        .collect();
    let expected = [
        ("one\ntwo\nthree\n", "1\ntwo\nthree\n"),
        ("1\n2\nthree\n", "1\n2\n3\n"),
    ];
    assert_eq!(steps, expected);
}

/// Edits that mostly apply: on few files with few different texts.
fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let issue = prop::sample::select(vec!["x", "y", "z"]);
    let file = prop::sample::select(vec!["a", "b"]);
    let text = "[a-d]{1,2}\n?";
    let change = prop_oneof![
        8 => (text, text).prop_map(|(old, new)| Change::Replace { old, new }),
        1 => text.prop_map(|content| Change::Create { content }),
        1 => Just(Change::Delete),
    ];
    let one = (issue, file, change).prop_map(|(issue, file, change)| edit(issue, file, change));
    prop::collection::vec(one, 0..12)
}

fn applied(edits: &[Edit]) -> EditList {
    let mut list = EditList::default();
    for edit in edits {
        let head = (edit.file == "a").then_some(&b"ab\ncd\nbd\nda\n"[..]);
        let _some_do_not_apply = list.apply(edit.clone(), head);
    }
    list
}

proptest! {
    #[test]
    fn undoing_is_the_replay_of_all_other_edits_from_the_head(edits in edits()) {
        let list = applied(&edits);
        let mut undone = list.clone();
        let gone = id("x");
        if let Ok(effects) = undone.undo(&gone) {
            let others: Vec<Edit> = list.edits().iter().filter(|one| one.issue != gone).cloned().collect();
            prop_assert_eq!(&undone, &applied(&others));
            // The effects make the copy of the snapshot what the list says.
            for effect in effects {
                let now = undone.content(&effect.path).unwrap_or_else(|| list.head(&effect.path));
                prop_assert_eq!(effect.content, now.map(FileText::to_bytes));
            }
        } else {
            prop_assert_eq!(&undone, &list);
        }
    }

    #[test]
    fn undoing_with_dependents_leaves_nothing_of_them(edits in edits()) {
        let mut list = applied(&edits);
        let (_, dependents) = list.undo_with_dependents(&id("x"));
        for gone in dependents.iter().chain([&id("x")]) {
            prop_assert!(list.files_of(gone).is_empty());
        }
        prop_assert_eq!(&list, &applied(list.edits()));
    }

    #[test]
    fn undoing_every_issue_gives_the_head(edits in edits()) {
        let mut list = applied(&edits);
        for issue in ["x", "y", "z"] {
            list.undo_with_dependents(&id(issue));
        }
        prop_assert_eq!(list.changed_files(), vec![]);
    }
}
