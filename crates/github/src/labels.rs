//! Labels of a pull request.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::{Call, encoded};
use reviewer_core::domain::PrKey;
use serde_json::json;

impl GitHub {
    /// Sets a label beside those that are there. GitHub creates one that the repository does not have.
    pub async fn add_label(&self, key: &PrKey, label: &str) -> Result<(), ApiError> {
        let call = Call::post(
            "label the pull request",
            labels(key),
            json!({"labels": [label]}),
        );
        self.done(call.repeatable()).await
    }

    /// Takes a label away. One that is not set counts as taken away.
    pub async fn remove_label(&self, key: &PrKey, label: &str) -> Result<(), ApiError> {
        let route = format!("{}/{}", labels(key), encoded(label));
        let call = Call::delete("take a label from the pull request", route);
        match self.done(call).await {
            Err(error) if error.is_not_found() => Ok(()),
            outcome => outcome,
        }
    }
}

fn labels(key: &PrKey) -> String {
    format!("/repos/{}/issues/{}/labels", key.repo, key.number)
}
