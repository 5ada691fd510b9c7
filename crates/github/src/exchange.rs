//! One request and its answer over the wire: what a call is, and how it is sent. Separate from the rules about
//! repeating, waiting and spacing, which know nothing of HTTP clients.

use super::error::ApiError;
use super::error::SetupError;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use octocrab::service::middleware::{
    auth_header::AuthHeaderLayer, base_uri::BaseUriLayer, reqwest_connector::ReqwestConnector,
};
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use reqwest::Url;
use reviewer_system::outbound;
use reviewer_text::redact::Redactor;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A host and the path that its routes begin with. The path has to be added here: octocrab leaves it away where
/// a route happens to begin alike.
#[derive(Debug)]
pub(super) struct Endpoint {
    client: Octocrab,
    http: reqwest::Client,
    origin: http::Uri,
    pub(super) prefix: String,
    /// The last look at what is written.
    pub(super) redactor: Arc<Redactor>,
}

/// One call. Its name continues "to the request to …".
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    method: Method,
    pub(super) route: String,
    pub(super) body: Option<Value>,
    pub(super) graphql: bool,
    /// True if an answer without the parts that the token may not see is one, too.
    pub(super) partial: bool,
    /// A longer answer, in bytes, is not read.
    longest: usize,
    /// Made with the token of input `push_token`, where there is one.
    pub(super) pushes: bool,
    pub(super) class: Class,
    pub(super) hint: &'static str,
}

/// The rule for sending a call again after an answer that does not tell if it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Freely.
    Read,
    /// Freely, because doing it twice is doing it once; spaced like every write.
    Repeatable,
    /// Only after the caller has looked whether it happened.
    Once,
}

impl Call {
    pub(super) fn get(name: &'static str, route: String) -> Self {
        let hint = "it does not exist, or the token may not see it";
        Self {
            name,
            method: Method::GET,
            route,
            body: None,
            graphql: false,
            partial: false,
            longest: usize::MAX,
            pushes: false,
            class: Class::Read,
            hint,
        }
    }

    /// A POST that GitHub refuses whatever happens: it changes nothing, so it is neither spaced nor feared.
    pub(super) fn probe(name: &'static str, route: String, body: Value) -> Self {
        Self {
            class: Class::Read,
            ..Self::post(name, route, body)
        }
    }

    pub(super) fn post(name: &'static str, route: String, body: Value) -> Self {
        Self {
            method: Method::POST,
            body: Some(body),
            class: Class::Once,
            ..Self::get(name, route)
        }
    }

    /// A POST that says everything by its route, and that is harmless twice.
    pub(super) fn bare_post(name: &'static str, route: String) -> Self {
        Self {
            body: None,
            class: Class::Repeatable,
            ..Self::post(name, route, Value::Null)
        }
    }

    pub(super) fn patch(name: &'static str, route: String, body: Value) -> Self {
        Self {
            method: Method::PATCH,
            ..Self::post(name, route, body)
        }
    }

    pub(super) fn put(name: &'static str, route: String, body: Value) -> Self {
        Self {
            method: Method::PUT,
            ..Self::post(name, route, body)
        }
    }

    pub(super) fn query(name: &'static str, query: &str, variables: &Value) -> Self {
        let body = json!({"query": query, "variables": variables});
        Self {
            graphql: true,
            class: Class::Read,
            ..Self::post(name, String::new(), body)
        }
    }

    pub(super) fn mutation(name: &'static str, query: &str, variables: &Value) -> Self {
        Self {
            class: Class::Once,
            ..Self::query(name, query, variables)
        }
    }

    /// The one mutation that the other token is for.
    pub(super) fn push(name: &'static str, query: &str, variables: &Value) -> Self {
        Self {
            pushes: true,
            ..Self::mutation(name, query, variables)
        }
    }

    pub(super) fn is_get(&self) -> bool {
        self.method == Method::GET
    }

    /// True if the call changes nothing at GitHub, whatever the answer.
    pub(super) fn only_reads(&self) -> bool {
        self.is_get() || (self.graphql && self.class == Class::Read)
    }

    /// Doing it twice is doing it once.
    pub(super) fn repeatable(self) -> Self {
        Self {
            class: Class::Repeatable,
            ..self
        }
    }

    pub(super) fn delete(name: &'static str, route: String) -> Self {
        Self {
            method: Method::DELETE,
            class: Class::Repeatable,
            ..Self::get(name, route)
        }
    }

    /// Takes an answer in which GitHub refuses some parts.
    pub(super) fn or_partial(self) -> Self {
        Self {
            partial: true,
            ..self
        }
    }

    /// Does without an answer of more bytes.
    pub(super) fn at_most(self, longest: usize) -> Self {
        Self { longest, ..self }
    }

    /// Sets the meaning of "not found" for this call.
    pub(super) fn or_hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }
}

