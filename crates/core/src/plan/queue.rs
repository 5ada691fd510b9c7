//! The merge queue: finds the pull requests of a merge group, and decides if each of them may be merged. The merged
//! tree is not compared.

use super::neighbours::OnHead;
use crate::domain::{CommitSha, QueueEntry};
use crate::event::MergeGroup;

/// A pull request of the group, at the head that was queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub number: u64,
    pub head: CommitSha,
}

/// The entries of the queue from the group's commit back to its base, the first to be merged first. `None` where the
/// queue does not tell all of them.
#[must_use]
pub fn members(group: &MergeGroup, entries: &[QueueEntry]) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    let mut at = &group.head;
    while *at != group.base {
        // Entries in a circle would never end.
        let entry = entries.iter().find(|entry| entry.commit == *at)?;
        if members.len() == entries.len() {
            return None;
        }
        members.push(Member {
            number: entry.number,
            head: entry.pull_head.clone(),
        });
        at = &entry.base;
    }
    members.reverse();
    Some(members)
}

/// The one pull request that the group's branch names, where it says that there is no other:
/// `gh-readonly-queue/<base>/pr-<number>-<the commit below>`.
#[must_use]
pub fn named(group: &MergeGroup) -> Option<u64> {
    let name = group.head_ref.strip_prefix("refs/heads/");
    let name = name.unwrap_or(&group.head_ref);
    let rest = name.strip_prefix("gh-readonly-queue/")?;
    let rest = rest.strip_prefix(group.base_ref.as_str())?;
    let (number, below) = rest.strip_prefix("/pr-")?.split_once('-')?;
    let number = number.parse().ok()?;
    (below == group.base.as_str()).then_some(number)
}

/// The reason why a pull request must not be merged by a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    Unreviewed,
    /// With this verdict.
    Concluded(String),
    OtherBase {
        reviewed: String,
        wanted: String,
    },
}

/// The reason why a pull request must not be merged by this group; `None`: it may.
#[must_use]
pub fn obstacle(group: &MergeGroup, member: &Member, on_head: &OnHead<'_>) -> Option<Obstacle> {
    let Some((record, _)) = on_head.concluded(member.number) else {
        return Some(Obstacle::Unreviewed);
    };
    if !record.succeeded() {
        return Some(Obstacle::Concluded(record.verdict));
    }
    (record.base_ref != group.base_ref).then(|| Obstacle::OtherBase {
        reviewed: record.base_ref,
        wanted: group.base_ref.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha(digit: &str) -> CommitSha {
        digit.repeat(40).parse().unwrap()
    }

    fn group(head: &str, base: &str) -> MergeGroup {
        MergeGroup {
            repo: "acme/shop".parse().unwrap(),
            head: sha(head),
            head_ref: format!("refs/heads/gh-readonly-queue/main/pr-2-{}", base.repeat(40)),
            base: sha(base),
            base_ref: "main".into(),
        }
    }

    fn entry(number: u64, base: &str, commit: &str) -> QueueEntry {
        QueueEntry {
            number,
            pull_head: sha("f"),
            base: sha(base),
            commit: sha(commit),
        }
    }

    #[test]
    fn a_group_is_what_lies_between_its_commit_and_its_base() {
        let entries = [entry(1, "a", "b"), entry(2, "b", "c"), entry(3, "c", "d")];
        let of = |head, base| {
            let members = members(&group(head, base), &entries)?;
            Some(members.iter().map(|one| one.number).collect::<Vec<_>>())
        };
        assert_eq!(of("c", "a"), Some(vec![1, 2]));
        assert_eq!(of("c", "b"), Some(vec![2]));
        assert_eq!(of("d", "a"), Some(vec![1, 2, 3]));
        assert_eq!(of("e", "a"), None, "the queue does not have it");
        assert_eq!(of("d", "9"), None, "the chain does not end at the base");
        let circle = [entry(1, "b", "c"), entry(2, "c", "b")];
        assert_eq!(members(&group("c", "a"), &circle), None);
    }

    #[test]
    fn a_branch_names_its_pull_request_where_it_lies_on_the_base() {
        assert_eq!(named(&group("c", "b")), Some(2));
        let renamed = |head_ref: &str| {
            let head_ref = head_ref.to_owned();
            named(&MergeGroup {
                head_ref,
                ..group("c", "b")
            })
        };
        let below = "b".repeat(40);
        let other = "a".repeat(40);
        assert_eq!(
            renamed(&format!("gh-readonly-queue/main/pr-7-{below}")),
            Some(7)
        );
        for odd in [
            format!("refs/heads/gh-readonly-queue/main/pr-7-{other}"),
            format!("refs/heads/gh-readonly-queue/other/pr-7-{below}"),
            format!("refs/heads/gh-readonly-queue/main/pr-x-{below}"),
            "refs/heads/main".into(),
        ] {
            assert_eq!(renamed(&odd), None, "{odd}");
        }
    }
}
