//! The client against the stand-in: a fix is committed once, and every refusal of GitHub's has its name.

use reviewer_core::domain::{CommitSha, PrKey};
use reviewer_github::{CommitError, Committed, FileAddition, GitHub as Client, NewCommit, NewPull};
use reviewer_system::clock::Clock;
use secrecy::SecretString;
use serde_json::json;

use super::small_pull;
use crate::standin::github::{Act, Change, Fault, GitHub, Identity, Protection, State};

const PUSH_TOKEN: &str = "ghs_pushPushPushPushPushPushPushPush00001";

/// Inside a runtime.
fn client(github: &GitHub) -> Client {
    let (api, graphql) = (
        format!("{}/api/v3", github.url()),
        format!("{}/api/graphql", github.url()),
    );
    let token = SecretString::from(GitHub::TOKEN);
    Client::new(&api, &graphql, &token, Clock::scaled(0.001), &[]).unwrap()
}

fn run<T>(asked: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(asked)
}

fn key() -> PrKey {
    PrKey {
        repo: "octo/shop".parse().unwrap(),
        number: 1,
    }
}

fn fix(head: &str) -> NewCommit {
    NewCommit {
        repo: key().repo,
        branch: "feature".to_owned(),
        expected_head: head.parse().unwrap(),
        headline: "Fix 1 review finding".to_owned(),
        body: "https://x/review\n\nReview-Finding: f1".to_owned(),
        additions: vec![FileAddition {
            path: "src/a.ts".to_owned(),
            contents: b"caf\xe9\r\n".to_vec(),
        }],
        deletions: vec!["b.txt".to_owned()],
    }
}

fn push(github: &GitHub, commit: &NewCommit) -> Result<Committed, CommitError> {
    run(async { client(github).create_commit_on_branch(commit).await })
}

fn head_of(github: &GitHub, branch: &str) -> Option<String> {
    github.with(|state| state.branch_head(branch))
}

#[test]
fn a_fix_is_on_the_branch_byte_for_byte() {
    let (github, _, head) = small_pull();
    let made = push(&github, &fix(&head)).unwrap();
    assert!(!made.already);
    let (_, sha, _) = github.expect_commit();
    assert_eq!(sha, made.sha.as_str());
    github.with(|state| {
        let tree = state.git.must(&["rev-parse", &format!("{sha}^{{tree}}")]);
        assert_eq!(tree, made.tree);
        let blob = ["cat-file", "blob", &format!("{sha}:src/a.ts")];
        assert_eq!(state.git.feed(&blob, b"").unwrap(), b"caf\xe9\r\n");
    });
    let (pull, commits) = run(async {
        let client = client(&github);
        let pull = client.pull_request(&key()).await.unwrap();
        (pull, client.commits(&key()).await.unwrap())
    });
    assert_eq!(pull.head_sha, made.sha);
    let last = commits.last().unwrap();
    assert_eq!(last.parents, [head.parse::<CommitSha>().unwrap()]);
    assert_eq!(
        last.author.as_ref().unwrap().as_str(),
        "github-actions[bot]"
    );
    github.finish();
}

#[test]
fn a_commit_whose_answer_is_lost_is_made_once() {
    let sorry = "Something went wrong while executing your query.";
    let accident = json!({ "data": null, "errors": [{ "message": sorry }] });
    for (fault, already) in [
        (Fault::ApplyThenDrop, true),
        (Fault::ApplyThenStatus(502, json!({})), true),
        (Fault::ApplyThenStatus(200, accident.clone()), true),
        (Fault::Halved, true),
        (Fault::Drop, false),
        (Fault::Status(200, accident), false),
    ] {
        let (github, _, head) = small_pull();
        github.on_graphql("createCommitOnBranch", 1, fault.clone());
        let made = push(&github, &fix(&head)).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!(made.already, already, "{fault:?}");
        let (_, sha, _) = github.expect_commit();
        assert_eq!(sha, made.sha.as_str());
        assert_eq!(head_of(&github, "feature"), Some(sha));
        assert_eq!(github.struck(), [1]);
        github.finish();
    }
}

