//! Every kind of change that git knows, as the reviewer sees it.

use super::*;
use reviewer_core::domain::{FileDiff, FileStatus, LineKind, Side};
use std::os::unix::fs::PermissionsExt as _;

async fn diff(work: &Work, base: &CommitSha, head: &CommitSha) -> Vec<FileDiff> {
    work.open().repository.diff(base, head).await.unwrap()
}

fn find<'a>(files: &'a [FileDiff], path: &str) -> &'a FileDiff {
    let found = files.iter().find(|file| file.path == path);
    found.unwrap_or_else(|| panic!("{path} is not in {files:#?}"))
}

#[tokio::test]
async fn a_rename_keeps_its_old_name_with_and_without_edits() {
    let work = Work::new();
    let text = "a\nb\nc\nd\ne\nf\ng\nh\n";
    let base = work
        .write("old.rs", text)
        .write("same.rs", "x\ny\n")
        .commit();
    work.remove("old.rs")
        .remove("same.rs")
        .write("moved.rs", "x\ny\n");
    let head = work.write("new.rs", text.replace("d\n", "D\n")).commit();
    let files = diff(&work, &base, &head).await;
    let new = find(&files, "new.rs");
    assert_eq!(
        (new.status, new.previous_path.as_deref()),
        (FileStatus::Renamed, Some("old.rs"))
    );
    assert_eq!(new.commentable(Side::Left), [4..=4]);
    let moved = find(&files, "moved.rs");
    assert_eq!((moved.status, moved.hunks.len()), (FileStatus::Renamed, 0));
}

