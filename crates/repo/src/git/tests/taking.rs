//! A working tree taken as a commit, whatever lies in it; the person's repository stays as it is.

use super::*;
use crate::git::{Taken, WorkTree};
use std::path::Path;

/// A repository with two commits, and a folder of the reviewer's.
struct Theirs {
    work: Work,
    home: TempDir,
    ours: TempDir,
}

impl Theirs {
    fn new() -> Self {
        let work = Work::new();
        work.write("a.txt", "one\n").write("b.txt", "b\n").commit();
        let (home, ours) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        Self { work, home, ours }
    }

    async fn tree_at(&self, directory: &Path) -> Option<WorkTree> {
        let (ours, home) = (self.ours.path(), Some(self.home.path()));
        let found = WorkTree::find(ours, directory, home, &environment()).await;
        found.unwrap()
    }

    async fn take_at(&self, directory: &Path) -> Taken {
        let tree = self.tree_at(directory).await.expect("a working tree");
        let head = tree.commit("HEAD").await.unwrap().expect("a commit");
        tree.take(&head, &head).await.unwrap()
    }

    async fn take(&self) -> Taken {
        self.take_at(self.work.path()).await
    }

    /// Status and path of everything that is uncommitted, as taken.
    async fn taken(&self) -> Vec<(String, String)> {
        let head = self.head();
        let before = self.state();
        let taken = self.take().await;
        assert_eq!(self.state(), before, "nothing of theirs has changed");
        let files = taken.repository.diff(&head, &taken.head).await.unwrap();
        assert_eq!(taken.changed, !files.is_empty());
        let files = files.into_iter();
        files
            .map(|file| (format!("{:?}", file.status), file.path))
            .collect()
    }

    fn head(&self) -> CommitSha {
        self.work.git(&["rev-parse", "HEAD"]).parse().unwrap()
    }

    /// Every file of the git folder with its content, and what git says.
    fn state(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut open = vec![self.work.path().join(".git")];
        let mut files = Vec::new();
        while let Some(path) = open.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).unwrap();
                open.extend(entries.map(|entry| entry.unwrap().path()));
            } else {
                #[expect(clippy::disallowed_methods, reason = "edge: looks at a repository")]
                files.push((path.clone(), std::fs::read(&path).unwrap()));
            }
        }
        files.sort();
        files
    }
}

fn changes(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(status, path): &(&str, &str)| ((*status).to_owned(), (*path).to_owned());
    expected.iter().map(owned).collect()
}

#[tokio::test]
async fn everything_that_is_not_ignored_is_taken_committed_or_not() {
    let theirs = Theirs::new();
    theirs
        .work
        .write(".gitignore", "*.log\n")
        .write("excluded", "x")
        .write("global", "x")
        .write("a.txt", "two\n")
        .write("new/deep.txt", "new\n")
        .write("noise.log", "x")
        .remove("b.txt");
    theirs.work.write(".git/info/exclude", "excluded\n");
    let ignore = theirs.home.path().join(".config/git");
    std::fs::create_dir_all(&ignore).unwrap();
    #[expect(clippy::disallowed_methods, reason = "edge: writes a configuration")]
    std::fs::write(ignore.join("ignore"), "global\n").unwrap();
    theirs.work.write("staged", "s").git(&["add", "staged"]);
    assert_eq!(
        theirs.taken().await,
        changes(&[
            ("Added", ".gitignore"),
            ("Modified", "a.txt"),
            ("Removed", "b.txt"),
            ("Added", "new/deep.txt"),
            ("Added", "staged"),
        ])
    );
}

#[tokio::test]
async fn a_clean_tree_is_the_head_itself_and_the_same_tree_is_the_same_commit() {
    let theirs = Theirs::new();
    let taken = theirs.take().await;
    assert_eq!((&taken.head, taken.changed), (&theirs.head(), false));
    theirs.work.write("a.txt", "two\n");
    let first = Theirs::take(&theirs).await.head;
    let again = Theirs {
        ours: TempDir::new().unwrap(),
        ..theirs
    };
    assert_eq!(again.take().await.head, first);
    assert_ne!(again.head(), first);
}

