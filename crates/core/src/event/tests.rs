//! The door, as a user of the action meets it: what starts a review, what does not, and what it says then.

use super::*;
use serde_json::json;

const RULES: TriggerRules<'_> = TriggerRules {
    mention: "@review-my-code-bot",
    has_model_key: true,
};
const NO_KEY: TriggerRules<'_> = TriggerRules {
    has_model_key: false,
    ..RULES
};
const OLD: &str = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";

fn pull_request(action: &str) -> Value {
    json!({
        "action": action,
        "number": 7,
        "pull_request": {
            "number": 7, "state": "open", "draft": false, "locked": false, "merged": false,
            "user": {"login": "dev", "type": "User"},
            "head": {"sha": OLD, "repo": {"id": 1, "full_name": "acme/shop"}},
            "base": {"sha": OLD, "repo": {"id": 1, "full_name": "acme/shop"}},
        },
        "repository": {"id": 1, "full_name": "acme/shop"},
        "sender": {"login": "dev", "type": "User"},
    })
}

fn issue_comment(body: &str) -> Value {
    json!({
        "action": "created",
        "issue": {"number": 7, "state": "open", "locked": false, "pull_request": {"url": "u", "merged_at": null}},
        "comment": {"id": 99, "body": body, "user": {"login": "writer", "type": "User"}, "author_association": "MEMBER"},
        "repository": {"full_name": "acme/shop"},
        "sender": {"login": "writer", "type": "User"},
    })
}

fn review_comment(body: &str, reply_to: Option<u64>) -> Value {
    let mut payload = pull_request("created");
    payload["comment"] = json!({
        "id": 99, "body": body, "in_reply_to_id": reply_to,
        "user": {"login": "dev", "type": "User"}, "author_association": "CONTRIBUTOR",
    });
    payload
}

fn dispatch(input: &Value) -> Value {
    json!({"inputs": {"pull_request": input}, "ref": "refs/heads/main", "repository": {"full_name": "acme/shop"},
           "sender": {"login": "writer", "type": "User"}})
}

fn run(name: &str, payload: &Value) -> Event {
    match parse(name, payload, &RULES) {
        Ok(Trigger::Run(event)) => event,
        other => panic!("expected a run, got {other:?}"),
    }
}

fn skip(name: &str, payload: &Value, rules: &TriggerRules<'_>) -> SkipReason {
    match parse(name, payload, rules) {
        Ok(Trigger::Skip(reason)) => reason,
        other => panic!("expected a skip, got {other:?}"),
    }
}

fn error(name: &str, payload: &Value) -> String {
    parse(name, payload, &RULES)
        .expect_err("an error")
        .to_string()
}

#[test]
fn a_pull_request_that_is_opened_pushed_to_or_marked_ready_is_reviewed() {
    for name in ["pull_request", "pull_request_target"] {
        for (action, kind) in [
            ("opened", EventKind::Opened),
            ("reopened", EventKind::Opened),
            ("synchronize", EventKind::Pushed),
            ("ready_for_review", EventKind::Ready),
        ] {
            let event = run(name, &pull_request(action));
            assert_eq!(event.kind, kind);
            assert_eq!(
                (event.repo.to_string().as_str(), event.number),
                ("acme/shop", 7)
            );
            assert_eq!(event.sender, Some(Login::new("dev")));
        }
    }
}

#[test]
fn another_base_is_another_diff_and_other_edits_are_none() {
    let mut payload = pull_request("edited");
    payload["changes"] = json!({"base": {"ref": {"from": "main"}, "sha": {"from": OLD}}});
    let event = run("pull_request_target", &payload);
    assert_eq!(event.kind, EventKind::Retargeted);
    payload["changes"] = json!({"title": {"from": "Old"}});
    let reason = skip("pull_request", &payload, &RULES).to_string();
    assert!(reason.contains("edited"), "{reason}");
}

#[test]
fn a_closed_pull_request_may_free_others_of_its_head_unless_it_is_a_forks() {
    let mut payload = pull_request("closed");
    payload["pull_request"]["state"] = json!("closed");
    let expected = PrKey {
        repo: "acme/shop".parse().unwrap(),
        number: 7,
    };
    for rules in [RULES, NO_KEY] {
        let answer = parse("pull_request", &payload, &rules);
        assert_eq!(answer, Ok(Trigger::Closed(expected.clone())));
    }
    payload["pull_request"]["head"]["repo"]["id"] = json!(2);
    let reason = skip("pull_request_target", &payload, &RULES);
    assert_eq!(reason, SkipReason::Closed);
}