#[test]
fn a_lost_answer_with_a_push_on_top_is_still_one_commit() {
    let (github, _, head) = small_pull();
    github.on_graphql("createCommitOnBranch", 1, Fault::ApplyThenDrop);
    github.on_graphql("history(", 1, Fault::Status(502, json!({})));
    let act = Act::new(|state: &mut State| {
        let head = state.branch_head("feature").expect("the branch");
        let at = state.epoch_seconds();
        let change = [Change::write("c.txt", "c\n")];
        state.git.commit("feature", &[&head], "On top", at, &change);
    });
    github.on_graphql("history(", 1, Fault::Meanwhile(act));
    let made = push(&github, &fix(&head)).unwrap();
    assert!(made.already);
    let (_, sha, _) = github.expect_commit();
    assert_eq!(sha, made.sha.as_str());
    // The run after a killed one asks for the same commit.
    let again = push(&github, &fix(&head)).unwrap();
    assert_eq!((again.sha, again.already), (made.sha, true));
    assert_ne!(head_of(&github, "feature"), Some(sha));
    github.finish();
}

#[test]
fn a_push_in_between_keeps_the_commit_off_the_branch() {
    let (github, number, head) = small_pull();
    let theirs = github.commit("feature", &[&head], &[Change::write("c.txt", "c\n")]);
    github.push(number, &theirs);
    let error = push(&github, &fix(&head)).expect_err("it moved");
    let now = Some(theirs.parse().unwrap());
    assert!(
        matches!(&error, CommitError::StaleHead { head, .. } if *head == now),
        "{error}"
    );
    assert_eq!(head_of(&github, "feature"), Some(theirs));
    github.finish();
}

#[test]
fn every_refusal_of_a_commit_has_its_name() {
    let (github, number, head) = small_pull();
    let name = |commit: &NewCommit| {
        let error = push(&github, commit).expect_err("a refusal");
        let name = format!("{error:?}");
        let end = name.find(|c: char| !c.is_alphanumeric());
        name[..end.unwrap_or(name.len())].to_owned()
    };
    let usual = fix(&head);
    for ruleset in [false, true] {
        let rules = Protection {
            ruleset,
            needs_pull_request: true,
            ..Protection::default()
        };
        github.protect("feature", rules);
        assert_eq!(name(&usual), "Protected");
    }
    github.with(|state| state.repository.protections.clear());
    github.enqueue(number);
    assert_eq!(name(&usual), "Queued");
    github.with(|state| state.queue.clear());
    let at = |path: &str| {
        let mut commit = fix(&head);
        commit.additions[0].path = path.to_owned();
        commit
    };
    assert_eq!(name(&at(".github/workflows/ci.yml")), "WorkflowFiles");
    assert_eq!(name(&at("../x")), "Refused");
    assert_eq!(name(&at("/x")), "Refused");
    let mut missing = fix(&head);
    missing.deletions.push("missing.txt".to_owned());
    assert_eq!(name(&missing), "Refused");
    github.token(
        GitHub::TOKEN,
        Identity::github_actions(&["contents:read", "pull-requests:write"]),
    );
    assert_eq!(name(&usual), "NotPermitted");
    github.token(GitHub::TOKEN, Identity::github_actions(&["contents:write"]));
    assert_eq!(head_of(&github, "feature"), Some(head));
    github.delete_branch("feature");
    assert_eq!(name(&usual), "BranchGone");
    github.finish();
}

#[test]
fn the_push_token_commits_under_its_own_name_and_starts_workflows() {
    let (github, _, head) = small_pull();
    github.token(PUSH_TOKEN, Identity::app("fixer", &["contents:write"]));
    // The other token could not.
    let permissions = ["contents:read", "pull-requests:write"];
    github.token(GitHub::TOKEN, Identity::github_actions(&permissions));
    github.on_graphql("createCommitOnBranch", 1, Fault::ApplyThenDrop);
    let made = run(async {
        let token = SecretString::from(PUSH_TOKEN);
        let client = client(&github).with_push_token(&token).unwrap();
        client.create_commit_on_branch(&fix(&head)).await
    });
    assert!(made.unwrap().already);
    github.expect_commit();
    let happened = github.take_happenings();
    assert!(
        happened
            .iter()
            .all(|one| one.starts && one.actor == "fixer[bot]")
    );
    assert_eq!(happened.len(), 2);
    let wrong = run(async {
        let token = SecretString::from("ghs_unknown");
        let client = client(&github).with_push_token(&token).unwrap();
        client.create_commit_on_branch(&fix(&head)).await
    });
    assert_eq!(wrong, Err(CommitError::PushToken));
    github.finish();
}

