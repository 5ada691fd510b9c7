//! A reviewer reads: pages of files, comparisons, permissions, git objects.

use std::process::Command;

use data_encoding::BASE64;
use serde_json::json;

use super::{REPOSITORY, get, numbered, pulls, small_pull};
use crate::standin::github::{Change, GitHub};

#[test]
fn two_hundred_and_fifty_files_come_in_three_pages() {
    let github = GitHub::start("octo/shop");
    let base = github.commit("main", &[], &[Change::write("README.md", "shop\n")]);
    let files: Vec<_> = (0..250)
        .map(|number| Change::write(&format!("f/{number:03}"), "new\n"))
        .collect();
    github.commit("feature", &[&base], &files);
    github.open_pull("dev", "feature", "main");

    let mut next = Some(pulls("1/files?per_page=100"));
    let mut pages = Vec::new();
    while let Some(path) = next {
        let answer = get(&github, &path);
        pages.push(answer.json.as_array().unwrap().len());
        let link = answer
            .link
            .split(", ")
            .find(|link| link.ends_with("rel=\"next\""))
            .map(str::to_owned);
        next = link.and_then(|link| link.split(['<', '>']).nth(1).map(str::to_owned));
    }
    assert_eq!(pages, [100, 100, 50]);
    assert_eq!(
        get(&github, &pulls("1/files"))
            .json
            .as_array()
            .unwrap()
            .len(),
        30
    );
    assert_eq!(get(&github, &pulls("1")).json["changed_files"], 250);
    github.finish();
}