#[test]
fn a_merge_group_is_judged_when_its_checks_are_requested() {
    let mut payload = json!({
        "action": "checks_requested",
        "merge_group": {
            "head_sha": OLD, "head_ref": "refs/heads/gh-readonly-queue/main/pr-7-1",
            "base_sha": "1".repeat(40), "base_ref": "refs/heads/main",
        },
        "repository": {"full_name": "acme/shop"},
    });
    let Ok(Trigger::Merge(group)) = parse("merge_group", &payload, &NO_KEY) else {
        panic!("expected a group");
    };
    assert_eq!(
        (group.head.as_str(), group.base_ref.as_str()),
        (OLD, "main")
    );
    payload["merge_group"]["base_sha"] = json!("main");
    assert!(error("merge_group", &payload).contains("merge_group"));
    payload["action"] = json!("destroyed");
    skip("merge_group", &payload, &RULES);
}

#[test]
fn a_push_names_the_head_before_it() {
    let mut payload = pull_request("synchronize");
    payload["before"] = json!(OLD);
    assert_eq!(run("pull_request", &payload).before, OLD.parse().ok());
    payload["before"] = json!("not a commit");
    assert_eq!(run("pull_request", &payload).before, None);
}

#[test]
fn other_actions_and_other_events_are_skipped_by_name() {
    let reason = skip("pull_request", &pull_request("labeled"), &RULES).to_string();
    assert!(
        reason.contains("pull_request") && reason.contains("labeled"),
        "{reason}"
    );
    let reason = skip("push", &json!({"ref": "refs/heads/main"}), &RULES).to_string();
    assert!(reason.contains("The event push"), "{reason}");
    skip("issue_comment", &json!({"action": "edited"}), &RULES);
    skip(
        "pull_request_review",
        &json!({"action": "dismissed"}),
        &RULES,
    );
}

#[test]
fn whether_a_draft_is_reviewed_is_decided_once_the_repository_was_asked() {
    let mut payload = pull_request("opened");
    payload["pull_request"]["draft"] = json!(true);
    assert!(!run("pull_request", &payload).kind.accepts_draft());
    let asked = review_comment("@review-my-code-bot please", None);
    assert!(
        run("pull_request_review_comment", &asked)
            .kind
            .accepts_draft()
    );
}

