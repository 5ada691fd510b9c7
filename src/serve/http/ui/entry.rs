//! The way into the dashboard and out of it: a token of the API for a session in a cookie, which is looked up at each request. A form
//! counts only from the dashboard's own pages.

use super::{Refusing, refused, refusing, text};
use crate::serve::backend::{Backend, Refused};
use crate::serve::http::connections::Peer;
use crate::serve::http::{Shared, answer, body, count};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::header::{COOKIE, HeaderValue, LOCATION, REFRESH, SET_COOKIE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Response};
use reviewer_core::dashboard::{self, Notice, Session, SignIn, Viewer};
use reviewer_engine::tokens::{ApiToken, Role, TokenHash};
use reviewer_system::random;
use secrecy::SecretString;
use std::collections::HashMap;
use std::sync::Arc;

const NAME: &str = "opencode-reviewer";
const LONGEST_TOKEN: usize = 256;
const UNKNOWN: &str = "The service has no such token. It takes those that “serve tokens” makes, not those of agents or of GitHub.";
/// The fields of a form need less.
const LARGEST_FORM: usize = 16 * 1024;

/// Whoever is signed in.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    pub(super) viewer: Viewer,
    pub(super) session: Session,
}

/// Lets a request through that has a session whose token is still there, with the same role. Others see the way in.
pub(super) async fn authorize<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    mut request: Request,
    next: Next,
) -> Response {
    let place = request.uri().path_and_query().map(ToString::to_string);
    let place = place.filter(|_| request.method() == Method::GET);
    match visitor(&shared, request.headers()).await {
        Ok(Some(visitor)) => {
            let admitted = shared.admit(&shared.by_token, visitor.viewer.name.clone());
            if let Err(refusal) = admitted {
                return refusal.into_response();
            }
            request.extensions_mut().insert(visitor);
            next.run(request).await
        }
        Ok(None) if comes_from_elsewhere(&request) => onward(&place.unwrap_or_default()),
        Ok(None) => {
            let form = SignIn {
                next: place.unwrap_or_default(),
                refused: None,
            };
            (StatusCode::UNAUTHORIZED, Html(dashboard::sign_in(&form))).into_response()
        }
        Err(refusal) => answer::refused(refusal).into_response(),
    }
}

/// The session of a request; `None` without one, or with one whose token is gone.
async fn visitor<B: Backend>(
    shared: &Shared<B>,
    headers: &HeaderMap,
) -> Result<Option<Visitor>, Refused> {
    let keys = &shared.ui.settings.keys;
    let now = shared.backend.now();
    let Some(session) = cookie(headers).and_then(|value| Session::read(keys, value, now)) else {
        return Ok(None);
    };
    let hash = TokenHash::from_text(session.hash.clone());
    let token = shared.backend.token(&hash).await?;
    let token = token.filter(|token| token.role.as_str() == session.role);
    let visitor = token.and_then(|token| {
        let viewer = Viewer {
            may_operate: token.role >= Role::Operate,
            name: token.name,
            form_token: session.form_token(keys)?,
        };
        Some(Visitor { viewer, session })
    });
    if visitor.is_none() {
        count(&shared.counts.unauthorized);
    }
    Ok(visitor)
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(NAME)?.strip_prefix('='))
}

/// A browser keeps the cookie to itself where a link of another site leads here.
fn comes_from_elsewhere(request: &Request) -> bool {
    let is = |name: &str, value: &str| text(request.headers(), name) == Some(value);
    request.method() == Method::GET
        && cookie(request.headers()).is_none()
        && is("sec-fetch-site", "cross-site")
        && is("sec-fetch-mode", "navigate")
}

/// Loads the same page once more, this time from here.
fn onward(place: &str) -> Response {
    let place = inside(place);
    let page = dashboard::notice(&Notice {
        viewer: None,
        title: "One moment",
        sentence: "The page is opened from another site, and loads again from here.",
        onward: (&place, "Go on"),
    });
    let mut answer = Html(page).into_response();
    answer
        .headers_mut()
        .insert(REFRESH, HeaderValue::from_static("0"));
    answer
}

