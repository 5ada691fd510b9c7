//! Webhooks: the signature of a delivery, and the deliveries of an app that failed. GitHub sends none again by itself,
//! but does so on request, for about three days.

use super::app::App;
use super::error::ApiError;
use super::exchange::Call;
use super::wire;
use octocrab::models::webhook_events::verification::verify_signature;
use secrecy::{ExposeSecret, SecretString};
use std::collections::HashSet;

/// True if whoever knows the secret signed these bytes: the header `X-Hub-Signature-256` over the body as it came,
/// compared in constant time. An empty secret signs nothing.
#[must_use]
pub fn is_signed(signature: &str, secret: &SecretString, body: &[u8]) -> bool {
    let secret = secret.expose_secret();
    !secret.is_empty() && verify_signature(signature, secret, body).is_ok()
}

/// A delivery that did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedDelivery {
    /// The number of this attempt, which a redelivery is asked for by.
    pub id: u64,
    /// The header `X-GitHub-Delivery`, which a redelivery keeps.
    pub guid: String,
    pub event: String,
    pub action: Option<String>,
    /// RFC 3339.
    pub at: String,
}

impl App {
    /// Lists deliveries of which no attempt succeeded, newest first.
    pub async fn failed_deliveries(&self) -> Result<Vec<FailedDelivery>, ApiError> {
        let name = "list the deliveries of webhooks";
        let route = "/app/hook/deliveries?per_page=100".to_owned();
        let all = |page: Vec<wire::HookDelivery>| page;
        let client = self.client().await?;
        let attempts = client.pages(name, route, all, |one| one.id).await?;
        Ok(failed(attempts))
    }

    /// Asks GitHub to deliver once more. Twice does no harm: a delivery is known by its guid.
    pub async fn redeliver(&self, delivery: &FailedDelivery) -> Result<(), ApiError> {
        let route = format!("/app/hook/deliveries/{}/attempts", delivery.id);
        let call = Call::bare_post("ask for a redelivery", route);
        self.client().await?.done(call).await
    }
}

/// The newest attempt of each delivery that never succeeded. The list is newest first.
fn failed(attempts: Vec<wire::HookDelivery>) -> Vec<FailedDelivery> {
    let succeeded = |attempt: &wire::HookDelivery| {
        attempt
            .status_code
            .is_some_and(|code| (200..300).contains(&code))
    };
    let mut settled: HashSet<String> = attempts
        .iter()
        .filter(|attempt| succeeded(attempt))
        .map(|attempt| attempt.guid.clone())
        .collect();
    let newest = attempts
        .into_iter()
        .filter(|attempt| settled.insert(attempt.guid.clone()));
    let shown = newest.map(|attempt| FailedDelivery {
        id: attempt.id,
        guid: attempt.guid,
        event: attempt.event,
        action: attempt.action,
        at: attempt.delivered_at,
    });
    shown.collect()
}
