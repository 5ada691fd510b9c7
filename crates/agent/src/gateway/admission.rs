//! Admission to the gateway: decides which requests of the sidecar are passed on, to which address and with which
//! headers, and which headers of an answer come back. Pure: it sees heads, never bodies, and decides before anything is
//! sent.

use super::adapters::{Call, ModelIn};
use super::body::plain;
use super::refusal::Refusal;
use super::scrub::Spellings;
use super::upstream::Upstream;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq as _;

/// The headers in which adapters send the key. Only here is the placeholder exchanged: in another header the key might
/// be shown, as OpenRouter shows titles.
const CREDENTIALS: &[&str] = &["authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// Further headers that adapters send. Every other header is dropped: some endpoints let a header choose another host.
const PASSED_ON: &[&str] = &[
    "accept",
    "user-agent",
    "anthropic-beta",
    "anthropic-version",
    "http-referer",
    "x-title",
    "x-source",
    "x-session-affinity",
    "x-session-id",
    "x-parent-session-id",
    "x-opencode-client",
    "x-opencode-project",
    "x-opencode-request",
    "x-opencode-session",
    "x-billing-invoke-origin",
    "x-cerebras-3rd-party-integration",
    "ai-gateway-protocol-version",
    "ai-gateway-auth-method",
    "ai-language-model-id",
    "ai-language-model-specification-version",
    "ai-language-model-streaming",
];

/// Response headers that OpenCode uses, or that help to find a request at the provider. Cookies and redirect targets
/// are not among them.
const COMES_BACK: &[&str] = &[
    "content-type",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "request-id",
    "x-request-id",
    "cf-ray",
    "openai-processing-ms",
];
const COMES_BACK_AS: &[&str] = &["x-ratelimit-", "ratelimit-", "anthropic-ratelimit-"];

/// Values of `anthropic-beta` that are passed on: those that the pinned OpenCode and its adapter send, as far as none
/// of them lets the provider make requests, run code or keep files. `claude-code-20250219` is sent by other versions.
const BETAS: &[&str] = &[
    "interleaved-thinking-2025-05-14",
    "fine-grained-tool-streaming-2025-05-14",
    "structured-outputs-2025-11-13",
    "fast-mode-2026-02-01",
    "context-1m-2025-08-07",
    "pdfs-2024-09-25",
    "mid-conversation-system-2026-04-07",
    "task-budgets-2026-03-13",
    "claude-code-20250219",
];
const BETA_HEADER: &str = "anthropic-beta";
const MODEL_HEADER: &str = "ai-language-model-id";

/// A request that may go.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    /// As the request says it.
    pub(super) length: Option<u64>,
    pub(super) call: Call,
}

/// The rules of one session.
pub(super) struct Admission {
    /// The prefix of its paths, with a slash at the end.
    pub(super) prefix: String,
    pub(super) upstream: Upstream,
    pub(super) placeholder: SecretString,
}