/// An address of the dashboard, and nothing else.
fn inside(place: &str) -> String {
    let rest = place.strip_prefix("/ui");
    let is_inside = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/?=&-_.%".contains(c);
    let is_page = is_inside && !place.contains("//") && place.chars().all(is_plain);
    if is_page && !place.starts_with("/ui/sign-") {
        place.to_owned()
    } else {
        "/ui".to_owned()
    }
}

/// The form that takes a token.
pub(super) async fn form(Query(query): Query<HashMap<String, String>>) -> Html<String> {
    let next = query.get("next").map(String::as_str).unwrap_or_default();
    Html(dashboard::sign_in(&SignIn {
        next: inside(next),
        refused: None,
    }))
}

/// Begins a session with a token of the API.
pub(super) async fn sign_in<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusing> {
    is_own(&shared, &headers)?;
    if let Some(Extension(Peer(address))) = peer {
        shared.admit(&shared.sign_ins, address)?;
    }
    let held = body::read(&shared, &headers, body, LARGEST_FORM).await?;
    let mut fields = dashboard::fields(&held.bytes);
    let next = inside(&fields.remove("next").unwrap_or_default());
    let given = fields.remove("token").unwrap_or_default();
    let given = given.trim();
    let known = match given.len() {
        1..=LONGEST_TOKEN => {
            let hash = TokenHash::new(&SecretString::from(given));
            let found = shared.backend.token(&hash).await;
            found.map_err(|refusal| Refusing::from(answer::refused(refusal)))?
        }
        _ => None,
    };
    let Some(token) = known else {
        count(&shared.counts.unauthorized);
        let form = SignIn {
            next,
            refused: Some(UNKNOWN.to_owned()),
        };
        let page = Html(dashboard::sign_in(&form));
        return Ok((StatusCode::UNAUTHORIZED, page).into_response());
    };
    let value = begin(&shared, &token)?;
    Ok(seen_other(&next, &shared, Some(&value)))
}

/// The value of the cookie of a new session.
fn begin<B: Backend>(shared: &Shared<B>, token: &ApiToken) -> Result<String, Refusing> {
    let unavailable = |why: &str| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        refusing(None, status, "Not available", why)
    };
    let nonce = random::hex(16).map_err(|error| unavailable(&error.to_string()))?;
    let (hash, role) = (token.hash.as_str().to_owned(), token.role.as_str());
    let session = Session::new(hash, role, nonce, shared.backend.now());
    let value = session.write(&shared.ui.settings.keys);
    value.ok_or_else(|| unavailable("The service has no key that signs sessions."))
}

/// Ends a session.
pub(super) async fn sign_out<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusing> {
    ordered(&shared, &visitor, &headers, body).await?;
    Ok(seen_other("/ui/sign-in", &shared, None))
}

/// Leads to another page, with this cookie; `None` removes it.
fn seen_other<B>(place: &str, shared: &Shared<B>, value: Option<&str>) -> Response {
    let is_secure = shared.ui.settings.public_url.starts_with("https://");
    let secure = if is_secure { "; Secure" } else { "" };
    let age = if value.is_none() { "; Max-Age=0" } else { "" };
    let value = value.unwrap_or_default();
    let cookie = format!("{NAME}={value}; Path=/ui; HttpOnly; SameSite=Strict{age}{secure}");
    let mut answer = StatusCode::SEE_OTHER.into_response();
    for (name, value) in [(LOCATION, place), (SET_COOKIE, cookie.as_str())] {
        if let Ok(value) = HeaderValue::from_str(value) {
            answer.headers_mut().insert(name, value);
        }
    }
    answer
}

