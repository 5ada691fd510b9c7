//! People take precedence: their commits on top of a fix, and their reverts of it.

use super::rounds::never_content;
use super::*;

#[test]
fn a_commit_of_a_person_on_top_of_a_fix_needs_a_new_command() {
    let story = Story::real(never_content()).with("fix", "auto").with_app();
    story.review();
    assert_eq!(story.seen().commits, 1);
    let file = Change::write("src/more.ts", "export {};\n");
    let push = story.pushes(&story.head(), "Add a file", &[file]);
    let ran = story.run(push);
    ran.ended(0, "findings");
    notes(&ran, "somebody committed on top of a fix");
    let seen = story.seen();
    assert_eq!((seen.commits, seen.told.len()), (0, 0), "{seen:#?}");
    story.asks("writer", "fix");
    assert_eq!(story.seen().commits, 1, "a command goes on");
    story.finish();
}

/// A fix that an app pushed, and the commits before and after it.
fn fixed_once(story: Story) -> (Story, String, String) {
    let story = story.with("fix", "auto").with_app();
    let before = story.head();
    let ran = story.review();
    let fix = story.head();
    assert_ne!(before, fix, "{:#?}", ran.report);
    story.seen();
    (story, before, fix)
}

#[test]
fn a_reverted_fix_ends_fixing_even_after_a_force_push() {
    for by_trailer in [true, false] {
        let (story, before, fix) = fixed_once(Story::real(never_content()));
        let message = if by_trailer {
            format!("Revert \"Fix 1 review finding\"\n\nThis reverts commit {fix}.")
        } else {
            "As it was".to_owned()
        };
        let ran = story.run(story.pushes(&fix, &message, &[LOST_PAGE.unfixed()]));
        let seen = story.seen();
        assert_eq!(
            (seen.commits, seen.told.len()),
            (0, 1),
            "{}\n{seen:#?}",
            ran.log
        );
        assert!(
            seen.told[0].contains("was reverted. Nothing more is fixed here"),
            "{}",
            seen.told[0]
        );
        // The branch begins anew, without the fix and without its revert.
        let file = Change::write("src/more.ts", "export {};\n");
        let push = story.pushes(&before, "Another way", &[file]);
        let ran = story.run(push);
        let seen = story.seen();
        assert_eq!(
            (seen.commits, seen.told.len()),
            (0, 0),
            "{}\n{seen:#?}",
            ran.log
        );
        story.asks("writer", "fix");
        story
            .seen()
            .only_says("was reverted. `@review-my-code-bot fix resume` lets it go on.");
        story.asks("writer", "fix resume");
        let seen = story.seen();
        assert_eq!(seen.commits, 1, "{:#?}", seen.told);
        story.finish();
    }
}

#[test]
fn a_reverted_fix_of_one_finding_ends_that_finding_only() {
    let reviews = vec![
        vec![LOST_PAGE.raised(7), EMPTY_CART.raised(7)],
        vec![INJECTION.raised(7)],
    ];
    let (story, _, fix) = fixed_once(Story::new(fixer(reviewer(reviews))));
    let ran = story.run(story.pushes(&fix, "The page as it was", &[LOST_PAGE.unfixed()]));
    let seen = story.seen();
    assert_eq!(seen.told.len(), 1, "{}\n{seen:#?}", ran.log);
    assert!(
        seen.told[0].contains("The fix of 1 finding was taken back."),
        "{}",
        seen.told[0]
    );
    story.asks("writer", "fix");
    let seen = story.seen();
    assert_eq!(seen.commits, 1, "{:#?}", seen.told);
    assert!(
        story.file("src/page.ts").contains(LOST_PAGE.old),
        "not tried again"
    );
    assert!(story.file("src/orders.ts").contains(INJECTION.new));
    story.finish();
}

#[test]
fn a_revert_is_noticed_where_fixes_are_made_on_request() {
    let story = Story::new(one_finding());
    story.review();
    let before = story.head();
    story.asks("writer", "fix");
    let fix = story.head();
    assert_ne!(before, fix);
    story.seen();
    let message = format!("No\n\nThis reverts commit {fix}.");
    for _ in 0..2 {
        story.run(story.pushes(&fix, &message, &[LOST_PAGE.unfixed()]));
    }
    assert_eq!(story.seen().told.len(), 1, "once");
    story.finish();
}