#[tokio::test]
async fn a_change_of_the_same_size_in_the_same_moment_is_seen() {
    for _ in 0..5 {
        let theirs = Theirs::new();
        theirs.work.write("a.txt", "two\n");
        assert_eq!(theirs.taken().await, changes(&[("Modified", "a.txt")]));
    }
}

#[tokio::test]
async fn links_kinds_and_modes_are_taken_as_they_are() {
    let theirs = Theirs::new();
    theirs.work.write("dir/x", "x").write("was/file", "f");
    theirs.work.commit();
    std::fs::remove_dir_all(theirs.work.path().join("dir")).unwrap();
    std::fs::remove_dir_all(theirs.work.path().join("was")).unwrap();
    theirs.work.link("dir", "/etc").link("dangling", "nowhere");
    theirs.work.write("was", "a file now").remove("b.txt");
    theirs.work.write("b.txt/inside", "a folder now");
    assert_eq!(
        theirs.taken().await,
        changes(&[
            ("Removed", "b.txt"),
            ("Added", "b.txt/inside"),
            ("Added", "dangling"),
            ("Added", "dir"),
            ("Removed", "dir/x"),
            ("Added", "was"),
            ("Removed", "was/file"),
        ])
    );
}

#[tokio::test]
async fn submodules_and_repositories_within_do_not_disturb() {
    let theirs = Theirs::new();
    let other = Theirs::new();
    let url = other.work.path().display().to_string();
    let allow = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", &url, "sub"];
    theirs.work.git(&[&allow[..], &add].concat());
    theirs.work.git(&["commit", "--quiet", "-m", "sub"]);
    // Dirty, and with a trap that `git status` in it would step into.
    theirs.work.write("sub/a.txt", "dirty\n");
    let marker = theirs.work.path().join("marker.log");
    theirs.work.write(".git/info/exclude", "marker.log\n");
    let trap = format!("touch {}; false", marker.display());
    let sub = theirs.work.path().join("sub");
    fixture::git(&sub, &["config", "core.fsmonitor", &trap], &[]);
    // One without a commit, at which `git add` fails.
    theirs.work.write("nested/x", "x");
    let nested = theirs.work.path().join("nested");
    fixture::git(&nested, &["init", "--quiet"], &[]);
    assert_eq!(theirs.taken().await, []);
    assert!(!marker.exists());
    let again = Theirs {
        ours: TempDir::new().unwrap(),
        ..theirs
    };
    assert_eq!(again.take().await.nested, ["nested"]);
    // Another commit of it is a change.
    fixture::git(&sub, &["config", "core.fsmonitor", "false"], &[]);
    fixture::git(&sub, &["commit", "--quiet", "-am", "moved"], &[]);
    let again = Theirs {
        ours: TempDir::new().unwrap(),
        ..again
    };
    assert_eq!(again.taken().await, changes(&[("Modified", "sub")]));
}

#[tokio::test]
async fn nothing_that_they_have_configured_is_run() {
    let theirs = Theirs::new();
    let outside = TempDir::new().unwrap();
    let marker = outside.path().join("marker");
    let evil = format!("touch {}; cat", marker.display());
    for setting in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "filter.evil.clean",
        "filter.evil.process",
        "filter.lfs.clean",
        "gpg.program",
        "log.showSignature",
    ] {
        let value = if setting.starts_with("log") {
            "true"
        } else {
            &evil
        };
        theirs.work.git(&["config", setting, value]);
    }
    theirs.work.write(".git/hooks/post-index-change", &*evil);
    theirs
        .work
        .write(".gitattributes", "*.txt filter=evil diff=evil\n")
        .write("a.txt", "two\n");
    assert_eq!(
        theirs.taken().await,
        changes(&[("Added", ".gitattributes"), ("Modified", "a.txt")])
    );
    let theirs = Theirs {
        ours: TempDir::new().unwrap(),
        ..theirs
    };
    let tree = theirs.tree_at(theirs.work.path()).await.unwrap();
    let head = theirs.head();
    assert_eq!(tree.branch().await.unwrap().as_deref(), Some("main"));
    assert_eq!(tree.commits(&head, &head).await.unwrap(), []);
    assert_eq!(tree.merge_base(&head, &head).await.unwrap(), Some(head));
    assert!(!marker.exists());
}

