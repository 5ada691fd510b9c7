//! Errors of a call, classified once: GitHub says "forbidden" for a missing permission and for a rate limit alike, and
//! the two need opposite answers. Pure.

use super::wire;
use http::{HeaderMap, StatusCode};
use reviewer_system::outbound::ProxyError;
use std::time::Duration;

/// An address or a token that no request can be made with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    #[error(
        "{variable} is {given:?}; expected an http or https URL without user name and password."
    )]
    Url {
        variable: &'static str,
        given: String,
    },
    #[error(
        "Input github_token holds characters that no token has; pass ${{{{ github.token }}}} or a token of your app."
    )]
    Token,
    #[error(
        "Input push_token holds characters that no token has; pass a token of your app or a fine-grained one."
    )]
    PushToken,
    #[error(
        "The private key of the GitHub App is no RSA key in PEM ({0}); give the file that GitHub made for the app."
    )]
    AppKey(String),
    #[error("{0}")]
    Proxy(#[from] ProxyError),
    #[error("No HTTP client could be made: {0}.")]
    Client(String),
}

/// GitHub's advice where a rate limit names no time.
const UNNAMED_WAIT: Duration = Duration::from_mins(1);

/// GitHub's name for a limit that is not of requests an hour.
const SECONDARY: &str = "secondary rate limit";

/// A call that failed. Every sentence names the call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    #[error(
        "GitHub did not accept the token for the request to {call}; give github_token a valid one."
    )]
    Unauthorized { call: &'static str },
    #[error("The token may not {call} ({message}); {}.", grants(needed))]
    Forbidden {
        call: &'static str,
        message: String,
        /// Lines of a workflow's `permissions:` that would let it, as far as GitHub named them.
        needed: Vec<String>,
    },
    #[error("GitHub answered 404 to the request to {call}: {hint}.")]
    NotFound {
        call: &'static str,
        hint: &'static str,
    },
    #[error("GitHub refused to {call}: {message}{}", listed(errors))]
    Unprocessable {
        call: &'static str,
        message: String,
        errors: Vec<String>,
    },
    #[error("GitHub's rate limit was reached by the request to {call}; {}.", wait_words(*wait))]
    RateLimited { call: &'static str, wait: Duration },
    #[error("GitHub answered {status} to the request to {call}.")]
    Server { call: &'static str, status: u16 },
    #[error(
        "GitHub could not be reached to {call}: {problem}; check the network, and behind a proxy set HTTPS_PROXY."
    )]
    Network { call: &'static str, problem: String },
    #[error("GitHub's answer to the request to {call} was not understood: {problem}.")]
    Decode { call: &'static str, problem: String },
    #[error("GitHub's answer to the request to {call} has more than {most} bytes.")]
    TooLong { call: &'static str, most: usize },
    #[error("GitHub's pages did not end for the request to {call}: {problem}.")]
    Paging { call: &'static str, problem: String },
    #[error("GitHub refused to {call}: {}.", graphql_words(errors))]
    GraphQl {
        call: &'static str,
        /// Type (`FORBIDDEN`, `NOT_FOUND`, …; empty where GitHub gave none) and message.
        errors: Vec<(String, String)>,
    },
    #[error("GitHub answered {status} to the request to {call}: {message}.")]
    Unexpected {
        call: &'static str,
        status: u16,
        message: String,
    },
}

impl ApiError {
    /// The token lacks a permission, and repeating will not help.
    #[must_use]
    pub fn is_permission(&self) -> bool {
        match self {
            Self::Forbidden { .. } => true,
            Self::GraphQl { errors, .. } => errors.iter().any(|(kind, message)| {
                kind == "FORBIDDEN" || message.contains("Resource not accessible")
            }),
            _ => false,
        }
    }

    #[must_use]
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::NotFound { .. } => true,
            Self::GraphQl { errors, .. } => errors.iter().any(|(kind, _)| kind == "NOT_FOUND"),
            _ => false,
        }
    }

    /// GitHub understood the request and does not do it, for this token or at all.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Forbidden { .. } | Self::Unprocessable { .. } | Self::NotFound { .. }
        )
    }

    /// True if GitHub refuses to let this token approve or request changes here, whatever the review says.
    #[must_use]
    pub fn refuses_judgement(&self) -> bool {
        match self {
            Self::Forbidden { .. } => true,
            Self::Unprocessable {
                message, errors, ..
            } => {
                let mut texts = errors.iter().chain([message]);
                texts.any(|text| {
                    text.contains("your own pull request")
                        || text.contains("not permitted to approve")
                })
            }
            _ => false,
        }
    }

    /// True if the repository does not let GitHub Actions open pull requests, whatever the token's permissions.
    #[must_use]
    pub fn forbids_actions_pulls(&self) -> bool {
        matches!(self, Self::Forbidden { message, .. } if message.contains("not permitted to create"))
    }

    /// A write that failed so may have been applied all the same: look before writing again.
    #[must_use]
    pub(crate) fn may_have_happened(&self) -> bool {
        matches!(
            self,
            Self::Server { .. } | Self::Network { .. } | Self::Decode { .. }
        )
    }

    /// True if the same request may succeed in a moment.
    pub(super) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Server { .. } | Self::Network { .. } | Self::Decode { .. }
        )
    }
}

