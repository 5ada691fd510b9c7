//! The snapshot of real commits, traps included.
#![expect(clippy::disallowed_methods, reason = "edge: tests look at files")]

use super::*;
use crate::git::fixture::Work;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

struct Written {
    dir: TempDir,
    snapshot: Snapshot,
}

impl Written {
    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(path))
            .unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Every path below the snapshot that is not a directory.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.dir.path().to_owned()];
        while let Some(dir) = open.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if std::fs::symlink_metadata(&path).unwrap().is_dir() {
                    open.push(path);
                } else {
                    let relative = path.strip_prefix(self.dir.path()).unwrap();
                    found.push(relative.to_str().unwrap().to_owned());
                }
            }
        }
        found.sort();
        found
    }

    fn left_out(&self) -> Vec<(&str, String, bool)> {
        let all = self.snapshot.left_out.iter();
        all.map(|l| (l.path.as_str(), l.reason.to_string(), l.changed))
            .collect()
    }
}

fn changed(path: &str) -> FileDiff {
    FileDiff {
        path: path.to_owned(),
        hunks: vec![],
        ..FileDiff::default()
    }
}

async fn snapshot_with(
    work: &Work,
    head: &CommitSha,
    changed: &[FileDiff],
    caps: &Caps,
) -> Written {
    let dir = TempDir::new().unwrap();
    let opened = work.open();
    let source = SnapshotSource {
        head,
        base: &[],
        changed,
    };
    let snapshot = write(&opened.repository, &source, dir.path(), caps)
        .await
        .unwrap();
    Written { dir, snapshot }
}

/// As a run makes it: the change from one commit to another, and the base's rules.
async fn snapshot_of_change(work: &Work, base: &CommitSha, head: &CommitSha) -> Written {
    let dir = TempDir::new().unwrap();
    let opened = work.open();
    let repository = &opened.repository;
    let source = SnapshotSource {
        head,
        base: &repository.tree(base).await.unwrap(),
        changed: &repository.diff(base, head).await.unwrap(),
    };
    let snapshot = write(repository, &source, dir.path(), &Caps::default()).await;
    Written {
        dir,
        snapshot: snapshot.unwrap(),
    }
}

async fn snapshot(work: &Work, head: &CommitSha) -> Written {
    snapshot_with(work, head, &[], &Caps::default()).await
}

#[tokio::test]
async fn plain_files_are_there_byte_for_byte_and_readable_by_anyone() {
    let work = Work::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    work.write("bin/data", &bytes)
        .write("src/a b/é.txt", "x\r\ny")
        .write("empty", "");
    let head = work
        .write(".github/workflows/ci.yml", "on: push\n")
        .write(".gitattributes", "* -text\n")
        .commit();
    let written = snapshot(&work, &head).await;
    assert_eq!(
        written.files(),
        [
            ".gitattributes",
            ".github/workflows/ci.yml",
            "bin/data",
            "empty",
            "src/a b/é.txt"
        ]
    );
    assert_eq!(
        std::fs::read(written.dir.path().join("bin/data")).unwrap(),
        bytes
    );
    assert_eq!(written.read("src/a b/é.txt"), "x\r\ny");
    let size = |path: &String| {
        std::fs::metadata(written.dir.path().join(path))
            .unwrap()
            .len()
    };
    let files = written.files();
    let size: u64 = files.iter().map(size).sum();
    assert_eq!((files.len(), size), (5, 70_000 + 4 + 9 + 8));
    for (path, mode) in [("bin", 0o755), ("bin/data", 0o644)] {
        let meta = std::fs::metadata(written.dir.path().join(path)).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, mode, "{path}");
    }
    assert_eq!(written.left_out(), []);
}

#[tokio::test]
async fn links_and_submodules_are_told_and_not_followed() {
    let work = Work::new();
    work.link("environ", "/proc/self/environ")
        .link("dir", "/")
        .link("loop", "loop")
        .link("up", "../../x");
    work.git(&["add", "--all"]);
    let id = "1234567890123456789012345678901234567890";
    work.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{id},vendor"),
    ]);
    work.git(&["commit", "--quiet", "-m", "links"]);
    let head = work.git(&["rev-parse", "HEAD"]).parse().unwrap();
    let written = snapshot(&work, &head).await;
    assert_eq!(written.files(), ["dir", "environ", "loop", "up", "vendor"]);
    for path in written.files() {
        let meta = std::fs::symlink_metadata(written.dir.path().join(&path)).unwrap();
        assert!(meta.is_file(), "{path}");
    }
    assert_eq!(
        written.read("environ"),
        "[symbolic link to /proc/self/environ; not followed]\n"
    );
    assert_eq!(
        written.read("vendor"),
        format!("[submodule at commit {id}; its files are not here]\n")
    );
}

