//! Deliveries of webhooks: GitHub's own examples, and what is missing in others.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

/// GitHub's official examples.
macro_rules! example {
    ($name:literal) => {
        include_bytes!(concat!(
            "../../../../tests/fixtures/events/",
            $name,
            ".json"
        ))
        .as_slice()
    };
}

fn of(event: &str, body: &Value) -> Wakes {
    read(event, body.to_string().as_bytes()).wakes
}

fn ignored(event: &str, body: &Value) -> String {
    match of(event, body) {
        Wakes::Nothing(reason) => reason.to_string(),
        other => panic!("expected nothing, got {other:?}"),
    }
}

/// A delivery with everything that some event asks for.
fn body(action: &str) -> Value {
    json!({
        "action": action,
        "repository": {"id": 42, "full_name": "acme/shop"},
        "installation": {"id": 3},
        "pull_request": {"number": 7},
        "issue": {"number": 7, "pull_request": {"url": "u"}},
    })
}

fn shop() -> HookRepository {
    HookRepository {
        id: 42,
        name: "acme/shop".parse().unwrap(),
    }
}

#[test]
fn each_official_example_wakes_what_it_is_about() {
    let pull = |wakes: &Wakes| matches!(wakes, Wakes::Pull { number, .. } if *number > 0);
    for (event, body) in [
        ("pull_request", example!("pull_request.opened")),
        ("pull_request", example!("pull_request.reopened")),
        ("pull_request", example!("pull_request.synchronize")),
        ("pull_request", example!("pull_request.closed")),
        ("pull_request", example!("pull_request.ready_for_review")),
        ("pull_request", example!("pull_request.converted_to_draft")),
        ("pull_request", example!("pull_request.labeled")),
        (
            "pull_request_review",
            example!("pull_request_review.submitted"),
        ),
        (
            "pull_request_review",
            example!("pull_request_review.dismissed"),
        ),
        (
            "pull_request_review_comment",
            example!("pull_request_review_comment.created"),
        ),
        (
            "pull_request_review_thread",
            example!("pull_request_review_thread.resolved"),
        ),
        (
            "pull_request_review_thread",
            example!("pull_request_review_thread.unresolved"),
        ),
        ("merge_group", example!("merge_group.checks_requested")),
    ] {
        let woken = read(event, body).wakes;
        assert!(pull(&woken), "{event}: {woken:?}");
    }
    let suite = read("check_suite", example!("check_suite.completed")).wakes;
    assert!(
        matches!(&suite, Wakes::Head { sha, .. } if sha.short() == "ec26c3e"),
        "{suite:?}"
    );
    let status = read("status", example!("status")).wakes;
    assert!(
        matches!(&status, Wakes::Head { sha, .. } if sha.short() == "6113728"),
        "{status:?}"
    );
    for body in [
        example!("repository.renamed"),
        example!("repository.transferred"),
    ] {
        let moved = read("repository", body).wakes;
        assert!(
            matches!(&moved, Wakes::Renamed { repository } if repository.id == 186_853_261),
            "{moved:?}"
        );
    }
}

#[test]
fn a_push_wakes_the_pull_requests_of_its_branch() {
    let push = |pushed: &str, deleted: bool| {
        let mut body = body("");
        body["ref"] = json!(pushed);
        body["deleted"] = json!(deleted);
        of("push", &body)
    };
    assert_eq!(
        push("refs/heads/release/1.0", false),
        Wakes::Base {
            repository: shop(),
            branch: "release/1.0".to_owned()
        }
    );
    for nothing in [push("refs/tags/v1", false), push("refs/heads/main", true)] {
        assert_eq!(nothing, Wakes::Nothing(Ignored::NoBranch));
    }
    // The official example removes a tag.
    let example = read("push", example!("push")).wakes;
    assert_eq!(example, Wakes::Nothing(Ignored::NoBranch));
}

