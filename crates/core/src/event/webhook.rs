//! From a delivery of a webhook to what it wakes. A delivery decides nothing: it may be late, doubled, out of order or a
//! lie about anything but who signed it, so only the pointer in it is read, and GitHub is asked for the rest. Separate
//! from the events of a workflow, which start a run.

use super::{shown, wire};
use crate::domain::{CommitSha, RepoName};
use std::fmt;

/// A delivery, as far as anybody acts on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// `None` for a webhook of a repository or an organisation, which has no app.
    pub installation: Option<u64>,
    pub wakes: Wakes,
}

/// The part of the world that a delivery is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wakes {
    /// One pull request.
    Pull {
        repository: HookRepository,
        number: u64,
    },
    /// All pull requests with this head: checks have ended on it.
    Head {
        repository: HookRepository,
        sha: CommitSha,
    },
    /// All pull requests onto this branch, which has moved.
    Base {
        repository: HookRepository,
        branch: String,
    },
    /// The repository has another name or another owner now.
    Renamed {
        repository: HookRepository,
    },
    /// The app was installed, removed, suspended, or has other repositories now. `active`: it may still be used.
    Installation {
        active: bool,
    },
    Nothing(Ignored),
}

/// The repository of a delivery: the id stays when it is renamed or transferred, and is never given again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HookRepository {
    pub id: u64,
    /// The name at the time of the delivery.
    pub name: RepoName,
}

/// The reason why a delivery wakes nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ignored {
    /// The service does not listen to it.
    Event(String),
    /// It changes nothing that the service looks at.
    Action { event: String, action: String },
    /// The comment is on a plain issue.
    PlainIssue,
    /// A tag was pushed, or a branch removed.
    NoBranch,
    /// A check has only begun.
    Pending,
    /// It does not have GitHub's shape.
    Shape { event: String, problem: String },
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(event) => write!(f, "the service does not listen to {event} events"),
            Self::Action { event, action } => {
                write!(f, "the action {action:?} of {event} changes nothing here")
            }
            Self::PlainIssue => f.write_str("the comment is not on a pull request"),
            Self::NoBranch => f.write_str("the push is of a tag, or removed a branch"),
            Self::Pending => f.write_str("the check has only begun"),
            Self::Shape { event, problem } => {
                write!(
                    f,
                    "the {event} event does not have GitHub's shape: {problem}"
                )
            }
        }
    }
}

/// Every event that an app has to subscribe to, by GitHub's names. Deliveries about installations come without.
pub const EVENTS: &[&str] = &[
    "check_suite",
    "issue_comment",
    "merge_group",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "repository",
    "status",
];

/// The permissions of an App by GitHub's names, each with the access that it needs.
pub const PERMISSIONS: &[(&str, &str)] = &[
    ("checks", "write"),
    ("contents", "write"),
    ("issues", "write"),
    ("merge_queues", "read"),
    ("metadata", "read"),
    ("pull_requests", "write"),
    ("statuses", "read"),
];

/// Actions on a pull request that can change a state, a reviewer or a merge.
const PULL_ACTIONS: &[&str] = &[
    "opened",
    "reopened",
    "synchronize",
    "closed",
    "ready_for_review",
    "converted_to_draft",
    "edited",
    "labeled",
    "unlabeled",
    "locked",
    "unlocked",
    "auto_merge_disabled",
    "dequeued",
];

/// Reads a delivery: `event` is the header `X-GitHub-Event`, `body` the bytes whose signature was verified.
#[must_use]
pub fn read(event: &str, body: &[u8]) -> Webhook {
    match serde_json::from_slice::<wire::Delivery>(body) {
        Ok(delivery) => Webhook {
            installation: delivery.installation.as_ref().and_then(|one| one.id),
            wakes: wakes(event, &delivery).unwrap_or_else(Wakes::Nothing),
        },
        Err(problem) => Webhook {
            installation: None,
            wakes: Wakes::Nothing(misshapen(event, &problem.to_string())),
        },
    }
}