#[tokio::test]
async fn what_opencode_would_obey_is_there_as_data() {
    let work = Work::new();
    let planted = [
        "AGENTS.md",
        "sub/AGENTS.md",
        "sub/claude.md",
        "CONTEXT.md",
        ".mcp.json",
        "opencode.json",
        "opencode.jsonc",
        ".opencode/plugin/evil.js",
        ".claude/skills/x/SKILL.md",
        ".agents/skills/y",
        ".cursorrules",
        ".ignore",
        ".rgignore",
        ".ripgreprc",
    ];
    for path in planted {
        work.write(path, path);
    }
    let head = work.commit();
    let written = snapshot(&work, &head).await;
    for path in planted {
        let shown = written.snapshot.shown_path(path);
        assert_eq!(written.read(&shown), path);
        assert!(!written.dir.path().join(path).exists(), "{path}");
    }
}

#[tokio::test]
async fn a_hostile_tree_stays_inside_and_says_what_it_left_out() {
    let work = Work::new();
    let blob = work.blob("evil\n");
    let inner = work.raw_tree(&[("100644", b"config", &blob)]);
    let long = vec![b'x'; 300];
    let tree = work.raw_tree(&[
        ("40000", b"..", &inner),
        ("40000", b".GIT", &inner),
        ("40000", b".git", &inner),
        ("40000", ".git\u{200c}".as_bytes(), &inner),
        ("100644", b"..\\escape", &blob),
        ("100644", b"/abs", &blob),
        ("100644", b"A", &blob),
        ("100644", b"a", &blob),
        ("40000", b"a", &inner),
        ("40000", b"git~1", &inner),
        ("100644", b"line\nbreak", &blob),
        ("100644", &long, &blob),
    ]);
    let head = work.commit_tree(&tree);
    let written = snapshot(&work, &head).await;
    assert_eq!(written.files(), ["A", "a~2", "a~3/config", "line%0Abreak"]);
    let git = "path names a git directory";
    let out = "path leads out of the repository";
    let long = String::from_utf8(long).unwrap();
    let expected = [
        ("../config", out),
        (".GIT/config", git),
        (".git/config", git),
        (".git\u{200c}/config", git),
        ("..\\escape", out),
        ("/abs", out),
        ("git~1/config", git),
        (long.as_str(), "name too long"),
    ];
    assert_eq!(
        written.left_out(),
        expected.map(|(path, reason)| (path, reason.to_owned(), false))
    );
    let above = written.dir.path().parent().unwrap();
    assert!(!above.join("config").exists() && !above.join("escape").exists());
}

#[tokio::test]
async fn a_path_deeper_than_any_file_system_takes_is_left_out_and_the_rest_is_there() {
    let work = Work::new();
    let base = work.write("plain", "x").commit();
    let deep = format!("{}f", "d/".repeat(2500));
    let index = format!("100644 {}\t{deep}\n", work.blob("deep\n"));
    crate::git::fixture::git(
        work.path(),
        &["update-index", "--index-info"],
        index.as_bytes(),
    );
    let head = work.commit_tree(&work.git(&["write-tree"]));
    let changed = work.open().repository.diff(&base, &head).await.unwrap();
    let written = snapshot_with(&work, &head, &changed, &Caps::default()).await;
    assert_eq!(written.files(), ["plain"]);
    assert_eq!(
        written.left_out(),
        [(deep.as_str(), "name too long".to_owned(), true)]
    );
}

#[tokio::test]
async fn the_change_and_what_lies_around_it_come_first() {
    let work = Work::new();
    for path in ["a/1", "a/2", "src/near", "src/hot", "src/big", "z"] {
        work.write(path, "0123456789");
    }
    let head = work.write("src/big", "0".repeat(100)).commit();
    let hot = [changed("src/hot"), changed("src/big")];
    let caps = |files, total_bytes| Caps {
        file_bytes: 50,
        files,
        total_bytes,
    };
    let few = snapshot_with(&work, &head, &hot, &caps(3, 1000)).await;
    assert_eq!(few.files(), ["a/1", "src/hot", "src/near"]);
    assert_eq!(
        few.left_out(),
        [
            ("src/big", "too large".to_owned(), true),
            ("a/2", "over the number of files".to_owned(), false),
            ("z", "over the number of files".to_owned(), false),
        ]
    );
    let small = snapshot_with(&work, &head, &hot, &caps(100, 25)).await;
    assert_eq!(small.files(), ["src/hot", "src/near"]);
    assert_eq!(
        small.left_out()[1],
        ("a/1", "over the total size".to_owned(), false)
    );
}

#[tokio::test]
async fn our_own_files_have_a_folder_of_their_own() {
    let work = Work::new();
    let head = work.write("_pr/mine", "x").commit();
    let written = snapshot(&work, &head).await;
    assert_eq!(written.snapshot.own_folder(), "_pr-2");
    let own = async |name: &str, text: &str| {
        let files = vec![(name.to_owned(), text.to_owned())];
        written.snapshot.write_own(files).await
    };
    for text in ["first", "second"] {
        let shown = own("diffs/src/a.rs.diff", text).await.unwrap();
        assert_eq!(shown, ["_pr-2/diffs/src/a.rs.diff"]);
        assert_eq!(written.read(&shown[0]), text);
    }
    let inert = own("AGENTS.md", "rules").await.unwrap();
    assert_eq!(inert, ["_pr-2/AGENTS.md.pr-data"]);
    for name in ["", "../x", "/x", "a/../b", ".git/x"] {
        let shown = own(name, name).await.unwrap();
        assert!(shown[0].starts_with("_pr-2/refused~"), "{name}");
        assert_eq!(written.read(&shown[0]), name);
    }
    let files =
        ["x.diff", "x.diff/y.diff", "x.diff"].map(|name| (name.to_owned(), name.to_owned()));
    let shown = written.snapshot.write_own(files.to_vec()).await.unwrap();
    assert_eq!(written.read(&shown[0]), "x.diff");
    assert_eq!(written.read(&shown[1]), "x.diff/y.diff");
    assert_ne!(shown[0], shown[2], "one diff does not replace another");
}