#[test]
fn every_kind_of_change_is_listed_as_github_lists_it() {
    let github = GitHub::start("octo/shop");
    let long = "a line that stays\n".repeat(30);
    let base = github.commit(
        "main",
        &[],
        &[
            Change::write("gone.txt", "gone\n"),
            Change::write("old name.txt", long.clone()),
            Change::write("kept.txt", "one\ntwo\n"),
            Change::write("tool.sh", "#!/bin/sh\n"),
        ],
    );
    let changes = [
        Change::remove("gone.txt"),
        Change::rename("old name.txt", "new name.txt"),
        Change::write("kept.txt", "one\n2\n"),
        Change::write("picture.png", vec![0_u8, 159, 146, 150]),
        Change::write("größe.txt", "neu"),
        Change::executable("tool.sh", "#!/bin/sh\n"),
        Change::symlink("link", "kept.txt"),
    ];
    github.commit("feature", &[&base], &changes);
    github.open_pull("dev", "feature", "main");
    let listed = get(&github, &pulls("1/files")).json;
    let find = |name: &str| {
        listed
            .as_array()
            .unwrap()
            .iter()
            .find(|file| file["filename"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(find("gone.txt")["status"], "removed");
    let renamed = find("new name.txt");
    assert_eq!(
        (&renamed["status"], &renamed["previous_filename"]),
        (&json!("renamed"), &json!("old name.txt"))
    );
    assert!(renamed.get("patch").is_none() && find("picture.png").get("patch").is_none());
    assert!(find("tool.sh").get("patch").is_none());
    assert_eq!(find("kept.txt")["patch"], "@@ -1,2 +1,2 @@\n one\n-two\n+2");
    assert_eq!(
        find("größe.txt")["patch"],
        "@@ -0,0 +1 @@\n+neu\n\\ No newline at end of file"
    );
    assert_eq!(find("link")["status"], "added");
    github.finish();
}

#[test]
fn the_diff_starts_at_the_merge_base() {
    let (github, pull, head) = small_pull();
    let old = github.pull(pull, |pull| pull.base.sha.clone());
    let moved = github.commit("main", &[&old], &[Change::write("b.txt", "b moved on\n")]);
    github.pull(pull, |pull| pull.base.sha.clone_from(&moved));
    let files = get(&github, &pulls("1/files")).json;
    assert_eq!(
        files.as_array().unwrap().len(),
        1,
        "what main did is not part of it: {files}"
    );
    let compared = get(&github, &format!("{REPOSITORY}/compare/{moved}...{head}")).json;
    assert_eq!(compared["merge_base_commit"]["sha"], old);
    assert_eq!(
        (&compared["status"], &compared["ahead_by"]),
        (&json!("diverged"), &json!(1))
    );
    assert_eq!(
        get(
            &github,
            &format!("{REPOSITORY}/compare/{}...{head}", "0".repeat(40))
        )
        .status,
        404
    );
    assert_eq!(get(&github, &pulls("1/commits")).json[0]["sha"], head);
    assert_eq!(get(&github, &pulls("2")).status, 404);
    assert_eq!(get(&github, "/repos/octo/other/pulls/1").status, 404);
    github.finish();
}

#[test]
fn permissions_are_told_by_login() {
    let (github, _, _) = small_pull();
    let permission = |login: &str| {
        get(
            &github,
            &format!("{REPOSITORY}/collaborators/{login}/permission"),
        )
        .json["permission"]
            .clone()
    };
    assert_eq!(permission("writer"), "write");
    assert_eq!(permission("octo"), "admin");
    assert_eq!(
        permission("github-actions%5Bbot%5D"),
        "read",
        "the repository is public"
    );
    github.with(|state| state.repository.private = true);
    assert_eq!(permission("stranger"), "none");
    github.finish();
}

#[test]
fn an_unknown_query_parameter_is_a_violation() {
    let (github, _, _) = small_pull();
    assert_eq!(get(&github, &pulls("1/files?perpage=100")).status, 200);
    assert!(github.take_violations()[0].contains("perpage"));
    get(&github, &pulls("1/comments?sort=alphabet"));
    assert!(github.take_violations()[0].contains("alphabet"));
    github.finish();
}

#[test]
fn git_fetches_single_commits_with_the_token_only() {
    let (github, _, head) = small_pull();
    let target = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(target.path()).args(arguments);
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap()
    };
    assert!(git(&["init", "--bare", "--quiet"]).status.success());
    let url = format!("{}/octo/shop.git", github.url());
    let fetch = |token: &str| {
        let credentials = BASE64.encode(format!("x-access-token:{token}").as_bytes());
        let header = format!("http.extraHeader=Authorization: basic {credentials}");
        git(&["-c", &header, "fetch", "--quiet", "--depth=1", &url, &head])
    };
    assert!(!fetch("unknown").status.success());
    let fetched = fetch(GitHub::TOKEN);
    assert!(
        fetched.status.success(),
        "{}",
        String::from_utf8_lossy(&fetched.stderr)
    );
    let file = git(&["show", &format!("{head}:src/a.ts")]);
    assert!(String::from_utf8_lossy(&file.stdout).contains("changed"));
    let heads = git(&["-c", "http.extraHeader=", "ls-remote", &url]);
    assert!(!heads.status.success());
    github.finish();
}

#[test]
fn a_file_is_given_as_a_commit_has_it() {
    let (github, _, head) = small_pull();
    let content = |reference: &str| {
        let path = format!("{REPOSITORY}/contents/src/a.ts{reference}");
        let json = get(&github, &path).json;
        let bytes = BASE64.decode(json["content"].as_str().unwrap().as_bytes());
        String::from_utf8(bytes.unwrap()).unwrap()
    };
    assert!(content("").contains("line 5\n"));
    assert!(content(&format!("?ref={head}")).contains("changed\n"));
    for missing in ["src/none.ts", "src", "src/a.ts?ref=nobranch"] {
        let answer = get(&github, &format!("{REPOSITORY}/contents/{missing}"));
        assert_eq!(answer.status, 404, "{missing}");
    }
    let languages = get(&github, &format!("{REPOSITORY}/languages")).json;
    assert_eq!(languages, json!({ "TypeScript": numbered(&[]).len() }));
    // As to every token of a workflow.
    assert_eq!(get(&github, "/user").status, 403);
    github.finish();
}