/// A successful answer, unread.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

/// One for both interfaces: they share connections where they share a host, and the certificates are read once.
pub(super) fn http_client(network: &[(String, String)]) -> Result<reqwest::Client, SetupError> {
    outbound::client(network)?
        .user_agent(concat!("opencode-reviewer/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .build()
        .map_err(|problem| SetupError::Client(causes(&problem)))
}

/// The header of a token; `None` for characters that no token has.
pub(super) fn bearer(token: &SecretString) -> Option<HeaderValue> {
    let token = token.expose_secret();
    let graphic = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    graphic.then_some(header)
}

/// Layer by layer, as `build_with_reqwest` would add a user agent of octocrab's beside the reviewer's.
fn octocrab(http: reqwest::Client, origin: http::Uri, bearer: &HeaderValue) -> Octocrab {
    let authorization = AuthHeaderLayer::new(Some(bearer.clone()), origin.clone(), origin.clone());
    let Ok(client) = OctocrabBuilder::new_empty()
        .with_service(ReqwestConnector::new(http))
        .with_layer(&BaseUriLayer::new(origin))
        .with_layer(&authorization)
        .with_auth(AuthState::None)
        .build();
    client
}

impl Endpoint {
    pub(super) fn new(
        variable: &'static str,
        given: &str,
        bearer: &HeaderValue,
        http: reqwest::Client,
    ) -> Result<Self, SetupError> {
        // An address with a password in it is shown without.
        let shown = given
            .rsplit('@')
            .next()
            .unwrap_or_default()
            .chars()
            .take(80)
            .collect();
        let bad = SetupError::Url {
            variable,
            given: shown,
        };
        let url = Url::parse(given).map_err(|_| bad.clone())?;
        let plain = url.username().is_empty() && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !plain {
            return Err(bad);
        }
        let origin: http::Uri = url
            .origin()
            .ascii_serialization()
            .parse()
            .map_err(|_| bad)?;
        Ok(Self {
            client: octocrab(http.clone(), origin.clone(), bearer),
            http,
            origin,
            prefix: url.path().trim_end_matches('/').to_owned(),
            redactor: Arc::new(Redactor::new(&[])),
        })
    }

    /// The same interface for another token.
    pub(super) fn with_bearer(&self, bearer: &HeaderValue) -> Self {
        Self {
            client: octocrab(self.http.clone(), self.origin.clone(), bearer),
            http: self.http.clone(),
            origin: self.origin.clone(),
            prefix: self.prefix.clone(),
            redactor: Arc::clone(&self.redactor),
        }
    }

    /// `known`: GitHub's mark of an answer that need not be given again.
    pub(super) async fn exchange(
        &self,
        call: &Call,
        known: Option<&HeaderValue>,
    ) -> Result<(StatusCode, Answer), ApiError> {
        let network = |problem: octocrab::Error| ApiError::Network {
            call: call.name,
            problem: causes(&problem),
        };
        let body = call.body.as_ref().map(|body| {
            if call.class == Class::Read {
                body.clone()
            } else {
                without_own(body, &self.redactor)
            }
        });
        let mut request = http::Request::builder()
            .method(call.method.clone())
            .uri(format!("{}{}", self.prefix, call.route))
            .header(http::header::ACCEPT, "application/vnd.github+json");
        if let Some(mark) = known {
            request = request.header(http::header::IF_NONE_MATCH, mark);
        }
        let request = self
            .client
            .build_request(request, body.as_ref())
            .map_err(network)?;
        let response = self.client.execute(request).await.map_err(network)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = Limited::new(response.into_body(), call.longest);
        let body = body.collect().await.map_err(|problem| match problem {
            problem if problem.is::<LengthLimitError>() => ApiError::TooLong {
                call: call.name,
                most: call.longest,
            },
            problem => ApiError::Network {
                call: call.name,
                problem: causes(&*problem),
            },
        })?;
        let body = String::from_utf8(body.to_bytes().into());
        let body = body.map_err(|_| not_understood(call.name, &"it is no text"))?;
        Ok((status, Answer { headers, body }))
    }
}

/// No secret of the run is written anywhere, whatever went wrong before: a comment that cannot be verified is better.
pub(super) fn without_own(body: &Value, redactor: &Redactor) -> Value {
    match body {
        Value::String(text) => Value::String(redactor.clean_own(text).into_owned()),
        Value::Array(items) => items
            .iter()
            .map(|item| without_own(item, redactor))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), without_own(value, redactor)))
            .collect(),
        other => other.clone(),
    }
}

/// The innermost cause says what happened; the outer ones say only that something did.
fn causes(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

pub(super) fn not_understood(call: &'static str, problem: &dyn std::fmt::Display) -> ApiError {
    ApiError::Decode {
        call,
        problem: problem.to_string(),
    }
}

/// One segment of a path, or one value of a query.
pub(super) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