#[test]
fn closed_merged_and_locked_pull_requests_are_left_alone() {
    for (field, value, expected) in [
        ("state", json!("closed"), SkipReason::Closed),
        ("merged", json!(true), SkipReason::Merged),
        ("locked", json!(true), SkipReason::Locked),
    ] {
        let mut payload = pull_request("synchronize");
        payload["pull_request"][field] = value;
        assert_eq!(skip("pull_request", &payload, &RULES), expected);
    }
    let mut comment = issue_comment("@review-my-code-bot");
    comment["issue"]["pull_request"]["merged_at"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(skip("issue_comment", &comment, &RULES), SkipReason::Merged);
    let mut comment = issue_comment("@review-my-code-bot");
    comment["issue"]["locked"] = json!(true);
    assert_eq!(skip("issue_comment", &comment, &RULES), SkipReason::Locked);
}

#[test]
fn a_mention_in_the_conversation_carries_who_asked_and_what() {
    let event = run("issue_comment", &issue_comment("@review-my-code-bot why?"));
    assert_eq!(
        event.kind,
        EventKind::Mention {
            comment_id: CommentId(99),
            on: CommentPlace::IssueComment,
            body: "@review-my-code-bot why?".to_owned(),
            author: Login::new("writer"),
            association: Association::Member,
            created_at: String::new(),
        }
    );
}

#[test]
fn comments_that_do_not_ask_are_skipped_with_the_reason() {
    let reason = skip(
        "issue_comment",
        &issue_comment("`@review-my-code-bot`"),
        &RULES,
    );
    assert!(
        reason.to_string().contains("mentions @review-my-code-bot"),
        "{reason}"
    );
    let mut payload = issue_comment("@review-my-code-bot");
    payload["issue"]["pull_request"] = Value::Null;
    assert_eq!(
        skip("issue_comment", &payload, &RULES),
        SkipReason::PlainIssue
    );
    let mut payload = issue_comment("@review-my-code-bot");
    payload["comment"]["user"] = json!({"login": "other[bot]", "type": "Bot"});
    assert_eq!(skip("issue_comment", &payload, &RULES), SkipReason::Bot);
    let mut payload = issue_comment("@review-my-code-bot");
    payload["comment"]["user"] = Value::Null;
    assert_eq!(skip("issue_comment", &payload, &RULES), SkipReason::Ghost);
    let mut payload = issue_comment("");
    payload["comment"]["body"] = Value::Null;
    skip("issue_comment", &payload, &RULES);
}

#[test]
fn a_reply_in_a_review_thread_is_looked_at() {
    let event = run(
        "pull_request_review_comment",
        &review_comment("It is intended.", Some(42)),
    );
    assert_eq!(
        event.kind,
        EventKind::ThreadReply {
            comment_id: CommentId(99),
            in_reply_to: CommentId(42)
        }
    );
    let fresh = review_comment("A thought of mine.", None);
    skip("pull_request_review_comment", &fresh, &RULES);
}

#[test]
fn a_persons_review_is_looked_at_and_a_bots_is_not() {
    let mut payload = pull_request("submitted");
    payload["review"] = json!({"user": {"login": "writer", "type": "User"}, "state": "approved"});
    assert_eq!(
        run("pull_request_review", &payload).kind,
        EventKind::ReviewSubmitted
    );
    payload["review"]["user"] = json!({"login": "github-actions[bot]", "type": "Bot"});
    assert_eq!(
        skip("pull_request_review", &payload, &RULES),
        SkipReason::Bot
    );
}

#[test]
fn p9_a_fork_without_secrets_is_told_what_to_do() {
    let mut fork = pull_request("opened");
    fork["pull_request"]["head"]["repo"]["id"] = json!(2);
    let mut deleted = pull_request("opened");
    deleted["pull_request"]["head"]["repo"] = Value::Null;
    for payload in [&fork, &deleted] {
        let reason = skip("pull_request", payload, &NO_KEY).to_string();
        assert!(
            reason.contains("examples/forks.yml") && reason.contains("pull_request_target"),
            "{reason}"
        );
        run("pull_request", payload);
        // With the secrets at hand a missing key is a mistake, and judged with the inputs.
        let target = parse("pull_request_target", payload, &NO_KEY);
        assert!(matches!(target, Ok(Trigger::Run(_))));
    }
    let own = parse("pull_request", &pull_request("opened"), &NO_KEY);
    assert!(matches!(own, Ok(Trigger::Run(_))));
}

#[test]
fn dependabot_without_secrets_is_told_what_to_do() {
    let mut payload = pull_request("opened");
    payload["sender"] = json!({"login": "dependabot[bot]", "type": "Bot"});
    for name in ["pull_request", "pull_request_target"] {
        let Ok(Trigger::WithoutKey(_, reason)) = parse(name, &payload, &NO_KEY) else {
            panic!("what needs no model is done");
        };
        let reason = reason.to_string();
        assert!(reason.contains("Dependabot secrets"), "{reason}");
    }
    run("pull_request", &payload);
}

#[test]
fn a_dispatch_names_the_pull_request_in_any_usual_way() {
    for given in [
        json!("12"),
        json!(" 12 "),
        json!("#12"),
        json!(12),
        json!("https://github.com/acme/shop/pull/12"),
        json!("https://github.example/Acme/Shop/pull/12/files#diff"),
    ] {
        let event = run("workflow_dispatch", &dispatch(&given));
        assert_eq!(
            (event.number, event.kind),
            (12, EventKind::Dispatch),
            "{given}"
        );
    }
    for given in [
        json!("0"),
        json!("-1"),
        json!("+1"),
        json!("1.5"),
        json!("twelve"),
        json!("#"),
        json!("99999999999999999999"),
        json!("https://github.com/other/repo/pull/12"),
        json!("https://github.com/acme/shop/issues/12"),
        json!("ftp://github.com/acme/shop/pull/12"),
        json!("x\u{1b}[2J"),
    ] {
        let said = error("workflow_dispatch", &dispatch(&given));
        assert!(
            said.contains("number, #number or URL") && !said.contains('\u{1b}'),
            "{said}"
        );
    }
    for payload in [
        dispatch(&json!("")),
        dispatch(&Value::Null),
        json!({"inputs": null}),
    ] {
        assert!(error("workflow_dispatch", &payload).contains("holds no input pull_request"));
    }
}

#[test]
fn a_payload_that_is_not_githubs_is_one_clear_sentence() {
    assert_eq!(
        error(
            "pull_request",
            &json!({"action": "opened", "repository": {"full_name": "acme/shop"}})
        ),
        "The pull_request event holds no pull request number; the file that GITHUB_EVENT_PATH names must be the one the runner wrote."
    );
    let mut payload = pull_request("opened");
    payload["repository"] = Value::Null;
    assert!(error("pull_request", &payload).contains("holds no repository"));
    for payload in [
        json!([]),
        json!("x"),
        json!(null),
        json!({"pull_request": 5}),
        json!({"number": -1}),
    ] {
        let said = error("pull_request", &payload);
        assert!(
            said.contains("GitHub's shape") && !said.contains('\n'),
            "{said}"
        );
    }
    let mut payload = issue_comment("@review-my-code-bot");
    payload["comment"]["id"] = Value::Null;
    assert!(error("issue_comment", &payload).contains("comment id"));
}

#[test]
fn our_own_comments_start_no_run_under_a_persons_token_either() {
    use crate::state::block::{Hidden, Kind, render_hidden};
    let block = render_hidden(&Hidden::new(Kind::Answer));
    let body = format!("@review-my-code-bot answers.\n\n{block}");
    let payload = issue_comment(&body);
    assert_eq!(skip("issue_comment", &payload, &RULES), SkipReason::Bot);
    let quoted = format!("> {block}\n\n@review-my-code-bot really?");
    let payload = issue_comment(&quoted);
    assert!(matches!(
        parse("issue_comment", &payload, &RULES),
        Ok(Trigger::Run(_))
    ));
}

#[test]
fn our_own_review_starts_no_run_under_a_persons_token_either() {
    use crate::state::block::{Hidden, Kind, render_hidden};
    let manifest = render_hidden(&Hidden::new(Kind::Manifest));
    let mut payload = pull_request("submitted");
    payload["review"] = json!({
        "user": {"login": "writer", "type": "User"},
        "body": format!("OpenCode review of ec26c3e: 1 finding.\n\n{manifest}"),
    });
    let reason = skip("pull_request_review", &payload, &RULES);
    assert_eq!(reason, SkipReason::Bot);
    payload["review"]["body"] = Value::Null;
    run("pull_request_review", &payload);
}

#[test]
fn p8_a_mention_that_is_edited_in_or_not_said_starts_nothing() {
    let said = "@review-my-code-bot review";
    for name in ["issue_comment", "pull_request_review_comment"] {
        let payload = |body: &str| match name {
            "issue_comment" => issue_comment(body),
            _ => review_comment(body, None),
        };
        for action in ["edited", "deleted"] {
            let mut edited = payload(said);
            edited["action"] = json!(action);
            let reason = skip(name, &edited, &RULES);
            assert!(matches!(reason, SkipReason::OtherAction { .. }), "{reason}");
        }
        for body in [
            "> @review-my-code-bot review",
            "```\n@review-my-code-bot review\n```",
            "    @review-my-code-bot review",
            "`@review-my-code-bot review`",
            "[@review-my-code-bot](https://example.com) review",
            "dev@review-my-code-bot.example",
            "@review-my-code-bot2 review",
        ] {
            let reason = skip(name, &payload(body), &RULES);
            assert!(matches!(reason, SkipReason::NoMention { .. }), "{body}");
        }
        for who in ["comment", "sender"] {
            let mut by_bot = payload(said);
            let bot = json!({"login": "Copilot", "type": "Bot"});
            match who {
                "comment" => by_bot["comment"]["user"] = bot,
                _ => by_bot["sender"] = bot,
            }
            assert_eq!(skip(name, &by_bot, &RULES), SkipReason::Bot, "{who}");
        }
        run(name, &payload(said));
    }
}

#[test]
fn the_person_whose_words_cause_a_run_is_known() {
    let dev = Some(Login::new("dev"));
    let reply = review_comment("It is intended.", Some(42));
    let event = run("pull_request_review_comment", &reply);
    assert_eq!(event.speaker(), dev.as_ref());
    let mut review = pull_request("submitted");
    review["review"] = json!({"user": {"login": "dev", "type": "User"}});
    let event = run("pull_request_review", &review);
    assert_eq!(event.speaker(), dev.as_ref());
    let event = run("issue_comment", &issue_comment("@review-my-code-bot"));
    assert_eq!(event.speaker(), Some(&Login::new("writer")));
    let event = run("pull_request", &pull_request("opened"));
    assert_eq!(event.speaker(), None, "a push speaks for itself");
}

#[test]
fn odd_unicode_in_a_payload_is_survived() {
    let text = r#"{"action":"created","comment":{"id":1,"body":"\u0000\ud83d\ude00\u2028 @review-my-code-bot"},"issue":{"number":1,"pull_request":{}}}"#;
    let payload: Value = serde_json::from_str(text).unwrap();
    assert_eq!(skip("issue_comment", &payload, &RULES), SkipReason::Ghost);
}
