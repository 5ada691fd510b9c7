//! What a pull request is for: the issues that it closes, as the model reads them.

use crate::review::{finding, post};
use crate::standin::github::state::Issue;
use crate::standin::github::{GitHub, Identity};
use crate::standin::model::Script;
use crate::standin::world::{Ran, World};

const CRITERION: &str = "- [ ] A page has twenty rows at most.";

/// A pull request whose description closes an issue of the repository and one of another.
fn world(script: Script) -> World {
    let world = World::shop(script);
    world.github.with(|state| {
        let pull = state.pulls.get_mut(&world.pull).expect("the pull request");
        pull.body = Some("Pages for long lists. Fixes #12, closes other/lib#3.".into());
        for (repository, number) in [("octo/shop", 12), ("other/lib", 3)] {
            state.issues.push(Issue {
                pull: 1,
                repository: repository.into(),
                seen: false,
                number,
                title: format!("Pages, says {repository}"),
                body: CRITERION.into(),
            });
        }
    });
    world
}

fn first_prompt(world: &World) -> String {
    world.model.requests()[0]["messages"].to_string()
}

fn ended(ran: &Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    ran.summary.clone()
}

#[test]
fn the_model_reads_the_issues_that_a_pull_request_closes_and_a_missing_criterion_is_a_finding() {
    let script = Script::new().pass(2, |request| {
        let prompt = request.last_user();
        assert!(prompt.contains("every acceptance criterion"), "{prompt}");
        let text = "The issue asks for twenty rows at most, and no page has a limit.";
        vec![post(finding("src/page.ts", 8, 7, text))]
    });
    let world = world(script);
    let ran = world.review();
    let summary = ended(&ran);
    let prompt = first_prompt(&world);
    assert!(prompt.contains("It closes issue #12:"), "{prompt}");
    assert!(prompt.contains(CRITERION) && prompt.contains("says octo/shop"));
    // An issue that the token cannot see is named, to the model and to people.
    assert!(
        prompt.contains("It also closes these, which cannot be read"),
        "{prompt}"
    );
    assert!(prompt.contains("other/lib#3"), "{prompt}");
    assert!(!prompt.contains("says other/lib"), "{prompt}");
    assert!(summary.contains("`other/lib#3`"), "{summary}");
    assert!(!summary.contains("`#12`"), "{summary}");
    let review = world.github.expect_review();
    let comments = review["comments"].as_array().expect("comments");
    assert!(comments[0]["body"].to_string().contains("twenty rows"));
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn without_the_right_to_read_issues_they_are_named_and_the_review_goes_on() {
    let world = world(Script::new());
    world.github.with(|state| state.repository.private = true);
    let permissions = ["contents:read", "pull-requests:write", "checks:write"];
    let identity = Identity::github_actions(&permissions);
    world.github.token(GitHub::TOKEN, identity);
    let ran = world.run(&world.opened().quick());
    ran.ended(0, "clean");
    assert!(
        ran.summary.contains("`#12`, `other/lib#3`"),
        "{}",
        ran.summary
    );
    assert!(ran.summary.contains("`issues: read`"), "{}", ran.summary);
    assert!(!first_prompt(&world).contains(CRITERION));
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_private_issue_that_a_description_names_is_not_read_into_a_public_review() {
    let world = world(Script::new());
    world.github.with(|state| {
        for issue in &mut state.issues {
            issue.seen = issue.repository == "other/lib";
        }
    });
    let ran = world.run(&world.opened().quick());
    ran.ended(0, "clean");
    assert!(!first_prompt(&world).contains("says other/lib"));
    assert!(ran.summary.contains("`other/lib#3`"), "{}", ran.summary);
    world.github.expect_check_run();
    world.finish();
}
