//! Dismissals of the reviewer's own earlier judgements. Each is tried once in a run, and GitHub's refusal is remembered.

use super::Judgements;
use crate::host::Job;
use std::sync::{MutexGuard, PoisonError};

#[derive(Default)]
pub(super) struct Tried {
    pub dismissed: Vec<u64>,
    /// The reviews that GitHub did not let be dismissed, and its reason.
    pub kept: Vec<(u64, String)>,
}

impl Judgements {
    /// Dismisses reviews, each tried once in a run.
    pub(super) async fn dismiss(&self, job: &Job<'_>, reviews: &[u64], message: &str) {
        for id in reviews {
            if self.dismissed().contains(id) || self.is_kept(*id) {
                continue;
            }
            let dismissed = job.github.dismiss_review(&job.pr, *id, message).await;
            let mut tried = self.tried();
            match dismissed {
                Ok(()) => tried.dismissed.push(*id),
                Err(error) => tried.kept.push((*id, error.to_string())),
            }
        }
    }

    pub(super) fn dismissed(&self) -> Vec<u64> {
        self.tried().dismissed.clone()
    }

    pub(super) fn is_kept(&self, id: u64) -> bool {
        self.tried().kept.iter().any(|(kept, _)| *kept == id)
    }

    /// GitHub's reason for not letting one of these be dismissed.
    pub(super) fn why_kept(&self, reviews: &[u64]) -> Option<String> {
        let tried = self.tried();
        let mut kept = tried.kept.iter();
        let kept = kept.find(|(id, _)| reviews.contains(id));
        kept.map(|(_, why)| why.clone())
    }

    pub(super) fn tried(&self) -> MutexGuard<'_, Tried> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
