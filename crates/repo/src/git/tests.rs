//! Git as a run uses it, on real repositories.

mod changes;
mod taking;
mod walker;

use super::fixture::{self, Work, environment, open};
use super::*;
use std::path::PathBuf;
use tempfile::TempDir;

/// A remote that must not be needed: nothing listens there.
fn nowhere() -> Remote {
    Remote {
        url: "http://127.0.0.1:9/repo".to_owned(),
        token: Some(SecretString::from("wrong-token-0123456789")),
    }
}

fn remote(url: String, token: &str) -> Remote {
    Remote {
        url,
        token: Some(SecretString::from(token)),
    }
}

/// Two commits: the first has a file that the second no longer has.
fn history() -> (Work, CommitSha, CommitSha) {
    let work = Work::new();
    let base = work
        .write("a.txt", "one\n")
        .write("gone.txt", "old\n")
        .commit();
    let head = work.write("a.txt", "two\n").remove("gone.txt").commit();
    (work, base, head)
}

fn clone(work: &Work, options: &[&str]) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    work.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", work.path().display());
    let args = [&["clone", "--quiet"], options, &[url.as_str(), "clone"]].concat();
    fixture::git(dir.path(), &args, &[]);
    let path = dir.path().join("clone");
    (dir, path)
}

#[tokio::test]
async fn a_full_checkout_is_used_as_it_is() {
    let (work, base, head) = history();
    let opened = work.open();
    let source = opened
        .repository
        .ensure(&[&base, &head], &nowhere())
        .await
        .unwrap();
    assert_eq!(source, ObjectSource::Workspace);
    assert_eq!(opened.repository.diff(&base, &head).await.unwrap().len(), 2);
}