#[test]
fn an_installation_that_ended_is_told_from_one_that_changed() {
    for (event, body, active) in [
        ("installation", example!("installation.created"), true),
        ("installation", example!("installation.deleted"), false),
        (
            "installation_repositories",
            example!("installation_repositories.added"),
            true,
        ),
        (
            "installation_repositories",
            example!("installation_repositories.removed"),
            true,
        ),
    ] {
        let read = read(event, body);
        assert_eq!(read.wakes, Wakes::Installation { active }, "{event}");
        assert!(read.installation.is_some(), "{event}");
    }
    let suspended = json!({"action": "suspend", "installation": {"id": 3}});
    assert_eq!(
        of("installation", &suspended),
        Wakes::Installation { active: false }
    );
}

#[test]
fn a_delivery_names_its_installation_and_its_repository_by_id() {
    let read = read("pull_request", body("synchronize").to_string().as_bytes());
    let woken = Wakes::Pull {
        repository: shop(),
        number: 7,
    };
    assert_eq!((read.installation, read.wakes), (Some(3), woken));
    let of_repository = json!({"action": "opened", "repository": {"id": 42, "full_name": "acme/shop"},
        "pull_request": {"number": 7}});
    let read = super::read("pull_request", of_repository.to_string().as_bytes());
    assert_eq!(read.installation, None);
}

#[test]
fn what_wakes_nobody_says_why() {
    for (event, body, why) in [
        (
            "ping",
            body(""),
            "the service does not listen to ping events",
        ),
        (
            "workflow_run",
            body("completed"),
            "the service does not listen to workflow_run events",
        ),
        (
            "pull_request",
            body("assigned"),
            "the action \"assigned\" of pull_request changes nothing here",
        ),
        (
            "check_suite",
            body("requested"),
            "the action \"requested\" of check_suite changes nothing here",
        ),
        (
            "repository",
            body("deleted"),
            "the action \"deleted\" of repository changes nothing here",
        ),
        (
            "check_suite",
            body("completed"),
            "the check_suite event does not have GitHub's shape: it names no commit",
        ),
        (
            "merge_group",
            body("destroyed"),
            "the merge_group event does not have GitHub's shape: it names no pull request",
        ),
        (
            "push",
            body(""),
            "the push event does not have GitHub's shape: it names no branch",
        ),
    ] {
        assert_eq!(ignored(event, &body), why);
    }
    let mut plain = body("created");
    plain["issue"] = json!({"number": 7});
    assert_eq!(
        ignored("issue_comment", &plain),
        "the comment is not on a pull request"
    );
    let mut pending = body("");
    pending["state"] = json!("pending");
    assert_eq!(ignored("status", &pending), "the check has only begun");
    assert!(matches!(
        of("issue_comment", &body("created")),
        Wakes::Pull { number: 7, .. }
    ));
}

#[test]
fn a_delivery_without_a_pointer_wakes_nobody() {
    for (key, value) in [
        ("repository", json!(null)),
        ("repository", json!({"id": 42})),
        ("repository", json!({"id": 42, "full_name": "acme"})),
        ("repository", json!({"full_name": "acme/shop"})),
        ("repository", json!({"id": "42", "full_name": "acme/shop"})),
        ("pull_request", json!({"number": 0})),
        ("pull_request", json!({"number": -7})),
        ("pull_request", json!([])),
    ] {
        let mut body = body("opened");
        body[key] = value.clone();
        let woken = of("pull_request", &body);
        assert!(
            matches!(woken, Wakes::Nothing(Ignored::Shape { .. })),
            "{key} {value}: {woken:?}"
        );
    }
    let nobody = json!({"action": "created"});
    assert!(matches!(
        of("installation", &nobody),
        Wakes::Nothing(Ignored::Shape { .. })
    ));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(event in ".{0,30}", body in prop::collection::vec(any::<u8>(), 0..200)) {
        let read = read(&event, &body);
        prop_assert!(matches!(read.wakes, Wakes::Nothing(_)), "{read:?}");
    }
}