/// The fields of an order, if it comes from a page of this session.
pub(super) async fn ordered<B: Backend>(
    shared: &Shared<B>,
    visitor: &Visitor,
    headers: &HeaderMap,
    body: Body,
) -> Result<HashMap<String, String>, Refusing> {
    is_own(shared, headers)?;
    let held = body::read(shared, headers, body, LARGEST_FORM).await?;
    let fields = dashboard::fields(&held.bytes);
    let form = fields.get("form").map(String::as_str).unwrap_or_default();
    if visitor.session.owns(&shared.ui.settings.keys, form) {
        return Ok(fields);
    }
    count(&shared.counts.unauthorized);
    let sentence = "The form is not of this session. Load the page again, and try once more.";
    let viewer = Some(&visitor.viewer);
    let status = StatusCode::FORBIDDEN;
    Err(refusing(viewer, status, "Not accepted", sentence))
}

/// Refuses a form of another site. A browser says so in `Sec-Fetch-Site`, where it trusts the connection, and in `Origin`, which is `null`
/// because pages send no referrer. Where both say nothing, the word in the form decides.
fn is_own<B>(shared: &Shared<B>, headers: &HeaderMap) -> Result<(), Refusing> {
    let site = text(headers, "sec-fetch-site");
    let is_site = site.is_none_or(|site| site == "same-origin");
    let origin = headers.get("origin").map(|origin| origin.to_str().ok());
    let is_origin = match origin {
        None | Some(Some("null")) => true,
        Some(None) => false,
        Some(Some(origin)) => {
            let host = origin.split_once("://").map(|(_, host)| host);
            let is_public = origin == origin_of(&shared.ui.settings.public_url);
            is_public || (host.is_some() && host == text(headers, "host"))
        }
    };
    if is_site && is_origin {
        return Ok(());
    }
    count(&shared.counts.unauthorized);
    let sentence = "The form was sent from another site.";
    let status = StatusCode::FORBIDDEN;
    Err(refusing(None, status, "Not accepted", sentence))
}

/// An address without its path.
fn origin_of(url: &str) -> &str {
    let begin = url.find("://").map_or(0, |at| at + 3);
    let end = url[begin..].find('/').map_or(url.len(), |at| begin + at);
    &url[..end]
}

/// Refuses whoever may only look.
pub(super) fn operates(visitor: &Visitor) -> Result<(), Refusing> {
    if visitor.viewer.may_operate {
        return Ok(());
    }
    let sentence = "This needs a token with the role operate.";
    let viewer = Some(&visitor.viewer);
    let status = StatusCode::FORBIDDEN;
    Err(refusing(viewer, status, "Not allowed", sentence))
}

/// The answer to a request that the service refuses.
pub(super) fn refusal(visitor: &Visitor) -> impl Fn(Refused) -> Refusing + '_ {
    |why| refused(&visitor.viewer, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_out_of_the_dashboard() {
        for (given, led) in [
            ("/ui/pr/octo/shop/7", "/ui/pr/octo/shop/7"),
            (
                "/ui?state=error&before=5-1%2F7",
                "/ui?state=error&before=5-1%2F7",
            ),
            ("/ui", "/ui"),
            ("", "/ui"),
            ("/uix", "/ui"),
            ("//evil.example", "/ui"),
            ("/ui//evil.example", "/ui"),
            ("https://evil.example/ui", "/ui"),
            ("/ui/\\evil.example", "/ui"),
            ("/ui/sign-out", "/ui"),
            ("/ui/\r\nSet-Cookie: a=b", "/ui"),
        ] {
            assert_eq!(inside(given), led, "{given:?}");
        }
    }

    #[test]
    fn the_origin_of_an_address_has_no_path() {
        assert_eq!(origin_of("https://a.example/x/y"), "https://a.example");
        assert_eq!(origin_of("http://127.0.0.1:8787"), "http://127.0.0.1:8787");
        assert_eq!(origin_of(""), "");
    }
}
