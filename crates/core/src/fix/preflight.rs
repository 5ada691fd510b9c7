//! The checks before the first request of a fix: rights, labels, the state of the pull request, its head and branch. Every
//! reason is a sentence that a person reads.

use crate::authority::{Action, Person, judge};
use crate::domain::Login;

/// The label that keeps a pull request from being fixed.
pub const NO_FIX: &str = "no-fix";

/// The facts that the checks need.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Facts<'a> {
    /// The input `fix` is `off`.
    pub off: bool,
    /// The person who asked; `None` where a review is followed by a fix of its own.
    pub asked_by: Option<(&'a Login, Person)>,
    pub labels: &'a [String],
    pub closed: bool,
    pub merged: bool,
    pub locked: bool,
    /// In a merge queue.
    pub queued: bool,
    /// The head is not the one that was read.
    pub head_moved: bool,
    /// The head's branch exists.
    pub has_branch: bool,
    /// The fix is to be pushed.
    pub pushes: bool,
    pub from_fork: bool,
    /// The branch takes no push of this token.
    pub protected: bool,
    /// The token may write contents.
    pub may_push: bool,
    /// Reports can be signed.
    pub can_sign: bool,
    /// All comments and reviews were read in time.
    pub read_all: bool,
    /// The number of issues, optional ones included.
    pub issues: usize,
}

/// The reason why nothing is fixed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFixed {
    #[error("Nothing was fixed: input fix is off.")]
    Off,
    #[error(
        "Nothing was fixed: {0} has no write access to the repository, and only people who have may ask for a fix."
    )]
    NoAccess(Login),
    #[error("Nothing was fixed: the pull request carries the label {NO_FIX}.")]
    Label,
    #[error("Nothing was fixed: somebody stopped it while the fixer worked.")]
    Stopped,
    #[error("Nothing was fixed: the pull request is merged already.")]
    Merged,
    #[error("Nothing was fixed: the pull request is closed; reopen it and ask again.")]
    Closed,
    #[error("Nothing was fixed: the conversation of the pull request is locked.")]
    Locked,
    #[error(
        "Nothing was fixed: the pull request is in a merge queue, and a commit would take it out."
    )]
    Queued,
    #[error("Nothing was fixed: the head has moved since it was read; ask again for the new one.")]
    HeadMoved,
    #[error("Nothing was fixed: the branch of the pull request is gone.")]
    NoBranch,
    #[error(
        "Nothing was fixed: the branch takes changes by pull requests only. Set fix_delivery to pull_request or patch."
    )]
    Protected,
    #[error(
        "Nothing was fixed: the token may not push. Give the job `contents: write`, or set input fix_delivery to patch."
    )]
    NoPermission,
    #[error(
        "Nothing was fixed: without a key nothing can be signed, and cycles could not be counted. Set input state_key."
    )]
    NoKey,
    #[error("Nothing was fixed: not all comments could be read within 30 seconds; ask again.")]
    NotRead,
    #[error("Nothing was fixed: there is nothing left that may be fixed.")]
    NothingToFix,
}

/// True if a label keeps the pull request from being fixed.
#[must_use]
pub fn has_no_fix(labels: &[String]) -> bool {
    labels
        .iter()
        .any(|label| label.eq_ignore_ascii_case(NO_FIX))
}

