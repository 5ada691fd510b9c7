//! The gateway's refusals: every sentence, its status and its form. Separate, because OpenCode repeats these sentences
//! to the user, and decides by status and words whether it asks again.

use super::body::BodyFault;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::time::Duration;

/// The reason why a request is not passed on. The sentences must not contain the words by which OpenCode knows an error
/// that passes, except where it does pass: it would ask again for a minute. A test holds them against its list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("The model gateway refused the request: it does not carry the secret of this run.")]
    NotAdmitted,
    #[error(
        "The model gateway refused the request: it comes from a browser or asks for another host."
    )]
    Elsewhere,
    #[error("The model gateway refused the request: only POST is passed on.")]
    Method,
    #[error(
        "The model gateway refused the request: its path or query is none that the chosen model needs."
    )]
    Path,
    #[error("The model gateway refused the request: its header names another model.")]
    ModelHeader,
    #[error(
        "The model gateway refused the request: its header anthropic-beta names {0}, which OpenCode does not use."
    )]
    Beta(String),
    #[error("The model gateway refused the request: {0}.")]
    Body(#[from] BodyFault),
    #[error("The model gateway refused the request: it ended before it was complete.")]
    Incomplete,
    #[error(
        "The model gateway refused the request: this run has made {0} requests, the most that it may make."
    )]
    Requests(u64),
    #[error("The model gateway refused the request: it has more than {} MiB, the most that one may have.", mebibytes(*.0))]
    RequestBytes(u64),
    #[error("The model gateway refused the request: more than {} MiB of requests are under way at once.", mebibytes(*.0))]
    HeldBytes(u64),
    #[error("The model gateway refused the request: the requests of this run would exceed {} MiB together.", mebibytes(*.0))]
    TotalBytes(u64),
    #[error("The model gateway refused the request: an answer before it had more than {} MiB, the most that one may have.", mebibytes(*.0))]
    AnswerBytes(u64),
    #[error("The model gateway refused the request: the model has said nothing for {} s, twice.", .0.as_secs())]
    Silent(Duration),
    #[error(
        "The model gateway refused the request: the run has ended, because its model cannot be used."
    )]
    Ended,
    #[error("The model gateway refused the request: the session does not use this model.")]
    Unused,
    #[error(
        "The model gateway does not follow redirects, and {host} answered with one (HTTP {status}); check model_base_url."
    )]
    Redirect { host: String, status: u16 },
    #[error(
        "The model gateway cannot read the answer of {host}: it is compressed although that was not asked for."
    )]
    Compressed { host: String },
    #[error("The model gateway cannot reach {host}: {cause}.")]
    Unreachable { host: String, cause: String },
    /// No connection could be made, with the whole sentence.
    #[error("{0}")]
    Unconnected(String),
}

fn mebibytes(bytes: u64) -> u64 {
    bytes >> 20
}

impl Refusal {
    /// For a person, as the reason why a review was stopped; `None` where no limit was reached.
    pub(super) fn limit(&self) -> Option<String> {
        Some(match self {
            Self::Requests(most) => {
                format!("{most} requests to the model were made, the most that a run may make")
            }
            Self::RequestBytes(most) => format!(
                "a request to the model had more than {} MiB, the most that one may have",
                mebibytes(*most)
            ),
            Self::TotalBytes(most) => format!(
                "the requests to the model had more than {} MiB together, the most that they may have",
                mebibytes(*most)
            ),
            Self::AnswerBytes(most) => format!(
                "an answer of the model had more than {} MiB, the most that one may have",
                mebibytes(*most)
            ),
            Self::Silent(silence) => {
                format!("the model said nothing for {} s, twice", silence.as_secs())
            }
            _ => return None,
        })
    }

    /// OpenCode asks again after a 5xx, and not after a 403.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::NotAdmitted => StatusCode::UNAUTHORIZED,
            Self::Redirect { .. }
            | Self::Compressed { .. }
            | Self::Unreachable { .. }
            | Self::Unconnected(_) => StatusCode::BAD_GATEWAY,
            _ => StatusCode::FORBIDDEN,
        }
    }
}

