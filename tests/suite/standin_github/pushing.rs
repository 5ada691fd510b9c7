//! What a token pushes, labels and opens: real commits, GitHub's refusals, and the events that follow or do not.

use data_encoding::BASE64;
use http::Method;
use serde_json::{Value, json};

use super::answers::valid;
use super::{REPOSITORY, get, graphql, pulls, small_pull, try_call};
use crate::standin::github::{Change, GitHub, Identity, Protection, events};

const COMMIT: &str = "mutation($input: CreateCommitOnBranchInput!) {
  createCommitOnBranch(input: $input) { commit { oid tree { oid } } ref { name target { oid } } }
}";

const APP: &str = "ghs_appAppAppAppAppAppAppAppAppAppApp0001";
const PERSON: &str = "github_pat_personPersonPersonPerson0001";

/// The input of a commit that writes these files.
fn input(head: &str, files: &[(&str, &str)]) -> Value {
    let additions = files.iter().map(|(path, text)| {
        let contents = BASE64.encode(text.as_bytes());
        json!({ "path": path, "contents": contents })
    });
    json!({
        "branch": { "repositoryNameWithOwner": "octo/shop", "branchName": "feature" },
        "expectedHeadOid": head,
        "message": { "headline": "Fix it", "body": "Why.\n\nReview-Finding: f1" },
        "fileChanges": { "additions": additions.collect::<Vec<_>>() },
    })
}

fn commit(github: &GitHub, token: &str, input: &Value) -> Value {
    let body = json!({ "query": COMMIT, "variables": { "input": input } });
    let answer = try_call(github, token, Method::POST, "/graphql", Some(&body));
    answer.expect("an answer").json
}

