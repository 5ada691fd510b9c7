//! The webhook: the signature over the bytes as they came is judged before anything of them is read.

use super::{Shared, answer, body, count};
use crate::serve::backend::Backend;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use reviewer_github::is_signed;
use serde_json::json;
use std::sync::Arc;

/// GitHub sends nothing larger.
pub(super) const LARGEST: usize = 25 * 1024 * 1024;

/// Stores a delivery of GitHub before it is answered.
pub(super) async fn webhook<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    take(&shared, &headers, body).await.into_response()
}

async fn take<B: Backend>(
    shared: &Shared<B>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, answer::Refusal> {
    let unsigned = || {
        count(&shared.counts.unsigned);
        let sentence = "the signature X-Hub-Signature-256 is missing or wrong";
        answer::error(StatusCode::UNAUTHORIZED, sentence)
    };
    let signature = text(headers, "x-hub-signature-256").ok_or_else(unsigned)?;
    let held = body::read(shared, headers, body, LARGEST).await?;
    if !is_signed(signature, &shared.settings.webhook_secret, &held.bytes) {
        return Err(unsigned());
    }
    let missing = |name: &str| {
        let sentence = format!("the header {name} is missing or wrong");
        answer::error(StatusCode::BAD_REQUEST, &sentence)
    };
    let delivery = text(headers, "x-github-delivery").filter(|id| is_word(id));
    let delivery = delivery.ok_or_else(|| missing("X-GitHub-Delivery"))?;
    let event = text(headers, "x-github-event").filter(|event| is_word(event));
    let event = event.ok_or_else(|| missing("X-GitHub-Event"))?;
    let kind = text(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    if !kind.to_ascii_lowercase().starts_with("application/json") {
        let sentence = "the content type has to be application/json; set it in the webhook";
        return Err(answer::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, sentence));
    }
    let accepted = shared.backend.webhook(delivery, event, &held.bytes).await;
    let accepted = accepted.map_err(answer::refused)?;
    count(&shared.counts.webhooks);
    if accepted.duplicate {
        count(&shared.counts.duplicates);
    }
    let told = json!({ "duplicate": accepted.duplicate, "woken": accepted.woken });
    Ok((StatusCode::ACCEPTED, Json(told)).into_response())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The form of ids and names that GitHub sends.
pub(super) fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=100).contains(&text.len()) && text.chars().all(is_plain)
}