/// Returns the first reason why nothing may be fixed.
pub fn preflight(facts: &Facts<'_>) -> Result<(), NotFixed> {
    if facts.off {
        return Err(NotFixed::Off);
    }
    if let Some((login, person)) = facts.asked_by
        && judge(person, Action::Fix).is_err()
    {
        return Err(NotFixed::NoAccess(login.clone()));
    }
    let pushes = facts.pushes && !facts.from_fork;
    let reasons = [
        (facts.merged, NotFixed::Merged),
        (facts.closed, NotFixed::Closed),
        (facts.locked, NotFixed::Locked),
        (has_no_fix(facts.labels), NotFixed::Label),
        (facts.queued, NotFixed::Queued),
        (facts.head_moved, NotFixed::HeadMoved),
        (pushes && !facts.has_branch, NotFixed::NoBranch),
        (pushes && !facts.may_push, NotFixed::NoPermission),
        (pushes && facts.protected, NotFixed::Protected),
        (!facts.can_sign, NotFixed::NoKey),
        (!facts.read_all, NotFixed::NotRead),
        (facts.issues == 0, NotFixed::NothingToFix),
    ];
    let mut reasons = reasons.into_iter();
    match reasons.find(|(applies, _)| *applies) {
        Some((_, reason)) => Err(reason),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready() -> Facts<'static> {
        Facts {
            off: false,
            asked_by: None,
            labels: &[],
            closed: false,
            merged: false,
            locked: false,
            queued: false,
            head_moved: false,
            has_branch: true,
            pushes: true,
            from_fork: false,
            protected: false,
            may_push: true,
            can_sign: true,
            read_all: true,
            issues: 1,
        }
    }

    type Obstacle = fn(&mut Facts<'static>);

    #[test]
    fn every_obstacle_has_its_sentence() {
        assert_eq!(preflight(&ready()), Ok(()));
        let obstacles: [(Obstacle, NotFixed); 12] = [
            (|facts| facts.off = true, NotFixed::Off),
            (|facts| facts.merged = true, NotFixed::Merged),
            (|facts| facts.closed = true, NotFixed::Closed),
            (|facts| facts.locked = true, NotFixed::Locked),
            (|facts| facts.queued = true, NotFixed::Queued),
            (|facts| facts.head_moved = true, NotFixed::HeadMoved),
            (|facts| facts.has_branch = false, NotFixed::NoBranch),
            (|facts| facts.may_push = false, NotFixed::NoPermission),
            (|facts| facts.protected = true, NotFixed::Protected),
            (|facts| facts.can_sign = false, NotFixed::NoKey),
            (|facts| facts.read_all = false, NotFixed::NotRead),
            (|facts| facts.issues = 0, NotFixed::NothingToFix),
        ];
        for (obstacle, reason) in obstacles {
            let mut facts = ready();
            obstacle(&mut facts);
            assert_eq!(preflight(&facts), Err(reason.clone()));
            assert!(reason.to_string().starts_with("Nothing was fixed: "));
        }
    }

    #[test]
    fn the_label_no_fix_keeps_a_pull_request_as_it_is() {
        let labels = ["bug".to_owned(), "No-Fix".to_owned()];
        let with = |labels| preflight(&Facts { labels, ..ready() });
        assert_eq!(with(&labels), Err(NotFixed::Label));
        assert_eq!(with(&labels[..1]), Ok(()));
    }

    #[test]
    fn only_people_with_write_access_ask_for_a_fix() {
        let login = Login::new("ann");
        let asked = |person| {
            let asked_by = Some((&login, person));
            preflight(&Facts {
                asked_by,
                ..ready()
            })
        };
        let author = Person {
            is_author: true,
            ..Person::default()
        };
        let denied = Err(NotFixed::NoAccess(login.clone()));
        assert_eq!(asked(author), denied);
        assert_eq!(asked(author.with_access(true)), Ok(()));
        let bot = Person {
            is_bot: true,
            writes: true,
            is_author: false,
        };
        assert_eq!(asked(bot), denied);
    }

    #[test]
    fn a_fork_gets_a_patch_and_needs_no_right_to_push() {
        let fork = Facts {
            from_fork: true,
            may_push: false,
            has_branch: false,
            ..ready()
        };
        assert_eq!(preflight(&fork), Ok(()));
        let patch = Facts {
            pushes: false,
            may_push: false,
            ..ready()
        };
        assert_eq!(preflight(&patch), Ok(()));
    }
}