fn wakes(event: &str, delivery: &wire::Delivery) -> Result<Wakes, Ignored> {
    let action = delivery.action.as_deref().unwrap_or_default();
    let only = |actions: &[&str]| {
        let ignored = || Ignored::Action {
            event: shown(event),
            action: shown(action),
        };
        actions.contains(&action).then_some(()).ok_or_else(ignored)
    };
    match event {
        "pull_request" => only(PULL_ACTIONS)?,
        "pull_request_review" => only(&["submitted", "dismissed", "edited"])?,
        "pull_request_review_comment" | "issue_comment" => {
            only(&["created", "edited", "deleted"])?;
        }
        "pull_request_review_thread" => only(&["resolved", "unresolved"])?,
        "check_suite" => only(&["completed"])?,
        "repository" => only(&["renamed", "transferred"])?,
        "merge_group" => only(&["checks_requested", "destroyed"])?,
        "push" | "status" | "installation" | "installation_repositories" => {}
        _ => return Err(Ignored::Event(shown(event))),
    }
    match event {
        "installation" | "installation_repositories" => installation(event, action, delivery),
        "issue_comment" => {
            let issue = delivery.issue.as_ref();
            let on_pull = issue.filter(|issue| issue.pull_request.is_some());
            let issue = on_pull.ok_or(Ignored::PlainIssue)?;
            pull(event, delivery, issue.number)
        }
        "check_suite" => {
            let suite = delivery.check_suite.as_ref();
            head(
                event,
                delivery,
                suite.and_then(|suite| suite.head_sha.as_deref()),
            )
        }
        "status" if delivery.state.as_deref() == Some("pending") => Err(Ignored::Pending),
        "status" => head(event, delivery, delivery.sha.as_deref()),
        "push" => push(event, delivery),
        "merge_group" => merge_group(event, delivery),
        "repository" => Ok(Wakes::Renamed {
            repository: repository(event, delivery)?,
        }),
        _ => {
            let number = delivery.pull_request.as_ref().and_then(|pull| pull.number);
            pull(event, delivery, number)
        }
    }
}

fn repository(event: &str, delivery: &wire::Delivery) -> Result<HookRepository, Ignored> {
    let missing = || misshapen(event, "it names no repository");
    let given = delivery.repository.as_ref().ok_or_else(missing)?;
    let name = given
        .full_name
        .as_deref()
        .and_then(|name| name.parse().ok());
    Ok(HookRepository {
        id: given.id.ok_or_else(missing)?,
        name: name.ok_or_else(missing)?,
    })
}

fn pull(event: &str, delivery: &wire::Delivery, number: Option<u64>) -> Result<Wakes, Ignored> {
    Ok(Wakes::Pull {
        repository: repository(event, delivery)?,
        number: number
            .filter(|number| *number > 0)
            .ok_or_else(|| misshapen(event, "it names no pull request"))?,
    })
}

fn head(event: &str, delivery: &wire::Delivery, sha: Option<&str>) -> Result<Wakes, Ignored> {
    let sha = sha.and_then(|sha| sha.parse().ok());
    Ok(Wakes::Head {
        repository: repository(event, delivery)?,
        sha: sha.ok_or_else(|| misshapen(event, "it names no commit"))?,
    })
}

fn push(event: &str, delivery: &wire::Delivery) -> Result<Wakes, Ignored> {
    let pushed = delivery.pushed.as_deref();
    let pushed = pushed.ok_or_else(|| misshapen(event, "it names no branch"))?;
    let kept = delivery.deleted != Some(true);
    let branch = pushed.strip_prefix("refs/heads/").filter(|_| kept);
    Ok(Wakes::Base {
        repository: repository(event, delivery)?,
        branch: branch.ok_or(Ignored::NoBranch)?.to_owned(),
    })
}

/// The branch of a group is named after the last pull request in it. Those before it are woken by what becomes of them.
fn merge_group(event: &str, delivery: &wire::Delivery) -> Result<Wakes, Ignored> {
    let group = delivery.merge_group.as_ref();
    let last = group.and_then(|group| group.head_ref.as_deref()?.rsplit_once("/pr-"));
    let number = last.and_then(|(_, rest)| rest.split('-').next()?.parse().ok());
    pull(event, delivery, number)
}

fn installation(event: &str, action: &str, delivery: &wire::Delivery) -> Result<Wakes, Ignored> {
    let named = delivery.installation.as_ref().and_then(|one| one.id);
    named.ok_or_else(|| misshapen(event, "it names no installation"))?;
    let ended = event == "installation" && matches!(action, "deleted" | "suspend");
    Ok(Wakes::Installation { active: !ended })
}

fn misshapen(event: &str, problem: &str) -> Ignored {
    Ignored::Shape {
        event: shown(event),
        problem: shown(problem),
    }
}

#[cfg(test)]
#[path = "webhook_tests.rs"]
mod tests;