/// Derives the right to make a request from the refusal of one that could not succeed.
pub(super) fn may(refusal: ApiError) -> Result<bool, ApiError> {
    match refusal {
        ApiError::NotFound { .. } | ApiError::Unprocessable { .. } => Ok(true),
        refusal if refusal.is_permission() => Ok(false),
        refusal => Err(refusal),
    }
}

fn listed(errors: &[String]) -> String {
    match errors {
        [] => ".".to_owned(),
        _ => format!(" ({}).", errors.join("; ")),
    }
}

fn grants(needed: &[String]) -> String {
    if needed.is_empty() {
        return "see the permissions that the workflow needs".to_owned();
    }
    let lines: Vec<String> = needed.iter().map(|line| format!("`{line}`")).collect();
    format!("add {} to the job's permissions", lines.join(" and "))
}

/// The permissions that GitHub asks for, `pull_requests=write,contents=read; …`, as a workflow writes them. Of several
/// alternatives the first.
fn needed(headers: &HeaderMap) -> Vec<String> {
    let named = headers.get("x-accepted-github-permissions");
    let named = named.and_then(|value| value.to_str().ok()).unwrap_or("");
    let first = named.split(';').next().unwrap_or_default();
    let lines = first.split(',').filter_map(|one| {
        let (scope, level) = one.trim().split_once('=')?;
        let plain = !scope.is_empty() && scope.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let known = matches!(level, "read" | "write");
        (plain && known).then(|| format!("{}: {level}", scope.replace('_', "-")))
    });
    lines.collect()
}

fn wait_words(wait: Duration) -> String {
    format!("it is lifted in about {} seconds", wait.as_secs())
}

fn graphql_words(errors: &[(String, String)]) -> String {
    let messages: Vec<&str> = errors.iter().map(|(_, message)| message.as_str()).collect();
    messages.join("; ")
}

