//! What the stand-in says is what GitHub would say: answers against the official description, events against the
//! official examples.

use serde_json::{Value, json};

use super::{REPOSITORY, get, post, posted_finding, pulls, small_pull};
use crate::standin::github::{events, response_errors};

const TEMPLATE: &str = "/repos/{owner}/{repo}";

pub fn valid(method: &str, template: &str, status: u16, answer: &Value) {
    let errors = response_errors(method, &format!("{TEMPLATE}{template}"), status, answer);
    assert_eq!(errors, Vec::<String>::new(), "{method} {template}");
}

/// Every read, as the description names it and as it is asked here.
fn reads(root: u64, review: &Value, head: &str) -> [(&'static str, String); 20] {
    [
        ("", String::new()),
        ("/pulls", "/pulls?state=all".into()),
        ("/rules/branches/{branch}", "/rules/branches/main".into()),
        ("/pulls/{pull_number}", "/pulls/1".into()),
        ("/pulls/{pull_number}/files", "/pulls/1/files".into()),
        ("/pulls/{pull_number}/commits", "/pulls/1/commits".into()),
        ("/pulls/{pull_number}/comments", "/pulls/1/comments".into()),
        ("/pulls/{pull_number}/reviews", "/pulls/1/reviews".into()),
        (
            "/pulls/{pull_number}/reviews/{review_id}/comments",
            format!("/pulls/1/reviews/{review}/comments"),
        ),
        (
            "/pulls/{pull_number}/requested_reviewers",
            "/pulls/1/requested_reviewers".into(),
        ),
        (
            "/pulls/comments/{comment_id}",
            format!("/pulls/comments/{root}"),
        ),
        (
            "/issues/{issue_number}/comments",
            "/issues/1/comments".into(),
        ),
        (
            "/commits/{ref}/check-runs",
            format!("/commits/{head}/check-runs"),
        ),
        ("/compare/{basehead}", format!("/compare/main...{head}")),
        ("/commits/{ref}", format!("/commits/{head}")),
        ("/branches/{branch}", "/branches/feature".into()),
        ("/contents/{path}", format!("/contents/src/a.ts?ref={head}")),
        ("/languages", "/languages".into()),
        ("/issues/{issue_number}/labels", "/issues/1/labels".into()),
        (
            "/collaborators/{username}/permission",
            "/collaborators/writer/permission".into(),
        ),
    ]
}

#[test]
fn answers_are_in_the_official_shapes() {
    let (github, number, head) = small_pull();
    github.pull(number, |pull| {
        pull.labels.push("bug".into());
        pull.requested_reviewers.push("writer".into());
        pull.requested_teams.push("core".into());
    });
    let root = posted_finding(&github);
    github.reply(root, "dev", "Because.");
    github.comment(number, "dev", "hello");
    let run = post(
        &github,
        &format!("{REPOSITORY}/check-runs"),
        &json!({ "name": "check", "head_sha": head }),
    );
    github.expect_check_run();
    valid("post", "/check-runs", 201, &run.json);

    let review = get(&github, &pulls("1/reviews")).json[0]["id"].clone();
    for (template, path) in reads(root, &review, &head) {
        let answer = get(&github, &format!("{REPOSITORY}{path}"));
        assert_eq!(answer.status, 200, "{path}");
        valid("get", template, 200, &answer.json);
    }
    let limits = get(&github, "/rate_limit").json;
    assert_eq!(
        response_errors("get", "/rate_limit", 200, &limits),
        Vec::<String>::new()
    );
    github.finish();
}

#[test]
fn an_outdated_comment_has_no_line_although_the_description_wants_one() {
    let (github, _, _) = small_pull();
    let root = posted_finding(&github);
    github.with(|state| state.comments[0].line = None);
    let outdated = get(&github, &pulls(&format!("comments/{root}"))).json;
    let errors = response_errors(
        "get",
        &format!("{TEMPLATE}/pulls/comments/{{comment_id}}"),
        200,
        &outdated,
    );
    assert!(
        errors
            .iter()
            .all(|error| error.starts_with("/line") || error.starts_with("/position")),
        "{errors:?}"
    );
    assert!(
        !errors.is_empty(),
        "the official mistake is gone: drop this exception"
    );
    github.finish();
}

#[test]
fn events_are_official_examples_about_our_pull_request() {
    let (github, number, head) = small_pull();
    github.pull(number, |pull| {
        pull.draft = true;
        pull.labels.push("skip-review".into());
    });
    for action in [
        "opened",
        "reopened",
        "synchronize",
        "ready_for_review",
        "closed",
        "labeled",
        "unlabeled",
    ] {
        for name in ["pull_request", "pull_request_target"] {
            let payload = events::event(name, Some(action), &github, number);
            assert_eq!(
                (&payload["action"], &payload["number"]),
                (&json!(action), &json!(number))
            );
            let pull = &payload["pull_request"];
            assert_eq!(
                (&pull["head"]["sha"], &pull["draft"]),
                (&json!(head), &json!(true))
            );
            assert_eq!(
                (&pull["labels"][0]["name"], &pull["user"]["login"]),
                (&json!("skip-review"), &json!("dev"))
            );
            assert_eq!(pull["head"]["repo"]["id"], pull["base"]["repo"]["id"]);
            assert_eq!(payload["repository"]["full_name"], "octo/shop");
            assert_eq!(payload["sender"]["login"], "dev");
        }
    }
    let pushed = events::synchronize_event(&github, number, "before");
    assert_eq!(
        (&pushed["before"], &pushed["after"]),
        (&json!("before"), &json!(head))
    );
    github.finish();
}

#[test]
fn comment_events_say_who_wrote_what_where() {
    let (github, number, head) = small_pull();
    let said = github
        .comment(number, "writer", "@review-my-code-bot please")
        .id;
    let event = events::comment_event("issue_comment", &github, number, said);
    assert_eq!(event["issue"]["number"], number);
    assert!(
        event["issue"]["pull_request"]["url"]
            .as_str()
            .unwrap()
            .ends_with("/pulls/1")
    );
    assert_eq!(event["comment"]["body"], "@review-my-code-bot please");
    assert_eq!(
        (
            &event["sender"]["login"],
            &event["comment"]["author_association"]
        ),
        (&json!("writer"), &json!("COLLABORATOR"))
    );
    assert!(event.get("pull_request").is_none());

    let root = posted_finding(&github);
    let reply = github.reply(root, "dev", "Why not?").id;
    let event = events::comment_event("pull_request_review_comment", &github, number, reply);
    assert_eq!(
        (
            &event["comment"]["in_reply_to_id"],
            &event["pull_request"]["head"]["sha"]
        ),
        (&json!(root), &json!(head))
    );
    assert!(
        event["pull_request"].get("additions").is_none(),
        "this event has the short form"
    );

    let approved = github.review(number, "writer", "APPROVED", "Good.").id;
    let event = events::review_event(&github, number, approved);
    assert_eq!(
        (&event["review"]["state"], &event["sender"]["login"]),
        (&json!("approved"), &json!("writer"))
    );
    github.finish();
}

#[test]
fn events_without_a_pull_request_name_the_repository() {
    let (github, _, head) = small_pull();
    let dispatched = events::dispatch_event(&github, "writer", &json!({ "pull_request": "1" }));
    assert_eq!(
        (&dispatched["inputs"]["pull_request"], &dispatched["ref"]),
        (&json!("1"), &json!("refs/heads/main"))
    );
    assert_eq!(dispatched["repository"]["full_name"], "octo/shop");
    let pushed = events::push_event(&github, "dev", "feature", "before", &head);
    assert_eq!(
        (&pushed["after"], &pushed["ref"]),
        (&json!(head), &json!("refs/heads/feature"))
    );
    github.finish();
}
