//! A dry run: what would be written is kept, and answered as if it had been. Separate from the calls, so that none of
//! them has to think of it: whatever does more than read ends here, and no request is made.

use super::error::ApiError;
use super::exchange::{Answer, Call, Class, without_own};
use http::HeaderMap;
use reviewer_core::report::dry_run::Unsent;
use reviewer_text::redact::Redactor;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Everything that a dry run would have written, in order. Its clones are one.
#[derive(Debug, Clone, Default)]
pub struct DryRun(Arc<Mutex<Vec<Unsent>>>);

impl DryRun {
    #[must_use]
    pub fn unsent(&self) -> Vec<Unsent> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone()
    }

    /// Answers in GitHub's place: with things that have no address, and whose number no thing of GitHub's has.
    pub(super) fn answer(&self, call: &Call, redactor: &Redactor) -> Result<Arc<Answer>, ApiError> {
        if call.class == Class::Read {
            // It asks whether something may be written. A dry run does not depend on it.
            return Err(ApiError::NotFound {
                call: call.name,
                hint: call.hint,
            });
        }
        let body = call.body.as_ref().unwrap_or(&Value::Null);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Unsent {
            name: call.name,
            route: call.route.clone(),
            body: without_own(body, redactor),
        });
        let answer = if call.graphql {
            json!({ "data": {} })
        } else {
            json!({ "id": 0 })
        };
        Ok(Arc::new(Answer {
            headers: HeaderMap::new(),
            body: answer.to_string(),
        }))
    }
}