fn made(answer: &Value) -> String {
    let oid = answer["data"]["createCommitOnBranch"]["commit"]["oid"].as_str();
    oid.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn a_commit_made_by_github_is_a_real_one() {
    let (github, number, head) = small_pull();
    let files = [
        Change::executable("run.sh", "echo 1\n"),
        Change::executable("other.sh", "echo 2\n"),
    ];
    let head = github.commit("feature", &[&head], &files);
    github.push(number, &head);
    let mut wanted = input(&head, &[("run.sh", "echo 3\n"), ("src/new.ts", "new\n")]);
    wanted["fileChanges"]["deletions"] = json!([{ "path": "b.txt" }]);
    let answer = commit(&github, GitHub::TOKEN, &wanted);
    let sha = made(&answer);
    let target = &answer["data"]["createCommitOnBranch"]["ref"]["target"]["oid"];
    assert_eq!(*target, json!(sha));
    github.with(|state| {
        let git = |args: &[&str]| state.git.must(args);
        assert_eq!(git(&["rev-parse", "refs/heads/feature"]), sha);
        assert_eq!(git(&["rev-parse", &format!("{sha}^@")]), head);
        let files = git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", &sha]);
        let modes = "100755 other.sh\n100644 run.sh\n100644 src/a.ts\n100644 src/new.ts";
        assert_eq!(files, modes, "what was written has lost its mode");
        assert_eq!(
            git(&["cat-file", "blob", &format!("{sha}:run.sh")]),
            "echo 3"
        );
        assert_eq!(state.pulls[&number].head.sha, sha);
    });
    let shown = get(&github, &format!("{REPOSITORY}/commits/{sha}")).json;
    valid("get", "/commits/{ref}", 200, &shown);
    assert_eq!(shown["author"]["login"], "github-actions[bot]");
    assert_eq!(shown["committer"]["login"], "web-flow");
    assert_eq!(shown["commit"]["verification"]["verified"], true);
    assert_eq!(
        shown["commit"]["message"],
        "Fix it\n\nWhy.\n\nReview-Finding: f1"
    );
    let (branch, expected, json) = github.expect_commit();
    assert_eq!(
        (branch.as_str(), &expected, &json),
        ("feature", &sha, &wanted)
    );

    let credentials = BASE64.encode(format!("x-access-token:{}", GitHub::TOKEN).as_bytes());
    let fetched = std::process::Command::new("git")
        .args([
            "-c",
            &format!("http.extraHeader=Authorization: Basic {credentials}"),
        ])
        .args(["ls-remote", &format!("{}/octo/shop.git", github.url())])
        .arg(format!("refs/pull/{number}/head"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .unwrap();
    let listed = String::from_utf8(fetched.stdout).unwrap();
    assert!(listed.starts_with(&sha), "{listed}");
    github.finish();
}

#[test]
fn a_commit_that_github_refuses_changes_nothing() {
    let (github, _, head) = small_pull();
    let base = github.with(|state| state.git.must(&["rev-parse", "main"]));
    let permissions = ["contents:read", "pull-requests:write"];
    github.token("ghs_reader", Identity::github_actions(&permissions));
    github.token(PERSON, Identity::person("reader", &permissions));
    let usual = input(&head, &[("src/a.ts", "x\n")]);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut changed = usual.clone();
        change(&mut changed);
        changed
    };
    let at = |path: &str| input(&head, &[(path, "x\n")]);
    let stale = with(&|one| one["expectedHeadOid"] = json!(base));
    let gone = with(&|one| one["branch"]["branchName"] = json!("gone"));
    let fork = with(&|one| one["branch"]["repositoryNameWithOwner"] = json!("dev/shop"));
    let missing = with(&|one| one["fileChanges"]["deletions"] = json!([{ "path": "src" }]));
    for (token, wanted, kind, words) in [
        (
            GitHub::TOKEN,
            stale,
            "STALE_DATA",
            "Expected branch to point to",
        ),
        ("ghs_reader", usual.clone(), "FORBIDDEN", "by integration"),
        (
            PERSON,
            usual.clone(),
            "FORBIDDEN",
            "by personal access token",
        ),
        (GitHub::TOKEN, gone, "NOT_FOUND", "does not exist"),
        (
            GitHub::TOKEN,
            fork,
            "NOT_FOUND",
            "Could not resolve to a Repository",
        ),
        (
            GitHub::TOKEN,
            missing,
            "NOT_FOUND",
            "requested for deletion",
        ),
        (GitHub::TOKEN, at("src/../x"), "UNPROCESSABLE", "malformed"),
        (GitHub::TOKEN, at("/src/x"), "UNPROCESSABLE", "malformed"),
        (
            GitHub::TOKEN,
            at(".GIT/config"),
            "UNPROCESSABLE",
            "malformed",
        ),
        (GitHub::TOKEN, at("src"), "UNPROCESSABLE", "is a folder"),
        (
            GitHub::TOKEN,
            at("src/a.ts/x"),
            "UNPROCESSABLE",
            "lies in a file",
        ),
        (
            GitHub::TOKEN,
            at(".github/workflows/ci.yml"),
            "FORBIDDEN",
            "without `workflows` permission",
        ),
    ] {
        let answer = commit(&github, token, &wanted);
        let error = &answer["errors"][0];
        assert_eq!(error["type"], kind, "{wanted}: {answer}");
        assert!(
            error["message"].as_str().unwrap().contains(words),
            "{answer}"
        );
        assert!(answer["data"]["createCommitOnBranch"].is_null());
    }
    let now = github.with(|state| state.branch_head("feature"));
    assert_eq!(now, Some(head.clone()));
    let permissions = ["contents:write", "workflows:write"];
    github.token(APP, Identity::app("fixer", &permissions));
    made(&commit(&github, APP, &at(".github/workflows/ci.yml")));
    github.expect_commit();
    github.finish();
}

#[test]
fn contents_that_are_no_base64_are_a_mistake_of_the_client() {
    let (github, _, head) = small_pull();
    let mut wanted = input(&head, &[("src/a.ts", "x\n")]);
    wanted["fileChanges"]["additions"][0]["contents"] = json!("not base64");
    commit(&github, GitHub::TOKEN, &wanted);
    assert_eq!(github.take_violations().len(), 1);
    github.finish();
}

#[test]
fn a_protected_or_queued_branch_takes_no_commit() {
    let (github, number, head) = small_pull();
    let wanted = input(&head, &[("src/a.ts", "x\n")]);
    let refusal = |token: &str| {
        let error = commit(&github, token, &wanted)["errors"][0].clone();
        (
            error["type"].clone(),
            error["message"].as_str().unwrap_or_default().to_owned(),
        )
    };
    github.token(APP, Identity::app("fixer", &["contents:write"]));
    github.protect(
        "feature",
        Protection {
            needs_pull_request: true,
            ..Protection::default()
        },
    );
    let (kind, words) = refusal(GitHub::TOKEN);
    assert_eq!(kind, "BRANCH_PROTECTION_RULE_VIOLATION");
    assert_eq!(words, "Changes must be made through a pull request.");
    github.protect(
        "feature",
        Protection {
            ruleset: true,
            required_checks: vec!["test".into(), "lint".into()],
            bypass: vec!["fixer[bot]".into()],
            ..Protection::default()
        },
    );
    let (kind, words) = refusal(GitHub::TOKEN);
    assert_eq!(kind, "FORBIDDEN");
    assert!(words.contains("2 of 2 required status checks"), "{words}");
    let rules = get(&github, &format!("{REPOSITORY}/rules/branches/feature")).json;
    valid("get", "/rules/branches/{branch}", 200, &rules);
    assert_eq!(
        rules[0]["parameters"]["required_status_checks"][0]["context"],
        "test"
    );

    github.enqueue(number);
    let (kind, words) = refusal(APP);
    assert_eq!(kind, "BRANCH_PROTECTION_RULE_VIOLATION");
    assert!(words.contains("merge queue"), "{words}");
    github.with(|state| state.queue.clear());
    made(&commit(&github, APP, &wanted));
    github.expect_commit();
    github.finish();
}

#[test]
fn a_push_starts_workflows_unless_the_workflows_own_token_made_it() {
    for (token, actor, starts) in [
        (GitHub::TOKEN, "github-actions[bot]", false),
        (APP, "fixer[bot]", true),
        (PERSON, "writer", true),
    ] {
        let (github, number, head) = small_pull();
        github.token(APP, Identity::app("fixer", &["contents:write"]));
        github.token(PERSON, Identity::person("writer", &["contents:write"]));
        let sha = made(&commit(
            &github,
            token,
            &input(&head, &[("src/a.ts", "x\n")]),
        ));
        github.expect_commit();
        let happened = github.take_happenings();
        let told: Vec<_> = happened
            .iter()
            .map(|one| (one.event, one.action, one.starts))
            .collect();
        assert_eq!(
            told,
            [
                ("push", None, starts),
                ("pull_request", Some("synchronize"), starts)
            ]
        );
        let push = events::happened_event(&github, &happened[0]);
        assert_eq!(
            (&push["before"], &push["after"]),
            (&json!(head), &json!(sha))
        );
        let event = events::happened_event(&github, &happened[1]);
        assert_eq!(event["sender"]["login"], actor);
        assert_eq!(event["number"], number);
        assert_eq!(event["pull_request"]["head"]["sha"], json!(sha));
        assert_eq!(
            (&event["before"], &event["after"]),
            (&json!(head), &json!(sha))
        );
        github.finish();
    }
}

#[test]
fn labels_are_made_set_and_taken_away_with_their_events() {
    let (github, number, _) = small_pull();
    github.token(APP, Identity::app("fixer", &["pull-requests:write"]));
    github.pull(number, |pull| pull.labels.push("bug".into()));
    let path = format!("{REPOSITORY}/issues/{number}/labels");
    let labels = json!({ "labels": ["human-review-required", "Bug"] });
    let set = try_call(&github, APP, Method::POST, &path, Some(&labels)).unwrap();
    valid("post", "/issues/{issue_number}/labels", 200, &set.json);
    assert_eq!(set.json[1]["name"], "human-review-required");
    assert_eq!(github.expect_labels().len(), 2);
    assert!(github.with(|state| state.repository.labels.contains("human-review-required")));
    let one = format!("{path}/human-review-required");
    for (status, left) in [(200, 1), (404, 1)] {
        let taken = try_call(&github, APP, Method::DELETE, &one, None).unwrap();
        assert_eq!(taken.status, status);
        assert_eq!(github.pull(number, |pull| pull.labels.len()), left);
    }
    assert_eq!(github.take_writes().len(), 1);
    let happened = github.take_happenings();
    let actions: Vec<_> = happened.iter().map(|one| one.action).collect();
    assert_eq!(actions, [Some("labeled"), Some("unlabeled")]);
    let event = events::happened_event(&github, &happened[0]);
    assert_eq!(event["label"]["name"], "human-review-required");
    assert_eq!(event["sender"]["login"], "fixer[bot]");
    github.token(
        "ghs_reader",
        Identity::github_actions(&["pull-requests:read"]),
    );
    let weak = try_call(&github, "ghs_reader", Method::POST, &path, Some(&labels)).unwrap();
    assert_eq!(weak.status, 403);
    github.finish();
}

#[test]
fn a_stacked_pull_request_is_opened_on_a_branch_of_its_own() {
    let (github, _, head) = small_pull();
    github.with(|state| state.repository.actions_may_approve = true);
    let post = |path: &str, body: &Value| {
        let path = format!("{REPOSITORY}{path}");
        try_call(&github, GitHub::TOKEN, Method::POST, &path, Some(body)).unwrap()
    };
    let new = json!({ "ref": "refs/heads/fix/1", "sha": head });
    let branch = post("/git/refs", &new);
    valid("post", "/git/refs", 201, &branch.json);
    assert_eq!(github.expect_branch(), ("fix/1".to_owned(), head.clone()));
    assert_eq!(
        post("/git/refs", &new).json["message"],
        "Reference already exists"
    );
    for wrong in [
        json!({ "ref": "refs/heads/a..b", "sha": head }),
        json!({ "ref": "refs/heads/x", "sha": "1".repeat(40) }),
    ] {
        assert_eq!(post("/git/refs", &wrong).status, 422, "{wrong}");
    }
    let pull = json!({ "title": "Fix", "head": "fix/1", "base": "feature", "body": "One." });
    let empty = post("/pulls", &pull);
    assert_eq!(empty.status, 422);
    assert!(
        empty.json.to_string().contains("No commits between"),
        "{empty:?}"
    );
    let mut wanted = input(&head, &[("src/a.ts", "x\n")]);
    wanted["branch"]["branchName"] = json!("fix/1");
    made(&commit(&github, GitHub::TOKEN, &wanted));
    github.expect_commit();
    let opened = post("/pulls", &pull);
    valid("post", "/pulls", 201, &opened.json);
    let number = github.expect_pull();
    assert_eq!(opened.json["number"], number);
    assert_eq!(opened.json["base"]["ref"], "feature");
    let again = post("/pulls", &pull);
    assert!(
        again
            .json
            .to_string()
            .contains("already exists for octo:fix/1"),
        "{again:?}"
    );
    let listed = get(
        &github,
        &format!("{REPOSITORY}/pulls?head=octo:fix/1&base=feature"),
    );
    valid("get", "/pulls", 200, &listed.json);
    assert_eq!(listed.json[0]["number"], number);
    assert_eq!(listed.json.as_array().unwrap().len(), 1);
    let happened = github.take_happenings();
    assert!(happened.iter().all(|one| !one.starts), "{happened:?}");

    github.with(|state| state.repository.actions_may_approve = false);
    assert_eq!(post("/pulls", &pull).status, 403);
    github.finish();
}

#[test]
fn a_branch_tells_its_last_commits_and_a_pull_request_whether_it_is_queued() {
    let (github, number, head) = small_pull();
    github.pull(number, |pull| {
        pull.locked = true;
        pull.maintainer_can_modify = true;
    });
    let query = "query($branch: String!) { repository(owner: \"octo\", name: \"shop\") {
        ref(qualifiedName: $branch) { target { ... on Commit { history(first: 5) {
            nodes { oid message tree { oid } parents(first: 2) { nodes { oid } } } } } } }
        pullRequest(number: 1) { isInMergeQueue locked maintainerCanModify } } }";
    let asked = graphql(&github, query, &json!({ "branch": "refs/heads/feature" }));
    let repository = &asked["data"]["repository"];
    let commits = &repository["ref"]["target"]["history"]["nodes"];
    assert_eq!(commits[0]["oid"], json!(head), "{asked}");
    assert_eq!(commits[0]["parents"]["nodes"][0]["oid"], commits[1]["oid"]);
    assert_eq!(commits[1]["parents"]["nodes"], json!([]));
    assert_eq!(
        repository["pullRequest"],
        json!({ "isInMergeQueue": false, "locked": true, "maintainerCanModify": true })
    );
    github.enqueue(number);
    let gone = graphql(&github, query, &json!({ "branch": "refs/heads/gone" }));
    let repository = &gone["data"]["repository"];
    assert!(repository["ref"].is_null());
    assert_eq!(repository["pullRequest"]["isInMergeQueue"], true);
    let shown = get(&github, &pulls("1")).json;
    assert_eq!(
        (&shown["locked"], &shown["maintainer_can_modify"]),
        (&json!(true), &json!(true))
    );
    github.finish();
}