/// In a form that the adapters of OpenAI, Anthropic and Google understand alike.
impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = json!({
            "type": "error",
            "error": {
                "type": "model_gateway",
                "message": self.to_string(),
                "code": status.as_u16(),
                "status": "PERMISSION_DENIED",
            },
        });
        let headers = [(header::CONTENT_TYPE, "application/json")];
        (status, headers, body.to_string()).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::meter::Limits;
    use regex::Regex;

    /// From OpenCode's `session/retry.ts`: an error with one of these is asked again, whatever its status.
    const ASKED_AGAIN: &[&str] = &[
        "429|500|502|503|504|524",
        "rate increased too quickly|rate limit|rate-limit|rate_limit|too many requests",
        "overloaded|service unavailable|service_unavailable|internal error|internal_error|internal server error|server error|server_error|provider returned error",
        "terminated|fetch failed|failed to fetch|network error|upstream connect|connection error|connection refused|connection lost|socket connection was closed|socket hang up|reset before headers|getaddrinfo|enotfound|eai_again|econnrefused|econnreset|etimedout",
        r"^timeout$|\b(?:request|response|connection|network|stream|read) (?:timeout|timed out|time out)\b",
        "try your request again|retry your request|resource exhausted|resource_exhausted|exhausted|unavailable|too_many_requests",
    ];

    #[test]
    fn a_refusal_for_good_does_not_sound_like_one_that_passes() {
        let limits = Limits::default();
        let for_good = [
            Refusal::Elsewhere,
            Refusal::Method,
            Refusal::Path,
            Refusal::ModelHeader,
            Refusal::Body(BodyFault::NotAnObject),
            Refusal::Body(BodyFault::NoModel),
            Refusal::Body(BodyFault::OtherModel),
            Refusal::Body(BodyFault::TwoModels),
            Refusal::Body(BodyFault::Never("models".into())),
            Refusal::Body(BodyFault::OddKey),
            Refusal::Body(BodyFault::OddSpelling("Tools".into())),
            Refusal::Body(BodyFault::Twice("tools".into())),
            Refusal::Body(BodyFault::ManyKeys),
            Refusal::Body(BodyFault::Unknown {
                kind: "list",
                path: "mcp_servers".into(),
            }),
            Refusal::Body(BodyFault::Value {
                value: "the value mcp".into(),
                path: "tools[].type".into(),
            }),
            Refusal::Body(BodyFault::Address("messages[].content[].image_url".into())),
            Refusal::Body(BodyFault::Tool {
                value: "the value bash".into(),
                path: "tools[].name".into(),
            }),
            Refusal::Body(BodyFault::Untyped("input[]".into())),
            Refusal::Body(BodyFault::NotOff("store".into())),
            Refusal::Beta("mcp-client-2025-04-04".into()),
            Refusal::HeldBytes(limits.request_bytes),
            Refusal::Incomplete,
            Refusal::Ended,
            Refusal::Unused,
            Refusal::Requests(limits.requests),
            Refusal::RequestBytes(limits.request_bytes),
            Refusal::TotalBytes(limits.total_bytes),
            Refusal::AnswerBytes(limits.answer_bytes),
            Refusal::Silent(limits.silence),
        ];
        for refusal in for_good {
            assert_eq!(refusal.status(), StatusCode::FORBIDDEN);
            let sentence = refusal.to_string();
            assert!(
                sentence.starts_with("The model gateway refused"),
                "{sentence}"
            );
            for pattern in ASKED_AGAIN {
                let pattern = Regex::new(&format!("(?i){pattern}")).unwrap();
                assert!(!pattern.is_match(&sentence), "{sentence} has {pattern}");
            }
        }
    }

    #[test]
    fn the_limits_are_told_in_numbers_that_people_read() {
        let limits = Limits::default();
        assert_eq!(
            Refusal::RequestBytes(limits.request_bytes).to_string(),
            "The model gateway refused the request: it has more than 32 MiB, the most that one may have."
        );
        assert_eq!(
            Refusal::Requests(limits.requests).to_string(),
            "The model gateway refused the request: this run has made 2000 requests, the most that it may make."
        );
    }
}