#[test]
fn the_right_to_commit_is_known_beforehand_and_nothing_is_committed() {
    let (github, _, head) = small_pull();
    let may = |branch: &str| {
        run(async { client(&github).may_commit(&key().repo, branch).await })
            .map_err(|error| error.to_string())
    };
    assert_eq!(may("feature"), Ok(true));
    assert_eq!(
        may("gone"),
        Err("There is no branch gone any more.".to_owned())
    );
    github.token(GitHub::TOKEN, Identity::github_actions(&["contents:read"]));
    assert_eq!(may("feature"), Ok(false));
    assert_eq!(head_of(&github, "feature"), Some(head));
    github.finish();
}

#[test]
fn a_stacked_pull_request_is_made_once_however_often_it_is_asked_for() {
    let (github, _, head) = small_pull();
    github.with(|state| state.repository.actions_may_approve = true);
    github.on(
        http::Method::POST,
        "/repos/octo/shop/git/refs",
        1,
        Fault::ApplyThenDrop,
    );
    github.on_graphql("createCommitOnBranch", 1, Fault::ApplyThenDrop);
    github.on(
        http::Method::POST,
        "/repos/octo/shop/pulls",
        1,
        Fault::ApplyThenDrop,
    );
    let new = NewPull {
        head: "opencode-reviewer/fix-1".to_owned(),
        base: "feature".to_owned(),
        title: "Fix 1 review finding".to_owned(),
        body: "One.\n\n<!-- rmcoc:fix x -->".to_owned(),
    };
    let mut commit = fix(&head);
    commit.branch.clone_from(&new.head);
    let mut numbers = Vec::new();
    for _ in 0..2 {
        numbers.push(run(async {
            let client = client(&github);
            let repo = key().repo;
            let at = client.create_branch(&repo, &new.head, &commit.expected_head);
            at.await.unwrap();
            client.create_commit_on_branch(&commit).await.unwrap();
            client
                .create_pull_request(&repo, &new)
                .await
                .unwrap()
                .number
        }));
    }
    assert_eq!(numbers, [2, 2]);
    assert_eq!(github.expect_branch().1, head);
    github.expect_commit();
    assert_eq!(github.expect_pull(), 2);
    assert_eq!(head_of(&github, "feature"), Some(head));

    github.with(|state| state.repository.actions_may_approve = false);
    let error = run(async { client(&github).create_pull_request(&key().repo, &new).await });
    assert!(error.expect_err("a setting").forbids_actions_pulls());
    github.finish();
}

#[test]
fn labels_rules_and_the_queue_are_what_github_says() {
    let (github, number, _) = small_pull();
    github.protect(
        "main",
        Protection {
            required_checks: vec!["test".into()],
            ..Protection::default()
        },
    );
    github.protect(
        "feature",
        Protection {
            ruleset: true,
            needs_pull_request: true,
            required_checks: vec!["lint".into()],
            ..Protection::default()
        },
    );
    github.enqueue(number);
    let (main, feature) = run(async {
        let client = client(&github);
        client
            .add_label(&key(), "human-review-required")
            .await
            .unwrap();
        client.remove_label(&key(), "no-fix").await.unwrap();
        assert!(client.is_queued(&key()).await.unwrap());
        let repo = key().repo;
        let main = client.branch_rules(&repo, "main").await.unwrap();
        (main, client.branch_rules(&repo, "feature").await.unwrap())
    });
    assert_eq!(main.required_checks, ["test"]);
    assert!(main.protected && !main.needs_pull_request);
    assert_eq!(feature.required_checks, ["lint"]);
    assert!(feature.needs_pull_request && feature.refuses_pushes());
    assert_eq!(github.expect_labels(), ["human-review-required"]);
    github.token(
        GitHub::TOKEN,
        Identity::github_actions(&["pull-requests:read"]),
    );
    let error = run(async { client(&github).add_label(&key(), "x").await });
    assert!(error.expect_err("no permission").is_permission());
    github.finish();
}
