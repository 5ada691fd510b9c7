//! An approval carries over only to a head that changes the same things.

use super::*;

async fn same(github: &GitHub, from: &CommitSha, to: &CommitSha) -> bool {
    let client = client(github, KEEPER);
    client
        .is_same_change(&key(1).repo, "main", from, to)
        .await
        .unwrap()
}

/// Merges the base into the branch, as the button "Update branch" does.
fn update_branch(github: &GitHub, number: u64, changes: &[Change]) -> CommitSha {
    let (old, main) = (
        head(github, number),
        github.with(|state| state.branch_head("main").unwrap()),
    );
    let sha = github.commit("feature", &[old.as_str(), &main], changes);
    github.push(number, &sha);
    sha.parse().unwrap()
}

#[tokio::test]
async fn an_updated_branch_that_changes_nothing_is_the_same_change() {
    let (github, number) = shop();
    let before = head(&github, number);
    assert!(same(&github, &before, &before).await);
    let main = github.with(|state| state.branch_head("main").unwrap());
    github.commit("main", &[&main], &[Change::write("c.txt", "c\n")]);
    let updated = update_branch(&github, number, &[Change::write("c.txt", "c\n")]);
    assert!(same(&github, &before, &updated).await);
    github.finish();
}

#[tokio::test]
async fn any_other_byte_mode_or_file_is_another_change() {
    for change in [
        Change::write("b.txt", "b \n"),
        Change::executable("b.txt", "b\n"),
        Change::write("d.txt", "d\n"),
        Change::rename("b.txt", "e.txt"),
        Change::remove("b.txt"),
        Change::remove("a.txt"),
    ] {
        let (github, number) = shop();
        let before = head(&github, number);
        let after = push(&github, number, std::slice::from_ref(&change));
        assert!(!same(&github, &before, &after).await, "{change:?}");
        github.finish();
    }
}

#[tokio::test]
async fn a_head_that_is_gone_is_never_the_same() {
    let (github, number) = shop();
    let gone = "1".repeat(40).parse().unwrap();
    assert!(!same(&github, &gone, &head(&github, number)).await);
    assert!(!same(&github, &head(&github, number), &gone).await);
    github.finish();
}

#[tokio::test]
async fn more_files_than_github_lists_are_never_the_same() {
    let (github, number) = shop();
    let many: Vec<Change> = (0..299)
        .map(|index| Change::write(&format!("many/{index}"), "x\n"))
        .collect();
    let before = push(&github, number, &many[..298]);
    let after = push(&github, number, &[]);
    // With `b.txt` these are 299 files, all of which GitHub lists.
    assert!(same(&github, &before, &after).await);
    let before = push(&github, number, &many);
    let after = push(&github, number, &[]);
    assert!(!same(&github, &before, &after).await);
    github.finish();
}
