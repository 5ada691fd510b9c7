//! Answers: JSON, errors in one sentence, and headers that keep browsers from doing anything with them.

use crate::serve::backend::{Refused, ReportRefused};
use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, RETRY_AFTER,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::time::Duration;

const HEADERS: [(HeaderName, &str); 5] = [
    (CACHE_CONTROL, "no-store"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
];

/// Adds the headers of every answer.
pub(super) async fn secured(request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    for (name, value) in HEADERS {
        // Pages have a policy of their own.
        let is_own = name == CONTENT_SECURITY_POLICY && answer.headers().contains_key(&name);
        if !is_own {
            let value = HeaderValue::from_static(value);
            answer.headers_mut().insert(name, value);
        }
    }
    answer
}

/// An answer that refuses a request.
pub(super) struct Refusal(Box<Response>);

impl Refusal {
    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers_mut().insert(name, value);
        self
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        *self.0
    }
}

/// An error in one sentence.
pub(super) fn error(status: StatusCode, sentence: &str) -> Refusal {
    let answer = (status, Json(json!({ "error": sentence }))).into_response();
    Refusal(Box::new(answer))
}

pub(super) fn not_found() -> Refusal {
    let sentence = "there is no such pull request here";
    error(StatusCode::NOT_FOUND, sentence)
}

/// No token, or one that nobody has.
pub(super) fn unauthorized() -> Refusal {
    let sentence = "a token is needed: Authorization: Bearer <token>";
    let bearer = HeaderValue::from_static("Bearer");
    error(StatusCode::UNAUTHORIZED, sentence).with(WWW_AUTHENTICATE, bearer)
}

/// Too many requests; the next one is taken after `wait`.
pub(super) fn too_many(wait: Duration) -> Refusal {
    let sentence = "there are too many requests; wait as long as Retry-After says";
    let seconds = HeaderValue::from(wait.as_secs().saturating_add(1));
    error(StatusCode::TOO_MANY_REQUESTS, sentence).with(RETRY_AFTER, seconds)
}

/// The answer to a request that the service refuses.
pub(super) fn refused(refusal: Refused) -> Refusal {
    match refusal {
        Refused::NotFound => not_found(),
        Refused::Unavailable(why) => error(StatusCode::SERVICE_UNAVAILABLE, &why),
        Refused::Invalid(why) => error(StatusCode::UNPROCESSABLE_ENTITY, &why),
    }
}

/// The answer to a report that the service refuses.
pub(super) fn report_refused(refusal: ReportRefused) -> Refusal {
    refused(match refusal {
        ReportRefused::Unauthorized => return unauthorized(),
        ReportRefused::NotFound => Refused::NotFound,
        ReportRefused::Unavailable(why) => Refused::Unavailable(why),
        ReportRefused::Invalid(why) => Refused::Invalid(why),
    })
}