#[tokio::test]
async fn shallow_and_partial_checkouts_are_completed_by_a_fetch() {
    let (work, base, head) = history();
    let url = fixture::serve(work.path(), "t0ken").await;
    for options in [
        &["--depth=1"][..],
        &["--filter=blob:none"],
        &["--filter=tree:0", "--bare"],
    ] {
        let (_dir, path) = clone(&work, options);
        let opened = open(Some(&path));
        assert!(
            !opened
                .repository
                .is_complete(&[&base, &head])
                .await
                .unwrap(),
            "{options:?}"
        );
        let source = opened
            .repository
            .ensure(&[&base, &head], &remote(url.clone(), "t0ken"))
            .await;
        assert_eq!(source.unwrap(), ObjectSource::Fetched, "{options:?}");
        assert_eq!(opened.repository.diff(&base, &head).await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn without_a_checkout_the_two_commits_are_fetched_once() {
    let (work, base, head) = history();
    let url = fixture::serve(work.path(), "t0ken").await;
    let opened = open(None);
    let repository = &opened.repository;
    let ensured = repository
        .ensure(&[&base, &head], &remote(url, "t0ken"))
        .await;
    assert_eq!(ensured.unwrap(), ObjectSource::Fetched);
    assert_eq!(
        repository.ensure(&[&head], &nowhere()).await.unwrap(),
        ObjectSource::Fetched
    );
    let old = repository.file(&base, "gone.txt", 100).await.unwrap();
    assert_eq!(old.as_deref(), Some("old\n"));
}

#[tokio::test]
async fn a_refused_token_is_said_in_one_sentence_and_never_shown() {
    let (work, base, head) = history();
    let url = fixture::serve(work.path(), "t0ken").await;
    let secret = "wrong-token-0123456789";
    for remote in [nowhere(), remote(url, secret)] {
        let error = open(None)
            .repository
            .ensure(&[&base, &head], &remote)
            .await
            .unwrap_err();
        let text = format!("{error:#} {error:?}");
        assert!(
            text.starts_with("cannot fetch the commits of the pull request from http://127."),
            "{text}"
        );
        let encoded = data_encoding::BASE64.encode(format!("x-access-token:{secret}").as_bytes());
        assert!(!text.contains(secret) && !text.contains(&encoded), "{text}");
    }
}

#[tokio::test]
async fn only_http_is_fetched_from_and_credentials_in_an_address_are_not_shown() {
    let (work, base, _) = history();
    let opened = open(None);
    let local = format!("file://{}", work.path().display());
    for url in [
        local.as_str(),
        "ext::touch x",
        "--upload-pack=touch",
        "git@github.com:acme/shop",
    ] {
        let error = opened
            .repository
            .ensure(&[&base], &remote(url.to_owned(), "t"))
            .await;
        let text = format!("{:#}", error.unwrap_err());
        assert!(
            text.ends_with("the address must start with https:// or http://"),
            "{text}"
        );
    }
    let embedded = remote(
        "http://dev:hunter2@127.0.0.1:9/repo".to_owned(),
        "t0ken-long",
    );
    let error = opened
        .repository
        .ensure(&[&base], &embedded)
        .await
        .unwrap_err();
    assert!(!format!("{error:#}").contains("hunter2"), "{error:#}");
}

#[test]
fn a_machine_without_git_is_told_to_install_it() {
    let dir = TempDir::new().unwrap();
    let env = [("PATH".to_owned(), dir.path().display().to_string())];
    let error = Repository::open(&dir.path().join("repo"), None, &env).unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "git was not found on PATH; install git"
    );
}

#[tokio::test]
async fn a_hostile_workspace_runs_nothing() {
    let (work, _, _) = history();
    let marker = work.path().join("marker");
    let evil = format!("touch {}", marker.display());
    for setting in [
        "core.fsmonitor",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.pager",
        "core.alternateRefsCommand",
        "filter.evil.smudge",
        "credential.helper",
        "core.sshCommand",
    ] {
        work.git(&["config", setting, &evil]);
    }
    work.git(&["config", "core.hooksPath", "hooks"]);
    let base = work
        .write(".gitattributes", "* diff=evil filter=evil\n")
        .commit_quietly();
    let head = work.write("a.txt", "three\n").commit_quietly();
    let _ = std::fs::remove_file(&marker);

    let opened = work.open();
    let repository = &opened.repository;
    repository
        .ensure(&[&base, &head], &nowhere())
        .await
        .unwrap();
    let files = repository.diff(&base, &head).await.unwrap();
    assert_eq!((files.len(), files[0].additions()), (1, 1));
    repository.tree(&head).await.unwrap();
    repository.file(&head, "a.txt", 10).await.unwrap();
    let missing: CommitSha = "1234567890123456789012345678901234567890".parse().unwrap();
    repository
        .ensure(&[&missing], &nowhere())
        .await
        .unwrap_err();
    assert!(!marker.exists());
    work.git(&["diff", base.as_str(), head.as_str()]);
    assert!(marker.exists(), "the trap works on whoever steps into it");
}

#[tokio::test]
async fn foreign_variables_do_not_reach_git() {
    let (work, base, head) = history();
    let dir = TempDir::new().unwrap();
    let marker = dir.path().join("marker");
    let mut env = environment();
    env.push((
        "GIT_EXTERNAL_DIFF".to_owned(),
        format!("touch {}", marker.display()),
    ));
    env.push(("GIT_DIR".to_owned(), "/nonexistent".to_owned()));
    let repository = Repository::open(&dir.path().join("r"), Some(work.path()), &env).unwrap();
    assert_eq!(repository.diff(&base, &head).await.unwrap().len(), 2);
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_workspace_under_an_awkward_name_is_borrowed_all_the_same() {
    let (work, base, head) = history();
    let dir = TempDir::new().unwrap();
    let awkward = dir.path().join("a:b \"c\" \\d");
    std::fs::create_dir(&awkward).unwrap();
    std::fs::rename(work.path().join(".git"), awkward.join(".git")).unwrap();
    let source = open(Some(&awkward))
        .repository
        .ensure(&[&base, &head], &nowhere())
        .await;
    assert_eq!(source.unwrap(), ObjectSource::Workspace);
}

#[tokio::test]
async fn files_are_read_by_their_exact_name() {
    let work = Work::new();
    work.write("-dash", "dash")
        .write(":(glob)*", "magic")
        .write("dir/x", "x")
        .link("link", "-dash");
    let head = work
        .write("latin", b"caf\xe9")
        .write("long", "0123456789")
        .commit();
    let opened = work.open();
    let read = async |path: &str| opened.repository.file(&head, path, 6).await.unwrap();
    assert_eq!(read("-dash").await.as_deref(), Some("dash"));
    assert_eq!(read(":(glob)*").await.as_deref(), Some("magic"));
    assert_eq!(read("latin").await.as_deref(), Some("caf\u{fffd}"));
    assert_eq!(read("long").await.as_deref(), Some("012345"));
    for absent in [
        "",
        "dir",
        "dir/",
        "dir/y",
        "link",
        "../x",
        "/etc/passwd",
        "*",
    ] {
        assert_eq!(
            opened
                .repository
                .file(&head, absent, 6)
                .await
                .unwrap_or(None),
            None,
            "{absent}"
        );
    }
}

#[tokio::test]
async fn many_files_are_read_in_order_and_a_missing_one_is_named() {
    let work = Work::new();
    for n in 0..300 {
        work.write(format!("f{n:03}"), format!("{n}\n").repeat(500));
    }
    let head = work.commit();
    let opened = work.open();
    let tree = opened.repository.tree(&head).await.unwrap();
    let ids: Vec<&str> = tree.iter().map(|entry| entry.id.as_str()).collect();
    let mut seen = Vec::new();
    let collect = |index: usize, content: &[u8]| {
        assert_eq!(content, format!("{index}\n").repeat(500).as_bytes());
        seen.push(index);
        Ok(())
    };
    opened.repository.read_blobs(&ids, collect).await.unwrap();
    assert_eq!(seen, (0..300).collect::<Vec<_>>());
    let missing = "1234567890123456789012345678901234567890";
    let error = opened
        .repository
        .read_blobs(&[missing], |_, _| Ok(()))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), format!("git has no object {missing}"));
}

#[tokio::test]
async fn a_tree_that_repeats_itself_without_end_is_an_error() {
    let work = Work::new();
    let mut tree = work.raw_tree(&[("100644", b"f", &work.blob("x"))]);
    for _ in 0..9 {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let entries = names.map(|name| ("40000", name.as_bytes(), tree.as_str()));
        tree = work.raw_tree(&entries);
    }
    let head = work.commit_tree(&tree);
    let mut opened = work.open();
    opened.repository.git.max_output = 1 << 20;
    let error = opened.repository.tree(&head).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "git ls-tree printed more than 1 MiB; that many files cannot be reviewed"
    );
}

impl Work {
    /// A commit under a configuration that would run things.
    fn commit_quietly(&self) -> CommitSha {
        let plain = ["-c", "core.fsmonitor=false", "-c", "filter.evil.smudge=cat"];
        self.git(&[&plain[..], &["add", "--all"]].concat());
        self.git(&[&plain[..], &["commit", "--quiet", "-m", "x"]].concat());
        self.git(&["rev-parse", "HEAD"]).parse().unwrap()
    }
}
