//! Who may have something fixed, what they can order, and what is then fixed.

use super::*;

#[test]
fn only_people_with_write_access_have_something_fixed() {
    let story = reviewed(Story::new(one_finding()));
    story.world.github.permit("reader", "read");
    story.asks("dev", "fix");
    story
        .seen()
        .only_says("Nothing was fixed: dev has no write access to the repository");
    // Whoever may not have a review either gets no comment: strangers cost nothing.
    for login in ["reader", "stranger", "helper[bot]"] {
        story.asks(login, "fix").ended(0, "skipped");
        story.seen().is_silent();
    }
    story.finish();
}

#[test]
fn nothing_is_fixed_where_the_workflow_or_a_label_says_so() {
    let story = reviewed(Story::new(one_finding()).with("fix", "off"));
    story.asks("writer", "fix");
    story
        .seen()
        .only_says("Nothing was fixed: input fix is off.");
    story.finish();
    let story = reviewed(Story::new(one_finding()));
    let label = |pull: &mut crate::standin::github::state::PullRequest| {
        pull.labels.push("No-Fix".into());
    };
    story.world.github.pull(story.world.pull, label);
    let asked = story.says("writer", "fix");
    for seen in ["once", "and not again"] {
        story.run(asked.clone());
        match seen {
            "once" => story
                .seen()
                .only_says("the pull request carries the label no-fix"),
            _ => story.seen().is_silent(),
        }
    }
    story.finish();
    let story = Story::new(one_finding()).with("fix", "auto");
    story.world.github.pull(story.world.pull, label);
    let ran = story.review();
    ran.ended(0, "findings");
    notes(&ran, "the pull request carries the label no-fix");
    let seen = story.seen();
    assert_eq!((seen.commits, seen.told.len()), (0, 0), "{seen:#?}");
    story.finish();
}

#[test]
fn without_a_key_to_sign_nothing_is_fixed() {
    let story = Story::new(one_finding()).with("opencode_api_key", "sk-short");
    story.review();
    story.seen();
    story.asks("writer", "fix");
    story.seen().only_says("Set input state_key.");
    story.finish();
}

#[test]
fn a_writer_stops_fixing_and_lets_it_go_on() {
    let story = Story::new(one_finding()).with("fix", "auto");
    story.asks("dev", "fix stop");
    story.seen().only_says("dev has no write access");
    let stop = story.says("writer", "fix stop");
    story.run(stop.clone());
    story
        .seen()
        .only_says("Fixing is stopped, as `writer` asked.");
    story.run(stop);
    story.seen().is_silent();
    let ran = story.review();
    ran.ended(0, "findings");
    notes(&ran, "`writer` has stopped it");
    let seen = story.seen();
    assert_eq!((seen.commits, seen.told.len()), (0, 0), "{seen:#?}");
    story.asks("writer", "fix");
    story
        .seen()
        .only_says("`writer` has stopped it. `@review-my-code-bot fix resume` lets it go on.");
    let resume = story.says("writer", "fix resume");
    story.run(resume.clone()).ended(0, "clean");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    assert!(seen.headlines()[0].starts_with("Fixing goes on, as `writer` asked."));
    story.run(resume);
    let seen = story.seen();
    assert_eq!((seen.commits, seen.told.len()), (0, 0), "{seen:#?}");
    story.finish();
}

#[test]
fn a_fix_in_a_thread_is_of_that_finding_only() {
    let reviews = vec![vec![LOST_PAGE.raised(7), EMPTY_CART.raised(7)]];
    let story = reviewed(Story::new(fixer(reviewer(reviews))));
    let comments = story.world.github.comments();
    let cart = comments.iter().find(|one| one.path == EMPTY_CART.file);
    let root = cart.expect("the thread").id;
    story.asks_in(root, "dev", "fix");
    story.seen().only_says("dev has no write access");
    story.asks_in(root, "writer", "fix").ended(0, "findings");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    assert!(seen.headlines()[0].starts_with("### Fixed 1 of 1 finding in "));
    assert!(story.file(EMPTY_CART.file).contains(EMPTY_CART.new));
    assert!(story.file(LOST_PAGE.file).contains(LOST_PAGE.old));
    story.finish();
}

/// A fixer that does what people ask for.
fn obedient(words: &str) -> Option<(&'static str, &'static str, &'static str)> {
    let asked = [("Round up", &LOST_PAGE), ("empty carts", &EMPTY_CART)];
    let found = asked.iter().find(|(said, _)| words.contains(said));
    found.map(|(_, defect)| defect.edit())
}

fn requests_changes(story: &Story, login: &str) {
    let (github, pull) = (&story.world.github, story.world.pull);
    let place = (EMPTY_CART.file, u64::from(EMPTY_CART.line));
    github.remark(pull, login, place, "Think of empty carts.");
    github.review(pull, login, "CHANGES_REQUESTED", "Round up the pages.");
}

#[test]
fn changes_that_a_writer_requests_are_fixed_and_those_of_a_stranger_are_not() {
    let story = Story::new(reviewer(Vec::new()).fixes(obedient));
    requests_changes(&story, "stranger");
    story.review().ended(0, "clean");
    story.seen();
    story.asks("writer", "fix");
    story
        .seen()
        .only_says("Nothing was fixed: there is nothing left that may be fixed.");
    requests_changes(&story, "writer");
    story.asks("writer", "fix");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    assert!(
        seen.headlines()[0].starts_with("### Fixed 2 of 2 findings in "),
        "{:#?}",
        seen.told
    );
    assert!(story.file(LOST_PAGE.file).contains(LOST_PAGE.new));
    assert!(story.file(EMPTY_CART.file).contains(EMPTY_CART.new));
    let message = story.message();
    assert!(message.contains("Review-Finding: review-"), "{message}");
    assert!(message.contains("Review-Finding: comment-"), "{message}");
    story.finish();
}