impl Admission {
    /// `host` is the gateway's own address.
    pub(super) fn judge(
        &self,
        host: &str,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Admitted, Refusal> {
        if is_elsewhere(host, uri, headers) {
            return Err(Refusal::Elsewhere);
        }
        let credentials = self.exchanged(headers)?;
        if method != Method::POST {
            return Err(Refusal::Method);
        }
        let (url, call) = self.address(uri)?;
        self.model_header(headers)?;
        known_betas(headers)?;
        let length = headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        Ok(Admitted {
            url,
            headers: self.passed_on(headers, credentials),
            length,
            call,
        })
    }

    /// No length is among them: the client counts the body that was judged.
    fn passed_on(&self, headers: &HeaderMap, credentials: HeaderMap) -> HeaderMap {
        let json = HeaderValue::from_static("application/json");
        let identity = HeaderValue::from_static("identity");
        // The placeholder in another header is a request that nobody but an attacker of the sidecar would make.
        let mut passed = kept(headers, |name, value| {
            PASSED_ON.contains(&name) && !contains(value.as_bytes(), self.placeholder())
        });
        passed.extend(credentials);
        passed.insert(header::CONTENT_TYPE, json);
        // A compressed answer could not be searched for the key.
        passed.insert(header::ACCEPT_ENCODING, identity);
        passed
    }

    /// Exactly a route of the gateway, as it was sent: whatever is written otherwise is another path.
    fn address(&self, uri: &Uri) -> Result<(Url, Call), Refusal> {
        let below = uri.path().strip_prefix(&*self.prefix);
        let below = below.ok_or(Refusal::Path)?;
        let mut routes = self.upstream.routes.iter();
        let route = routes.find(|route| route.path == below);
        let route = route.ok_or(Refusal::Path)?;
        let mut url = route.url.clone();
        match uri.query() {
            None => {}
            Some(query) if route.call.query == Some(query) => url.set_query(Some(query)),
            Some(_) => return Err(Refusal::Path),
        }
        Ok((url, route.call))
    }

    fn model_header(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut named = headers.get_all(MODEL_HEADER).iter();
        let (first, more) = (named.next(), named.next().is_some());
        let expected = self.upstream.model_in == ModelIn::Header;
        let right = match first {
            Some(name) => expected && !more && name.as_bytes() == self.upstream.model.as_bytes(),
            None => !expected,
        };
        if right {
            Ok(())
        } else {
            Err(Refusal::ModelHeader)
        }
    }

    /// The headers that hold the placeholder, with the key in its place; none of them where there is no key.
    fn exchanged(&self, headers: &HeaderMap) -> Result<HeaderMap, Refusal> {
        let mut admitted = false;
        let mut exchanged = HeaderMap::new();
        for name in CREDENTIALS {
            for given in headers.get_all(*name) {
                let Some(scheme) = self.scheme(given.as_bytes()) else {
                    continue;
                };
                admitted = true;
                if let Some(key) = &self.upstream.credential {
                    let value = format!("{scheme}{}", key.expose_secret());
                    let value = HeaderValue::from_str(&value);
                    let mut value = value.map_err(|_| Refusal::NotAdmitted)?;
                    value.set_sensitive(true);
                    exchanged.insert(HeaderName::from_static(name), value);
                }
            }
        }
        if admitted {
            Ok(exchanged)
        } else {
            Err(Refusal::NotAdmitted)
        }
    }

    /// Returns the scheme before the placeholder (`Bearer ` or nothing), if the value is this session's placeholder.
    fn scheme(&self, given: &[u8]) -> Option<&'static str> {
        let bare = given.strip_prefix(b"Bearer ");
        let scheme = if bare.is_some() { "Bearer " } else { "" };
        // In constant time: how long a comparison takes must not tell how much was right.
        let is_placeholder: bool = bare.unwrap_or(given).ct_eq(self.placeholder()).into();
        is_placeholder.then_some(scheme)
    }

    fn placeholder(&self) -> &[u8] {
        self.placeholder.expose_secret().as_bytes()
    }
}

/// True if a request names another host than the loopback server, or comes from a browser.
fn is_elsewhere(host: &str, uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let ours = hosts.next().is_some_and(|given| given == host) && hosts.next().is_none();
    !ours || uri.authority().is_some() || headers.contains_key(header::ORIGIN)
}

/// Returns the reason for refusing a request that belongs to no session's route.
pub(super) fn stranger(host: &str, uri: &Uri, headers: &HeaderMap) -> Refusal {
    if is_elsewhere(host, uri, headers) {
        Refusal::Elsewhere
    } else {
        Refusal::NotAdmitted
    }
}

/// All betas are on the gateway's list, or the first that is not is named.
fn known_betas(headers: &HeaderMap) -> Result<(), Refusal> {
    for value in headers.get_all(BETA_HEADER) {
        let value = value.to_str().map_err(|_| Refusal::Beta("…".into()))?;
        let mut named = value
            .split(',')
            .map(str::trim)
            .filter(|beta| !beta.is_empty());
        if let Some(beta) = named.find(|beta| !BETAS.contains(beta)) {
            return Err(Refusal::Beta(plain(beta).to_owned()));
        }
    }
    Ok(())
}

/// The headers of an answer that the sidecar gets, without the key.
pub(super) fn coming_back(headers: &HeaderMap, key: &Spellings) -> HeaderMap {
    let wanted = |name: &str, _: &HeaderValue| {
        COMES_BACK.contains(&name) || COMES_BACK_AS.iter().any(|start| name.starts_with(start))
    };
    let mut kept = kept(headers, wanted);
    for value in kept.values_mut() {
        let clean = key.out_of(value.as_bytes());
        *value = HeaderValue::from_bytes(&clean).unwrap_or(HeaderValue::from_static(""));
    }
    kept
}

fn kept(headers: &HeaderMap, wanted: impl Fn(&str, &HeaderValue) -> bool) -> HeaderMap {
    let chosen = headers
        .iter()
        .filter(|(name, value)| wanted(name.as_str(), value));
    chosen
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len().max(1)).any(|window| window == part)
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