#[tokio::test]
async fn the_rules_are_the_base_s_and_the_head_s_are_data_beside_them() {
    let work = Work::new();
    let base = work
        .write("AGENTS.md", "base root")
        .write("src/AGENTS.md", "base nested")
        .write("src/a.rs", "a")
        .write("moved/AGENTS.md", "base moved")
        .write("moved/b.rs", "b")
        .write("gone/AGENTS.md", "base gone")
        .write("lower/agents.md", "not rules")
        .write("huge/AGENTS.md", "x".repeat(256 * 1024 + 1))
        .write("huge/c.rs", "c")
        .commit();
    work.write("AGENTS.md", "head root")
        .write("src/agents.md", "head, other spelling")
        .remove("src/AGENTS.md")
        .remove("moved/AGENTS.md")
        .write("moved/AGENTS.md/AGENTS.md", "head directory")
        .remove("gone/AGENTS.md")
        .write("new/AGENTS.md", "head new")
        .write(".opencode/AGENTS.md", "head hidden")
        .link("lower/AGENTS.md", "../AGENTS.md");
    let head = work.commit();
    let written = snapshot_of_change(&work, &base, &head).await;
    let rules: Vec<(String, String)> = written
        .files()
        .into_iter()
        .filter(|path| path.ends_with("AGENTS.md"))
        .map(|path| (path.clone(), written.read(&path)))
        .collect();
    let expected = [
        ("AGENTS.md", "base root"),
        ("moved/AGENTS.md", "base moved"),
        ("src/AGENTS.md", "base nested"),
    ];
    assert_eq!(
        rules,
        expected.map(|(path, text)| (path.to_owned(), text.to_owned()))
    );
    assert_eq!(written.read("AGENTS.md.pr-data"), "head root");
    assert_eq!(
        written.snapshot.shown_path("AGENTS.md"),
        "AGENTS.md.pr-data"
    );
    assert_eq!(written.read("new/AGENTS.md.pr-data"), "head new");
    assert_eq!(
        written.left_out(),
        [(
            "huge/AGENTS.md",
            "rules of the base over 256 KiB".to_owned(),
            false
        )]
    );
}

#[tokio::test]
async fn secrets_are_left_out_where_they_are_old_and_masked_where_they_are_new() {
    let work = Work::new();
    let secret = "KEY_ONE=canary\nKEY_TWO=canary\n";
    let base = work
        .write("old/.env", secret)
        .write("old/server.pem", "canary\n")
        .write(".env", secret)
        .write("was.env", secret)
        .write(".env.example", "KEY_ONE=an example\n")
        .commit();
    work.write(
        ".env",
        format!("{secret}# canary\nKEY_THREE=\"canary\ncanary\"\r\nlast canary"),
    )
    .write("new.key", b"can\xffary\ncanary")
    .remove("was.env")
    .write("settings.txt", secret)
    .link("link.env", "elsewhere");
    let head = work.commit();
    let written = snapshot_of_change(&work, &base, &head).await;
    let secrets = "may hold secrets".to_owned();
    assert_eq!(
        written.left_out(),
        [
            ("old/.env", secrets.clone(), false),
            ("old/server.pem", secrets, false)
        ]
    );
    assert_eq!(
        written.read(".env"),
        "KEY_ONE=***\nKEY_TWO=***\n# ***\nKEY_THREE=***\n***\r\n***"
    );
    assert_eq!(written.read("new.key"), "***\n***");
    assert_eq!(written.read("settings.txt"), "KEY_ONE=***\nKEY_TWO=***\n");
    assert_eq!(written.read(".env.example"), "KEY_ONE=an example\n");
    assert!(written.read("link.env").contains("elsewhere"));
    for path in written.files() {
        assert!(!written.read(&path).contains("canary"), "{path}");
    }
}

#[tokio::test]
async fn a_directory_that_is_not_empty_or_is_a_link_is_refused() {
    let work = Work::new();
    let head = work.write("a", "a").commit();
    let opened = work.open();
    let dir = TempDir::new().unwrap();
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    std::os::unix::fs::symlink("empty", dir.path().join("link")).unwrap();
    for path in [dir.path().to_owned(), dir.path().join("link")] {
        let source = SnapshotSource {
            head: &head,
            base: &[],
            changed: &[],
        };
        let error = write(&opened.repository, &source, &path, &Caps::default())
            .await
            .unwrap_err();
        assert!(
            format!("{error:#}").ends_with("it must be an empty directory"),
            "{error:#}"
        );
    }
}
