//! The check of a merge group, which rests on the reviews of its pull requests.

use super::numbers;
use crate::plan::queue::{Member, Obstacle};
use reviewer_text::count::plural;
use reviewer_text::sentence::code;

/// The title of a merge group's check.
#[must_use]
pub fn title(members: &[u64], lacking: usize) -> String {
    match (members, lacking) {
        ([], _) => "The merge group could not be judged".into(),
        ([one], 0) => format!("#{one} is reviewed"),
        (all, 0) => format!(
            "All {} pull requests of the group are reviewed: {}",
            all.len(),
            numbers(all)
        ),
        (all, lacking) => format!(
            "{lacking} of {} keep the group from being merged",
            plural(all.len(), "pull request")
        ),
    }
}

/// The advice for a group that must not be merged.
#[must_use]
pub fn advice() -> &'static str {
    "Take the pull requests that are named here out of the queue, let them be reviewed, and queue them again."
}

/// Says why a pull request of the group must not be merged.
#[must_use]
pub fn obstacle(member: &Member, obstacle: &Obstacle) -> String {
    let (number, head) = (member.number, member.head.short());
    match obstacle {
        Obstacle::Unreviewed => {
            format!("#{number} has no finished review of {head} that this run can verify.")
        }
        Obstacle::Concluded(verdict) => {
            format!("The review of #{number} concluded {verdict} on {head}.")
        }
        Obstacle::OtherBase { reviewed, wanted } => {
            let (reviewed, wanted) = (code(reviewed), code(wanted));
            format!("#{number} was reviewed against {reviewed}, not {wanted}.")
        }
    }
}

/// Nobody can tell what a group is made of.
#[must_use]
pub fn unreadable() -> &'static str {
    "The pull requests of the merge group could not be read: the queue does not list its commit, and its branch does not \
     name the one pull request on top of the base."
}

/// Records are believed by their signature only.
#[must_use]
pub fn without_key() -> &'static str {
    "There is no key to verify reviews with: give the job the same `state_key` as the one that reviews, or the same \
     `opencode_api_key`."
}
