//! A merge in the way that GitHub offers for the pull request: its queue, its auto-merge, or at once. Bound to the head that was
//! approved in each of them.

use super::accounts::effect_error;
use reviewer_core::domain::{CommitSha, PrKey};
use reviewer_core::lifecycle::MergeAnswer;
use reviewer_engine::EffectError;
use reviewer_github::{
    GitHub, MergeMethod, MergeRefusal, MergeState, Mergeable, Probe, ProbedState,
};

/// The way to merge, by what a probe shows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// There is nothing to do, or nothing can be done.
    Answer(MergeAnswer),
    Queue,
    /// GitHub merges once its rules are met.
    Arm,
    Now,
}

fn way(probe: &Probe, head: &CommitSha) -> Way {
    let refused = |why: &str| {
        Way::Answer(MergeAnswer::Refused {
            why: why.to_owned(),
        })
    };
    match &probe.state {
        ProbedState::Merged { .. } if probe.head == *head => {
            return Way::Answer(MergeAnswer::Merged);
        }
        ProbedState::Merged { .. } | ProbedState::Closed => {
            return refused("The pull request is not open any more.");
        }
        ProbedState::Open => {}
    }
    if probe.head != *head {
        return Way::Answer(MergeAnswer::Moved);
    }
    if probe.in_merge_queue {
        return Way::Answer(MergeAnswer::Queued);
    }
    if probe.auto_merge_armed {
        return Way::Answer(MergeAnswer::Armed);
    }
    if probe.mergeable == Mergeable::Conflicting {
        return refused("The pull request has conflicts with its base.");
    }
    match probe.merge_state {
        MergeState::Unknown => Way::Answer(MergeAnswer::Unknown),
        _ if probe.mergeable == Mergeable::Unknown => Way::Answer(MergeAnswer::Unknown),
        MergeState::Draft => refused("The pull request is a draft."),
        MergeState::Dirty => refused("The pull request has conflicts with its base."),
        _ if probe.merge_queue => Way::Queue,
        MergeState::Clean | MergeState::Unstable | MergeState::HasHooks => Way::Now,
        MergeState::Blocked | MergeState::Behind if probe.auto_merge_allowed => Way::Arm,
        MergeState::Blocked => refused(
            "GitHub's rules for the base branch are not met yet: a required check or review is missing.",
        ),
        MergeState::Behind => {
            refused("The base branch has moved, and its rules ask for an update of the branch.")
        }
    }
}

/// Merges this head, or says why it cannot be merged now.
pub(crate) async fn merge(
    github: &GitHub,
    probe: &Probe,
    head: &CommitSha,
) -> Result<MergeAnswer, EffectError> {
    let pr = PrKey {
        repo: probe.repo.clone(),
        number: probe.number,
    };
    let method = probe.methods.first().copied().unwrap_or(MergeMethod::Merge);
    let now = || async {
        let merged = github.merge_pull_request(&pr, head, &probe.methods).await;
        merged.map(|_| MergeAnswer::Merged)
    };
    let queue = || async {
        let queued = github.enqueue_pull_request(&pr, &probe.node_id, head).await;
        queued.map(|()| MergeAnswer::Queued)
    };
    let answered = match way(probe, head) {
        Way::Answer(answer) => return Ok(answer),
        Way::Queue => queue().await,
        Way::Now => match now().await {
            Err(MergeRefusal::NeedsQueue { .. }) => queue().await,
            answered => answered,
        },
        Way::Arm => {
            let armed = github
                .enable_auto_merge(&pr, &probe.node_id, head, method)
                .await;
            match armed {
                Err(MergeRefusal::Ready { .. }) => now().await,
                armed => armed.map(|()| MergeAnswer::Armed),
            }
        }
    };
    match answered {
        Ok(answer) => Ok(answer),
        Err(MergeRefusal::Moved { .. }) => Ok(MergeAnswer::Moved),
        Err(MergeRefusal::Api(error)) => Err(effect_error(&error)),
        Err(refusal) => Ok(MergeAnswer::Refused {
            why: refusal.to_string(),
        }),
    }
}