#[tokio::test]
async fn line_ends_are_what_their_configuration_makes_of_them() {
    let theirs = Theirs::new();
    theirs.work.git(&["config", "core.autocrlf", "true"]);
    theirs.work.write("a.txt", "one\r\nmore\r\n");
    let taken = theirs.take().await;
    let text = taken.repository.file(&taken.head, "a.txt", 100).await;
    assert_eq!(text.unwrap().as_deref(), Some("one\nmore\n"));
}

#[tokio::test]
async fn conflicts_split_indexes_and_linked_trees_are_taken_too() {
    let theirs = Theirs::new();
    theirs.work.git(&["switch", "--quiet", "-c", "other"]);
    theirs.work.write("a.txt", "theirs\n").commit();
    theirs.work.git(&["switch", "--quiet", "main"]);
    theirs.work.write("a.txt", "ours\n").commit();
    let merge = fixture::command(theirs.work.path())
        .args(["merge", "--quiet", "other"])
        .output();
    assert!(!merge.unwrap().status.success(), "a conflict");
    assert_eq!(theirs.taken().await, changes(&[("Modified", "a.txt")]));

    theirs.work.git(&["merge", "--abort"]);
    theirs.work.git(&["update-index", "--split-index"]);
    theirs.work.write("a.txt", "split\n");
    let theirs = Theirs {
        ours: TempDir::new().unwrap(),
        ..theirs
    };
    assert_eq!(theirs.taken().await, changes(&[("Modified", "a.txt")]));

    let beside = TempDir::new().unwrap();
    let linked = beside.path().join("linked");
    let add = ["worktree", "add", "--quiet", "-b", "linked"];
    let path = linked.display().to_string();
    theirs.work.git(&[&add[..], &[&path, "other"]].concat());
    #[expect(clippy::disallowed_methods, reason = "edge: writes into a repository")]
    std::fs::write(linked.join("b.txt"), "linked\n").unwrap();
    let theirs = Theirs {
        ours: TempDir::new().unwrap(),
        ..theirs
    };
    let taken = theirs.take_at(&linked).await;
    let head: CommitSha = theirs.work.git(&["rev-parse", "other"]).parse().unwrap();
    let files = taken.repository.diff(&head, &taken.head).await.unwrap();
    assert_eq!(files.iter().map(|f| &f.path).collect::<Vec<_>>(), ["b.txt"]);
}

#[tokio::test]
async fn names_are_resolved_as_they_are_meant() {
    let theirs = Theirs::new();
    let head = theirs.head();
    theirs.work.git(&["tag", "v1"]);
    theirs.work.git(&["config", "user.name", "dev"]);
    let below = theirs.work.path().join("below");
    std::fs::create_dir(&below).unwrap();
    let tree = theirs.tree_at(&below).await.expect("the tree above");
    for name in ["main", "v1", "HEAD", &head.as_str()[..10]] {
        assert_eq!(
            tree.commit(name).await.unwrap(),
            Some(head.clone()),
            "{name}"
        );
    }
    for name in [
        "nowhere",
        "",
        "--all",
        "-h",
        "a b",
        "HEAD:a.txt",
        "main..v1",
    ] {
        assert_eq!(tree.commit(name).await.unwrap(), None, "{name}");
    }
    assert_eq!(tree.default_branch().await.unwrap(), None);
    assert_eq!(tree.person().await.unwrap().as_deref(), Some("dev"));
    let origin = ["refs/remotes/origin/main", head.as_str()];
    theirs.work.git(&[&["update-ref"], &origin[..]].concat());
    let link = ["refs/remotes/origin/HEAD", "refs/remotes/origin/main"];
    theirs.work.git(&[&["symbolic-ref"], &link[..]].concat());
    let default = tree.default_branch().await.unwrap();
    assert_eq!(default.as_deref(), Some("origin/main"));
}

#[tokio::test]
async fn where_there_is_no_working_tree_there_is_none() {
    let theirs = Theirs::new();
    let nowhere = TempDir::new().unwrap();
    assert!(theirs.tree_at(nowhere.path()).await.is_none());
    fixture::git(nowhere.path(), &["init", "--quiet", "--bare"], &[]);
    assert!(theirs.tree_at(nowhere.path()).await.is_none());
    let inside = theirs.work.path().join(".git");
    assert!(theirs.tree_at(&inside).await.is_none());
}
