//! Exports and tree ids of real commits, compared with what git itself makes of the same change.
#![expect(clippy::disallowed_methods, reason = "edge: tests look at files")]

use super::*;
use crate::git::fixture::Work;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

fn edit(path: &str, content: Option<&str>) -> FileEdit {
    FileEdit {
        path: path.to_owned(),
        content: content.map(|text| text.as_bytes().to_vec()),
    }
}

fn project() -> (Work, CommitSha) {
    let work = Work::new();
    work.write("src/a.rs", "one\r\ntwo")
        .write("gone.txt", "x\n")
        .write("run.sh", "#!/bin/sh\n")
        .write(".env", "KEY=as-it-is\n")
        .write("AGENTS.md", "rules\n")
        .link("out", "/etc/passwd");
    let run = work.path().join("run.sh");
    std::fs::set_permissions(run, std::fs::Permissions::from_mode(0o755)).unwrap();
    let head = work.commit();
    (work, head)
}

fn edits() -> Vec<FileEdit> {
    vec![
        edit("src/a.rs", Some("one\r\n2")),
        edit("src/deep/new file.rs", Some("fn main() {}\n")),
        edit("gone.txt", None),
    ]
}

/// The same change by `git add`.
fn committed(work: &Work) -> CommitSha {
    work.write("src/a.rs", "one\r\n2")
        .write("src/deep/new file.rs", "fn main() {}\n")
        .remove("gone.txt")
        .commit()
}

#[tokio::test]
async fn edits_give_the_tree_that_git_would_commit_and_leave_no_index() {
    let (work, head) = project();
    let opened = work.open();
    let repository = &opened.repository;
    let unchanged = repository.tree_with(&head, &[]).await.unwrap();
    assert_eq!(unchanged, repository.tree_of(&head).await.unwrap());
    let tree = repository.tree_with(&head, &edits()).await.unwrap();
    assert_ne!(tree, unchanged);
    let commit = committed(&work);
    assert_eq!(tree, repository.tree_of(&commit).await.unwrap());
}

#[tokio::test]
async fn a_patch_is_applied_by_git_and_gives_the_same_tree() {
    let (work, head) = project();
    let opened = work.open();
    let repository = &opened.repository;
    let tree = repository.tree_with(&head, &edits()).await.unwrap();
    let patch = repository.patch_to(&head, &tree).await.unwrap();
    let text = String::from_utf8_lossy(&patch);
    assert!(text.contains("\\ No newline at end of file"), "{text}");
    assert_eq!(repository.tree_of_patch(&head, &patch).await.unwrap(), tree);
    let other = text.replace("-two", "-three");
    let refused = repository.tree_of_patch(&head, other.as_bytes()).await;
    let refused = format!("{:#}", refused.unwrap_err());
    assert!(
        refused.starts_with("the patch does not apply to the head: git apply failed:"),
        "{refused}"
    );
    let outside = text.replace("src/deep/new file.rs", "../outside.rs");
    assert!(
        repository
            .tree_of_patch(&head, outside.as_bytes())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn edits_that_a_commit_on_github_cannot_hold_are_refused() {
    let (work, head) = project();
    let opened = work.open();
    for (edit, sentence) in [
        (
            edit("run.sh", Some("x")),
            "run.sh is executable, and a commit made on GitHub would take that away",
        ),
        (
            edit("out", Some("x")),
            "out is no regular file, and only regular files are edited",
        ),
        (
            edit("missing", None),
            "missing cannot be deleted, because the head does not have it",
        ),
    ] {
        let refused = opened.repository.tree_with(&head, &[edit]).await;
        assert_eq!(refused.unwrap_err().to_string(), sentence);
    }
    for path in [".git/config", "../x", "src/a.rs/x", "src", "a//b"] {
        let wrong = edit(path, Some("x"));
        let refused = opened.repository.tree_with(&head, &[wrong]).await;
        assert!(refused.is_err(), "{path}: {refused:?}");
    }
    let deleted = edit("run.sh", None);
    assert!(opened.repository.tree_with(&head, &[deleted]).await.is_ok());
}

#[tokio::test]
async fn a_file_of_the_head_is_read_as_git_has_it() {
    let (work, head) = project();
    let opened = work.open();
    let file = async |path: &str, most| opened.repository.head_file(&head, path, most).await;
    let secret = file(".env", 100).await.unwrap().unwrap();
    assert_eq!(secret.content.as_deref(), Some(&b"KEY=as-it-is\n"[..]));
    let script = file("run.sh", 100).await.unwrap().unwrap();
    assert_eq!(script.kind, EntryKind::Executable);
    let link = file("out", 100).await.unwrap().unwrap();
    assert_eq!((link.kind, link.content), (EntryKind::Symlink, None));
    let large = file("src/a.rs", 3).await.unwrap().unwrap();
    assert_eq!(large.content, None);
    for missing in ["src", "src/", "none", "*.rs"] {
        assert_eq!(file(missing, 100).await.unwrap(), None, "{missing}");
    }
}

#[tokio::test]
async fn an_export_has_real_names_and_modes_and_neither_links_nor_a_repository() {
    let (work, head) = project();
    let (opened, dir) = (work.open(), TempDir::new().unwrap());
    let (edits, caps) = (edits(), ExportCaps::default());
    let export = write(&opened.repository, &head, &edits, dir.path(), &caps).await;
    let export = export.unwrap();
    let read = |path: &str| std::fs::read_to_string(dir.path().join(path)).ok();
    assert_eq!(read("src/a.rs").as_deref(), Some("one\r\n2"));
    assert_eq!(
        read("src/deep/new file.rs").as_deref(),
        Some("fn main() {}\n")
    );
    assert_eq!(read(".env").as_deref(), Some("KEY=as-it-is\n"));
    assert_eq!(read("AGENTS.md").as_deref(), Some("rules\n"));
    assert_eq!(read("gone.txt"), None);
    let mode = |path: &str| {
        let about = std::fs::metadata(dir.path().join(path)).unwrap();
        about.permissions().mode() & 0o777
    };
    assert_eq!((mode("run.sh"), mode("src/a.rs")), (0o755, 0o644));
    assert_eq!(export.left_out, ["out"]);
    assert!(std::fs::symlink_metadata(dir.path().join("out")).is_err());
    assert!(!dir.path().join(".git").exists());
    let commit = committed(&work);
    assert_eq!(
        export.tree,
        opened.repository.tree_of(&commit).await.unwrap()
    );
}

#[tokio::test]
async fn an_export_is_whole_or_it_is_none() {
    let (work, head) = project();
    let opened = work.open();
    let usual = ExportCaps::default();
    for (caps, sentence) in [
        (
            ExportCaps { files: 2, ..usual },
            "the repository has 5 files, more than the 2 that are verified",
        ),
        (
            ExportCaps {
                file_bytes: 5,
                ..usual
            },
            "the repository has a file of 0 MiB, more than the 0 MiB that are verified",
        ),
        (
            ExportCaps {
                total_bytes: 5,
                ..usual
            },
            "the repository has 0 MiB of files, more than the 0 MiB that are verified",
        ),
    ] {
        let dir = TempDir::new().unwrap();
        let refused = write(&opened.repository, &head, &[], dir.path(), &caps).await;
        assert_eq!(refused.unwrap_err().to_string(), sentence);
    }
}
