//! The ways in which a fix reaches people: a commit, a pull request onto the branch, or a file.

use super::*;
use crate::standin::github::state::HeadRepository;
use std::process::{Command, Stdio};

#[test]
fn a_fix_can_be_a_pull_request_onto_the_branch() {
    let story = Story::new(one_finding()).with("fix_delivery", "pull_request");
    let github = &story.world.github;
    github.with(|state| state.repository.actions_may_approve = true);
    story.review();
    let before = story.head();
    story.seen();
    story.asks("writer", "fix").ended(0, "findings");
    assert_eq!(story.head(), before, "the branch stays as it is");
    let seen = story.seen();
    assert_eq!(
        (seen.commits, seen.branches, seen.pulls),
        (1, 1, 1),
        "{seen:#?}"
    );
    assert_eq!(seen.told.len(), 1, "{seen:#?}");
    assert!(seen.told[0].contains("The fix waits in a pull request onto this branch: "));
    let stacked = story.world.github.with(|state| {
        let last = state.pulls.values().next_back().expect("a pull request");
        (last.base.branch.clone(), last.head.sha.clone())
    });
    assert_eq!(stacked.0, "search");
    assert!(
        story
            .file_at(&stacked.1, LOST_PAGE.file)
            .contains(LOST_PAGE.new)
    );
    story.finish();
}

/// Applies the patch that a run left to a file of the head, as a person would.
fn applied(story: &Story, ran: &Ran, path: &str) -> String {
    let name = ran.outputs.get("patch_file").expect("the output");
    let content = std::fs::read(story.world.workspace().join(name)).expect("the patch");
    let folder = crate::standin::world::open_folder();
    let file = folder.path().join(path);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(&file, story.file(path)).expect("the file of the head");
    let mut git = Command::new("git")
        .args(["apply", "-"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("git starts");
    std::io::Write::write_all(&mut git.stdin.take().expect("piped"), &content).expect("git reads");
    assert!(git.wait().expect("git ends").success());
    std::fs::read_to_string(file).expect("the fixed file")
}

fn leaves_a_patch(story: &Story, ran: &Ran, before: &str) {
    assert_eq!(story.head(), before);
    let seen = story.seen();
    assert_eq!((seen.commits, seen.branches), (0, 0), "{seen:#?}");
    assert_eq!(seen.told.len(), 1, "{seen:#?}");
    assert!(
        seen.headlines()[0].starts_with("### A patch for 1 of 1 finding"),
        "{:#?}",
        seen.told
    );
    assert!(
        seen.told[0].contains("Nothing was pushed"),
        "{}",
        seen.told[0]
    );
    let fixed = applied(story, ran, LOST_PAGE.file);
    let expected = story
        .file(LOST_PAGE.file)
        .replace(LOST_PAGE.old, LOST_PAGE.new);
    assert_eq!(fixed, expected);
}

#[test]
fn a_fix_can_be_a_patch() {
    let story = Story::new(one_finding()).with("fix_delivery", "patch");
    story.review();
    let before = story.head();
    story.seen();
    let ran = story.asks("writer", "fix");
    leaves_a_patch(&story, &ran, &before);
    story.finish();
}

#[test]
fn a_fork_gets_a_patch() {
    let story = Story::new(one_finding());
    story.world.github.pull(story.world.pull, |pull| {
        pull.author = "stranger".into();
        pull.head.repository = Some(HeadRepository {
            full_name: "stranger/shop".into(),
            id: 777,
            fork: true,
        });
    });
    story.asks("writer", "review");
    let before = story.head();
    story.seen();
    story.asks("stranger", "fix");
    let seen = story.seen();
    assert_eq!(seen.commits, 0, "{seen:#?}");
    let ran = story.asks("writer", "fix");
    leaves_a_patch(&story, &ran, &before);
    story.finish();
}

#[test]
fn a_fix_whose_pull_request_may_not_be_opened_names_its_branch() {
    // As repositories are by default: Actions may not open pull requests.
    let story = reviewed(Story::new(one_finding()).with("fix_delivery", "pull_request"));
    let before = story.head();
    let ran = story.asks("writer", "fix");
    assert_eq!(steps(&ran), ["fix_created", "fix_completed"], "{}", ran.log);
    assert_eq!(story.head(), before, "the branch stays as it is");
    let seen = story.seen();
    assert_eq!(
        (seen.commits, seen.branches, seen.pulls),
        (1, 1, 0),
        "{seen:#?}"
    );
    assert_eq!(seen.told.len(), 1, "{seen:#?}");
    let (told, branch) = (
        &seen.told[0],
        format!("opencode-reviewer/fix-1-1-{}", &before[..7]),
    );
    let fixed = story
        .world
        .github
        .with(|state| state.git.commit_of(&branch))
        .expect("the branch");
    assert!(
        story
            .file_at(&fixed, LOST_PAGE.file)
            .contains(LOST_PAGE.new)
    );
    let headline = format!("### Fixed 1 of 1 finding in {}", &fixed[..7]);
    assert!(told.contains(&headline), "{told}");
    let waits = format!(
        "The fix waits on the branch `{branch}`; open a pull request with it, or delete it."
    );
    assert!(told.contains(&waits), "{told}");
    assert!(told.contains("None could be opened: "), "{told}");
    story.finish();
}

#[test]
fn a_push_with_the_token_of_an_app_leaves_the_review_to_its_event() {
    let story = Story::new(one_finding());
    let app = Identity::app("reviewer", &CONTENTS);
    story.world.github.token(GitHub::TOKEN, app);
    let story = reviewed(story);
    let ran = story.asks("writer", "fix");
    assert_eq!(steps(&ran), ["fix_created", "fix_completed"], "{}", ran.log);
    assert!(!ran.log.contains("starts no workflow"), "{}", ran.log);
    let seen = story.seen();
    assert_eq!((seen.commits, seen.told.len()), (1, 1), "{seen:#?}");
    let next = "The next review says whether the findings are fixed.";
    assert!(seen.told[0].contains(next), "{}", seen.told[0]);
    story.run(story.started()).ended(0, "clean");
    story.finish();
}