#[tokio::test]
async fn modes_binaries_deletions_and_empty_files_are_told_apart() {
    let work = Work::new();
    work.write("run.sh", "echo\n")
        .write("logo.png", b"\0\x01\x02")
        .write("gone.txt", "a\nb\n");
    let base = work.write("to-clear", "x\n").commit();
    let script = work.path().join("run.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    work.write("logo.png", b"\0\x03")
        .remove("gone.txt")
        .write("empty", "")
        .write("to-clear", "");
    let head = work.commit();
    let files = diff(&work, &base, &head).await;
    let seen: Vec<_> = files
        .iter()
        .map(|f| (f.path.as_str(), f.status, f.binary, f.hunks.len()))
        .collect();
    assert_eq!(
        seen,
        [
            ("empty", FileStatus::Added, false, 0),
            ("gone.txt", FileStatus::Removed, false, 1),
            ("logo.png", FileStatus::Modified, true, 0),
            ("run.sh", FileStatus::Changed, false, 0),
            ("to-clear", FileStatus::Modified, false, 1),
        ]
    );
    assert_eq!(
        find(&files, "gone.txt").describe_commentable(),
        "no line of the head (removed: 1-2)"
    );
}

#[tokio::test]
async fn a_link_that_becomes_a_file_is_one_change_with_both_sides() {
    let work = Work::new();
    let base = work
        .link("config", "/etc/passwd")
        .link("other", "x")
        .write("z", "z\n")
        .commit();
    work.remove("config")
        .write("config", "a\nb\n")
        .remove("other")
        .write("other", b"\0\x01\x02\x80");
    let head = work.write("z", "Z\n").commit();
    let files = diff(&work, &base, &head).await;
    let config = find(&files, "config");
    assert_eq!(
        (config.status, config.additions(), config.deletions()),
        (FileStatus::Changed, 2, 1)
    );
    assert_eq!(config.commentable(Side::Right), [1..=2]);
    assert!(find(&files, "other").binary);
    // What follows a type change in the list still has its own lines.
    assert_eq!(find(&files, "z").hunks[0].lines[1].text, "Z");
}

#[tokio::test]
async fn line_endings_and_odd_bytes_keep_the_numbers() {
    let work = Work::new();
    let base = work
        .write("crlf", "a\r\nb\r\n")
        .write("mac", "a\rb\n")
        .write("latin", b"\xe9\nx\n")
        .commit();
    work.write("crlf", "a\r\nB\r\nlast")
        .write("mac", "a\rB\n")
        .write("latin", b"\xe9\n\xff\xe2\x80\xa8y\n");
    let head = work.commit();
    let files = diff(&work, &base, &head).await;
    let added = |path: &str| {
        let lines = find(&files, path).hunks.iter().flat_map(|hunk| &hunk.lines);
        let added = lines.filter(|line| line.kind == LineKind::Added);
        added
            .map(|line| (line.new.unwrap(), line.text.to_string()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        added("crlf"),
        [(2, "B\r".to_owned()), (3, "last".to_owned())]
    );
    assert_eq!(added("mac"), [(1, "a\rB".to_owned())]);
    assert_eq!(added("latin"), [(2, "\u{fffd}\u{2028}y".to_owned())]);
}

#[tokio::test]
async fn any_name_is_the_files_own_name() {
    let names: [&[u8]; 9] = [
        b"with space",
        b"new\nline",
        b"\"quoted\"",
        b"-dash",
        b"--output=x",
        b":(glob)*",
        b"tab\there -> b/x",
        b"\xc3\xbcml\xc3\xa4ut",
        b"caf\xe9",
    ];
    let work = Work::new();
    let base = work.commit();
    for (n, name) in names.iter().enumerate() {
        work.write(name, format!("{n}\n"));
    }
    let head = work.commit();
    let files = diff(&work, &base, &head).await;
    assert_eq!(files.len(), names.len());
    for (n, name) in names.iter().enumerate() {
        let shown = String::from_utf8(name.to_vec()).unwrap_or_else(|_| "caf\\xe9".to_owned());
        assert_eq!(find(&files, &shown).hunks[0].lines[0].text, n.to_string());
    }
}

#[tokio::test]
async fn names_that_look_alike_as_text_stay_two_files() {
    let work = Work::new();
    let base = work.commit();
    let head = work
        .write(b"x\xe9", "1\n")
        .write("x\\xe9", "2\n")
        .write(b"x\xe8", "3\n")
        .commit();
    let files = diff(&work, &base, &head).await;
    let paths: std::collections::HashSet<&str> = files.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(paths.len(), 3, "{paths:?}");
}

#[tokio::test]
async fn a_submodule_is_a_change_of_one_line() {
    let work = Work::new();
    let base = work.commit();
    let id = "1234567890123456789012345678901234567890";
    work.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{id},vendor/lib"),
    ]);
    work.git(&["commit", "--quiet", "-m", "submodule"]);
    let head = work.git(&["rev-parse", "HEAD"]).parse().unwrap();
    let opened = work.open();
    // The commit that a submodule names is never ours to have.
    assert_eq!(
        opened
            .repository
            .ensure(&[&base, &head], &nowhere())
            .await
            .unwrap(),
        ObjectSource::Workspace
    );
    let files = opened.repository.diff(&base, &head).await.unwrap();
    assert_eq!(
        find(&files, "vendor/lib").hunks[0].lines[0].text,
        format!("Subproject commit {id}")
    );
}

#[tokio::test]
async fn two_hundred_and_fifty_files_keep_their_order_and_lines() {
    let work = Work::new();
    for n in 0..250 {
        work.write(format!("src/{n:03}.txt"), "a\nb\nc\n");
    }
    let base = work.commit();
    for n in 0..250 {
        work.write(format!("src/{n:03}.txt"), format!("a\n{n}\nc\n"));
    }
    let head = work.commit();
    let files = diff(&work, &base, &head).await;
    assert_eq!(files.len(), 250);
    for (n, file) in files.iter().enumerate() {
        assert_eq!(file.path, format!("src/{n:03}.txt"));
        assert_eq!(
            file.resolve(None, Some(&n.to_string())).ok(),
            file.resolve(Some(2), None).ok()
        );
    }
}

#[tokio::test]
async fn the_same_commit_twice_is_no_change() {
    let work = Work::new();
    let head = work.write("a", "a\n").commit();
    assert_eq!(diff(&work, &head, &head).await, []);
}

#[tokio::test]
async fn text_is_shown_whatever_attributes_call_it() {
    let work = Work::new();
    let base = work
        .write(".gitattributes", "*.lock -diff\n")
        .write("app.lock", "1\n")
        .write("src/a.ts", "a\n")
        .write("src/b.ts", "b\n")
        .commit();
    work.write(".gitattributes", "*.ts binary diff=evil filter=evil\n")
        .write("src/.gitattributes", "* -diff\n")
        .write("app.lock", "2\n")
        .write("src/a.ts", "A\n");
    let first = work.commit();
    let second = work.write("src/b.ts", "B\n").commit();
    let files = diff(&work, &base, &second).await;
    for path in ["src/a.ts", "src/b.ts"] {
        let file = find(&files, path);
        assert_eq!((file.binary, file.additions()), (false, 1), "{path}");
    }
    let lock = find(&files, "app.lock");
    assert_eq!(
        (lock.binary, lock.additions()),
        (false, 1),
        "text is shown, whatever the base calls it"
    );
    let opened = work.open();
    let since = opened.repository.diff_under(&base, &first, &second).await;
    assert!(!since.unwrap()[0].binary, "nor by an earlier head");
}

#[tokio::test]
async fn nobody_who_asks_for_a_diff_gets_the_values_of_secrets() {
    let work = Work::new();
    let text = "# the old-secret\nA_KEY=old-secret\nB_KEY=old-secret\n";
    let base = work.write(".env", text).write("moved.env", text).commit();
    work.write(".env", "A_KEY=new-secret\n")
        .remove("moved.env")
        .write("notes.txt", text.replace("B_KEY", "C_KEY"))
        .write("plain.txt", "no-secret\n");
    let head = work.commit();
    let files = diff(&work, &base, &head).await;
    assert_eq!(
        find(&files, "notes.txt").previous_path.as_deref(),
        Some("moved.env")
    );
    let shown = find(&files, ".env").numbered();
    assert!(
        !shown.contains("secret") && shown.contains("***"),
        "{shown}"
    );
    // The old name hides what was there, the new name shows what is added.
    let shown = find(&files, "notes.txt").numbered();
    assert!(
        shown.contains(" A_KEY=***") && shown.contains("- B_KEY=***"),
        "{shown}"
    );
    assert!(shown.contains("+ C_KEY=old-secret"), "{shown}");
    assert!(find(&files, "plain.txt").numbered().contains("no-secret"));
}
