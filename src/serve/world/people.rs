//! Effects that turn to people: requests for reviews, and comments that call somebody.

use super::{Answered, ServiceWorld};
use crate::serve::accounts::effect_error;
use reviewer_core::domain::{Login, PrKey};
use reviewer_core::lifecycle::{CallReason, Millis, PullKey};
use reviewer_core::publish::comment::service;
use reviewer_engine::{EffectError, EffectId};
use reviewer_github::ReviewRequest;

/// An effect whose comments were read longer ago may be another process's by now: leases last 60 seconds, and a process that was
/// frozen does not know that it has lost one.
const FRESH_MS: i64 = 45_000;

impl ServiceWorld {
    /// The mark of a call. The numbers of effects begin anew in another store, and once a life was forgotten.
    pub(crate) fn mark(&self, id: &str, born: Millis) -> String {
        let store = &self.store;
        match born {
            0 => service::call_marker(&format!("{store}/{id}")),
            born => service::call_marker(&format!("{store}/{born}/{id}")),
        }
    }

    pub(super) async fn request(&self, key: PullKey, logins: &[Login]) -> Answered {
        let (place, facts) = (self.place(key).await?, self.facts(key).await?);
        let github = self.github(&place).await?;
        let pr = PrKey {
            repo: place.name.clone(),
            number: key.number,
        };
        let asked = github.request_reviewers(&pr, &facts.head, logins).await;
        let asked = asked.map_err(|error| effect_error(&error))?;
        let refused: Vec<String> = asked
            .iter()
            .filter_map(|(login, outcome)| match outcome {
                ReviewRequest::NoAccess => Some(format!("{login} has no access")),
                ReviewRequest::Refused { message } => Some(format!("{login}: {message}")),
                _ => None,
            })
            .collect();
        if refused.is_empty() {
            Ok(None)
        } else {
            let why = refused.join("; ");
            Err(EffectError::permanent(format!(
                "GitHub did not take the request for a review: {why}."
            )))
        }
    }

    /// Posts the call, unless it is there.
    pub(super) async fn call(
        &self,
        key: PullKey,
        id: &EffectId,
        reason: &CallReason,
        logins: &[Login],
    ) -> Answered {
        let place = self.place(key).await?;
        let github = self.github(&place).await?;
        let pr = PrKey {
            repo: place.name.clone(),
            number: key.number,
        };
        let marker = self.mark(&id.to_string(), self.state(key).await?.born);
        let begun = self.claims.clock.now_ms();
        let comments = github.issue_comments(&pr).await;
        let comments = comments.map_err(|error| effect_error(&error))?;
        let is_own = |author: Option<&Login>| author == Some(&self.login);
        let mut own = comments.iter().filter(|one| is_own(one.author.as_ref()));
        if own.any(|one| one.body.contains(&marker)) {
            return Ok(None);
        }
        if self.claims.clock.now_ms().saturating_sub(begun) > FRESH_MS {
            let why = "The comments took too long to read.";
            return Err(EffectError::temporary(why));
        }
        let body = service::call(&marker, reason, logins, &self.settings.mention);
        let posted = github.comment(&pr, &body).await;
        posted.map(|_| None).map_err(|error| effect_error(&error))
    }
}
