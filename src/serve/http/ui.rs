//! The dashboard over HTTP: its routes, the session of whoever looks, and the files that pages load. Pages themselves are made in
//! `reviewer_core::dashboard`.

mod entry;
mod live;
mod pages;

use super::Shared;
use super::answer::Refusal;
use crate::serve::backend::{Backend, Refused};
use axum::Router;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use live::{Pulse, Seats};
use reviewer_core::dashboard::{self, Notice, SessionKeys, Viewer};
use std::sync::Arc;
use tokio::sync::watch;

/// Settings of the dashboard.
#[derive(Debug, Clone)]
pub(crate) struct UiSettings {
    pub keys: SessionKeys,
    /// The address of GitHub's pages.
    pub github: String,
    /// The address by which people reach the service.
    pub public_url: String,
}

#[cfg(test)]
impl UiSettings {
    /// With a key that any other server has, too.
    pub(crate) fn plain() -> Self {
        Self {
            keys: SessionKeys::new(&["the master key".into()]),
            github: "https://github.test".to_owned(),
            public_url: "https://reviewer.test".to_owned(),
        }
    }
}

/// Everything of the dashboard that routes share.
pub(super) struct Ui {
    pub(super) settings: UiSettings,
    pub(super) pulse: Pulse,
    pub(super) seats: Arc<Seats>,
    ending: watch::Sender<bool>,
}

impl Ui {
    pub(super) fn new(settings: UiSettings, connections: usize) -> Self {
        Self {
            settings,
            pulse: Pulse::default(),
            seats: Arc::new(Seats::new(connections)),
            ending: watch::Sender::new(false),
        }
    }

    /// Ends everything that would go on for as long as a page is open.
    pub(super) fn end(&self) {
        self.ending.send_replace(true);
    }
}

/// The routes of the dashboard.
pub(super) fn routes<B: Backend>(shared: &Arc<Shared<B>>) -> Router<Arc<Shared<B>>> {
    let signed_in = Router::new()
        .route("/ui", get(pages::list::<B>))
        .route("/ui/pr/{owner}/{repo}/{number}", get(pages::pull::<B>))
        .route(
            "/ui/pr/{owner}/{repo}/{number}/retry",
            post(pages::retry::<B>),
        )
        .route("/ui/events", get(live::events::<B>))
        .route("/ui/sign-out", post(entry::sign_out::<B>))
        .route("/ui/{*rest}", get(pages::nothing))
        .route_layer(from_fn_with_state(
            Arc::clone(shared),
            entry::authorize::<B>,
        ));
    Router::new()
        .route("/", get(async || Redirect::to("/ui")))
        .route("/ui/", get(async || Redirect::to("/ui")))
        .route("/ui/sign-in", get(entry::form).post(entry::sign_in::<B>))
        .route("/ui/style.css", file("text/css", dashboard::STYLE))
        .route("/ui/live.js", file("text/javascript", dashboard::SCRIPT))
        .route("/ui/icon.svg", file("image/svg+xml", dashboard::ICON))
        .merge(signed_in)
        .layer(from_fn(with_policy))
}

fn file<S: Clone + Send + Sync + 'static>(
    kind: &'static str,
    text: &'static str,
) -> axum::routing::MethodRouter<S> {
    get(async move || ([(CONTENT_TYPE, format!("{kind}; charset=utf-8"))], text))
}

/// Pages may load what is ours.
async fn with_policy(request: axum::extract::Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    let policy = HeaderValue::from_static(dashboard::CONTENT_POLICY);
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    answer
}

/// A page that refuses a request.
pub(super) struct Refusing(Box<Response>);

impl IntoResponse for Refusing {
    fn into_response(self) -> Response {
        *self.0
    }
}

impl From<Refusal> for Refusing {
    fn from(refusal: Refusal) -> Self {
        Self(Box::new(refusal.into_response()))
    }
}

/// A refusal as a page, with the way back to the list.
fn refusing(viewer: Option<&Viewer>, status: StatusCode, title: &str, sentence: &str) -> Refusing {
    let page = dashboard::notice(&Notice {
        viewer,
        title,
        sentence,
        onward: ("/ui", "To the pull requests"),
    });
    Refusing(Box::new((status, Html(page)).into_response()))
}

fn refused(viewer: &Viewer, refusal: Refused) -> Refusing {
    let (status, title, sentence) = match refusal {
        Refused::NotFound => return not_found(viewer),
        Refused::Unavailable(why) => (StatusCode::SERVICE_UNAVAILABLE, "Not available", why),
        Refused::Invalid(why) => (StatusCode::UNPROCESSABLE_ENTITY, "Not understood", why),
    };
    refusing(Some(viewer), status, title, &sentence)
}

fn not_found(viewer: &Viewer) -> Refusing {
    let sentence = "There is no such page or pull request here.";
    refusing(Some(viewer), StatusCode::NOT_FOUND, "Not found", sentence)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