/// GitHub's words in one line, to stand inside a sentence; their line ends came as `\n`.
pub(super) fn sentence(message: &str) -> String {
    let message = message.replace("\\n", " ");
    let words: Vec<&str> = message.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// A call that GitHub refused by its status, as an error. `now` is in seconds since the epoch.
pub(super) fn classify(
    call: &'static str,
    hint: &'static str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &str,
    now: u64,
) -> ApiError {
    let refusal = wire::ErrorBody::parse(body, status);
    if is_rate_limit(status, headers, &refusal) {
        return ApiError::RateLimited {
            call,
            wait: wait(headers, is_exhausted(headers), now),
        };
    }
    let (message, code) = (refusal.message, status.as_u16());
    match code {
        401 => ApiError::Unauthorized { call },
        403 => ApiError::Forbidden {
            call,
            message,
            needed: needed(headers),
        },
        404 | 410 => ApiError::NotFound { call, hint },
        422 => ApiError::Unprocessable {
            call,
            message,
            errors: refusal.errors,
        },
        500.. => ApiError::Server { call, status: code },
        _ => ApiError::Unexpected {
            call,
            status: code,
            message,
        },
    }
}

/// GitHub also hides a secondary limit behind 422 with the code `abuse`.
fn is_rate_limit(status: StatusCode, headers: &HeaderMap, refusal: &wire::ErrorBody) -> bool {
    match status.as_u16() {
        429 => true,
        403 => {
            headers.contains_key("retry-after")
                || is_exhausted(headers)
                || speaks_of_limit(&refusal.message)
        }
        422 => refusal.abuse,
        _ => false,
    }
}

fn speaks_of_limit(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let said = [
        SECONDARY,
        "api rate limit exceeded",
        "api rate limit already exceeded",
        "abuse detection",
    ];
    said.iter().any(|words| message.contains(words))
}

fn is_exhausted(headers: &HeaderMap) -> bool {
    number(headers, "x-ratelimit-remaining") == Some(0)
}

/// The time that GitHub asks clients to wait: `retry-after`, else until the reset of the limit that is `exhausted`,
/// else a minute.
fn wait(headers: &HeaderMap, exhausted: bool, now: u64) -> Duration {
    if let Some(seconds) = number(headers, "retry-after") {
        return Duration::from_secs(seconds);
    }
    match number(headers, "x-ratelimit-reset") {
        // A reset in the past is a clock's error, ours or theirs: a moment is enough.
        Some(reset) if exhausted => Duration::from_secs(reset.saturating_sub(now).max(1)),
        _ => UNNAMED_WAIT,
    }
}

pub(super) fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// GitHub's words for a timeout or a fault of its own: they refuse nothing, and what was asked for may have happened.
fn is_accident(message: &str) -> bool {
    message.starts_with("Something went wrong while executing your query")
}

/// The errors of a GraphQL answer, which comes with status 200. GitHub may call a limit exhausted before nothing
/// remains of it; a secondary one has nothing to do with the reset.
pub(super) fn graphql_error(
    call: &'static str,
    errors: Vec<(String, String)>,
    headers: &HeaderMap,
    now: u64,
) -> ApiError {
    let limit = errors
        .iter()
        .find(|(kind, message)| kind == wire::RATE_LIMITED || speaks_of_limit(message));
    let Some((_, message)) = limit else {
        return match errors.iter().find(|(_, message)| is_accident(message)) {
            Some((_, message)) => ApiError::Decode {
                call,
                problem: message.trim_end_matches('.').to_owned(),
            },
            None => ApiError::GraphQl { call, errors },
        };
    };
    let secondary = message.to_ascii_lowercase().contains(SECONDARY);
    ApiError::RateLimited {
        call,
        wait: wait(headers, !secondary || is_exhausted(headers), now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn judged(status: u16, headers: &[(&'static str, &str)], body: &str) -> ApiError {
        let headers = headers
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()));
        let status = StatusCode::from_u16(status).unwrap();
        classify(
            "post the review",
            "it is gone",
            status,
            &headers.collect(),
            body,
            NOW,
        )
    }

    fn wait_of(error: &ApiError) -> Option<u64> {
        match error {
            ApiError::RateLimited { wait, .. } => Some(wait.as_secs()),
            _ => None,
        }
    }

    #[test]
    fn a_missing_permission_is_not_a_rate_limit() {
        let error = judged(
            403,
            &[("x-ratelimit-remaining", "4999")],
            r#"{"message":"Resource not accessible by integration"}"#,
        );
        assert!(error.is_permission());
        assert_eq!(
            error.to_string(),
            "The token may not post the review (Resource not accessible by integration); see the permissions that the workflow needs."
        );
    }

    #[test]
    fn what_github_says_it_wanted_is_a_line_of_the_workflow() {
        for (named, advice) in [
            (
                "pull_requests=write,contents=read",
                "add `pull-requests: write` and `contents: read` to the job's permissions.",
            ),
            (
                "checks=write; statuses=write",
                "add `checks: write` to the job's permissions.",
            ),
            (
                "a b=::error::x",
                "see the permissions that the workflow needs.",
            ),
        ] {
            let error = judged(403, &[("x-accepted-github-permissions", named)], "{}");
            assert!(error.to_string().ends_with(advice), "{error}");
        }
    }

    #[test]
    fn each_form_of_rate_limit_is_recognised_with_its_wait() {
        let reset = (NOW + 90).to_string();
        for (status, headers, body, wait) in [
            (429, vec![("retry-after", "7")], "{}", 7),
            (403, vec![("retry-after", "30")], "{}", 30),
            (
                403,
                vec![
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", reset.as_str()),
                ],
                "{}",
                90,
            ),
            (
                403,
                vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1")],
                "{}",
                1,
            ),
            (
                403,
                vec![],
                r#"{"message":"You have exceeded a secondary rate limit."}"#,
                60,
            ),
            (429, vec![("retry-after", "soon")], "", 60),
            (
                422,
                vec![],
                r#"{"message":"Validation Failed","errors":[{"resource":"PullRequestReview","code":"abuse"}]}"#,
                60,
            ),
        ] {
            assert_eq!(
                wait_of(&judged(status, &headers, body)),
                Some(wait),
                "{status} {headers:?} {body}"
            );
        }
    }

    #[test]
    fn a_refused_value_keeps_githubs_reasons_whatever_their_form() {
        let body = r#"{"message":"Unprocessable Entity","errors":["line must be part of the diff",{"resource":"PullRequest","field":"base","code":"invalid"},{"message":"Body is too long"}]}"#;
        let ApiError::Unprocessable { errors, .. } = judged(422, &[], body) else {
            panic!("422 is a refusal");
        };
        assert_eq!(
            errors,
            [
                "line must be part of the diff",
                "PullRequest.base: invalid",
                "Body is too long"
            ]
        );
    }

    #[test]
    fn answers_that_are_no_json_are_still_classified() {
        assert_eq!(
            judged(502, &[], "<html>"),
            ApiError::Server {
                call: "post the review",
                status: 502
            }
        );
        assert_eq!(
            judged(401, &[], ""),
            ApiError::Unauthorized {
                call: "post the review"
            }
        );
        assert!(judged(404, &[], "[]").is_not_found());
        assert!(judged(502, &[], "").may_have_happened());
        assert!(!judged(422, &[], "").may_have_happened());
        let said = judged(307, &[], "\u{1b}[2J<html>\n").to_string();
        assert!(said.contains("307") && !said.contains('\u{1b}'), "{said}");
    }

    #[test]
    fn graphql_errors_keep_their_type() {
        let judged = |kind: &str| {
            let errors = vec![(kind.to_owned(), "no".to_owned())];
            graphql_error("resolve", errors, &HeaderMap::new(), NOW)
        };
        assert!(judged("FORBIDDEN").is_permission());
        assert_eq!(wait_of(&judged("RATE_LIMITED")), Some(60));
    }

    #[test]
    fn an_accident_of_githubs_is_no_refusal() {
        let said = "Something went wrong while executing your query. This may be the result of a timeout, or it could be a GitHub bug.";
        let errors = vec![(String::new(), said.to_owned())];
        let error = graphql_error("push", errors, &HeaderMap::new(), NOW);
        assert!(error.may_have_happened() && !error.is_refusal(), "{error}");
    }

    #[test]
    fn a_setting_that_keeps_actions_from_opening_pull_requests_is_known_by_its_words() {
        let words = "GitHub Actions is not permitted to create or approve pull requests.";
        let body = format!(r#"{{"message":"{words}"}}"#);
        assert!(judged(403, &[], &body).forbids_actions_pulls());
        let other = r#"{"message":"Resource not accessible by integration"}"#;
        assert!(!judged(403, &[], other).forbids_actions_pulls());
    }
}