#[test]
fn a_review_that_requests_changes_by_its_text_alone_is_fixed_on_request() {
    let story = Story::new(reviewer(Vec::new()).fixes(obedient));
    story.review().ended(0, "clean");
    story.seen();
    let (github, pull) = (&story.world.github, story.world.pull);
    github.review(pull, "writer", "CHANGES_REQUESTED", "Round up the pages.");
    story.asks("writer", "fix");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{seen:#?}");
    assert!(story.file(LOST_PAGE.file).contains(LOST_PAGE.new));
    story.finish();
}

#[test]
fn a_slight_finding_is_fixed_on_request_and_not_by_itself() {
    for in_thread in [false, true] {
        let story = Story::new(fixer(reviewer(vec![vec![NAME.raised(4)]])))
            .with("problem_score_threshold", "3");
        story.review();
        assert_eq!(story.seen().commits, 0);
        if in_thread {
            let root = story.world.github.comments()[0].id;
            story.asks_in(root, "writer", "fix");
        } else {
            story.asks("writer", "fix");
        }
        let seen = story.seen();
        assert_eq!(seen.commits, 1, "{in_thread}: {seen:#?}");
        assert!(story.file(NAME.file).contains(NAME.new));
        story.finish();
    }
    let story = Story::new(fixer(reviewer(vec![vec![NAME.raised(4)]])))
        .with("problem_score_threshold", "3")
        .with("fix", "auto");
    story.review();
    assert_eq!(story.seen().commits, 0);
    story.asks("writer", "fix resume");
    assert_eq!(story.seen().commits, 0);
    story.finish();
}

#[test]
fn the_same_request_twice_is_served_once() {
    let story = reviewed(Story::new(one_finding()));
    let asked = story.says("writer", "fix");
    story.run(asked.clone()).ended(0, "clean");
    let seen = story.seen();
    assert_eq!((seen.commits, seen.told.len()), (1, 1), "{seen:#?}");
    story.run(asked).ended(0, "clean");
    story.seen().is_silent();
    story.finish();
}

#[test]
fn what_a_writer_requested_is_fixed_once_and_then_it_is_for_the_writer_to_agree() {
    let story = Story::new(reviewer(Vec::new()).fixes(obedient)).with("fix", "auto");
    requests_changes(&story, "writer");
    let ran = story.review();
    ran.ended(0, "clean");
    assert_eq!(consensus(&ran), "request_changes");
    assert_eq!(ran.outputs["human_review_required"], "true");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    let call = seen.told.last().expect("a call");
    assert!(
        call.contains("@writer: Manual intervention required"),
        "{call}"
    );
    story.finish();
}

/// Commits and reactions of a run, in order.
fn signs(story: &Story) -> Vec<String> {
    let writes = story.world.github.take_writes().into_iter();
    let signs = writes.filter_map(|write| match write {
        Write::Commit { .. } => Some("commit".to_owned()),
        Write::Reaction { json, .. } => json["content"].as_str().map(str::to_owned),
        _ => None,
    });
    signs.collect()
}

#[test]
fn whoever_asks_for_a_fix_sees_its_end_and_not_that_of_the_review_before() {
    let story = Story::new(one_finding());
    story.review();
    signs(&story);
    story.asks("writer", "fix");
    assert_eq!(signs(&story), ["eyes", "commit", "rocket"]);
    story.finish();
    // A refusal is no success, and an order to go on is none of a fix.
    let label = |pull: &mut crate::standin::github::state::PullRequest| {
        pull.labels.push("no-fix".into());
    };
    let story = Story::new(one_finding());
    story.review();
    signs(&story);
    story.asks("writer", "fix resume");
    assert_eq!(signs(&story), ["eyes", "rocket"]);
    story.asks("dev", "fix");
    assert_eq!(signs(&story), ["eyes", "confused"]);
    story.world.github.pull(story.world.pull, label);
    story.asks("writer", "fix");
    assert_eq!(signs(&story), ["eyes", "confused"]);
    story.finish();
    // The fixer does nothing.
    let story = Story::new(reviewer(vec![vec![LOST_PAGE.raised(7)]]));
    story.review();
    signs(&story);
    story.asks("writer", "fix");
    assert_eq!(signs(&story), ["eyes", "confused"]);
    story.finish();
}

#[test]
fn the_fixer_sees_what_people_replied_and_all_that_one_of_them_requests() {
    let story = Story::new(reviewer(Vec::new()).fixes(obedient));
    let (github, pull) = (&story.world.github, story.world.pull);
    github.review(pull, "writer", "CHANGES_REQUESTED", "Round up the pages.");
    let place = (EMPTY_CART.file, u64::from(EMPTY_CART.line));
    let remark = github.remark(pull, "writer", place, "Think of empty carts.");
    github.reply(remark, "dev", "They have cost us an afternoon.");
    github.review(pull, "writer", "CHANGES_REQUESTED", "And one thing more.");
    story.review();
    story.seen();
    story.asks("writer", "fix");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    assert!(
        seen.headlines()[0].starts_with("### Fixed 2 of 3 findings in "),
        "{:#?}",
        seen.told
    );
    let requests = story.world.model.requests();
    let shown = |words: &str| {
        let mut fixes = requests
            .iter()
            .map(Value::to_string)
            .filter(|one| one.contains("Fix the issues below"));
        fixes.any(|one| one.contains(words))
    };
    assert!(shown("They have cost us an afternoon."));
    assert!(shown("reply by dev (author of the pull request)"));
    story.finish();
}
