//! Judgement of webhooks as GitHub has them: whether what happens there reaches the service, and what to do where it does not.

use super::webhook::{EVENTS, PERMISSIONS};
use crate::domain::RepoName;
use std::collections::{BTreeMap, HashSet};

/// The route of the service, which every address ends with.
const ROUTE: &str = "/webhook";

/// A webhook, as GitHub has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hook {
    /// `None`: it has no address.
    pub url: Option<String>,
    /// `json` or `form`.
    pub content_type: Option<String>,
    pub has_secret: bool,
    pub verifies_tls: bool,
}

/// A webhook of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryHook {
    pub hook: Hook,
    pub active: bool,
    pub events: Vec<String>,
    /// `None`: nothing was delivered yet.
    pub last: Option<Answer>,
}

/// The answer to a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// 0 where there was none.
    pub code: u16,
    /// GitHub's words about it.
    pub words: String,
}

/// An attempt to deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Of the delivery; several attempts have the same.
    pub guid: String,
    /// RFC 3339.
    pub at: String,
    pub answer: Answer,
}

/// The judgement of one thing, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Right(String),
    /// It says what to do.
    Wrong(String),
    /// Only a person can tell whether it is right. It says what to look at.
    Look(String),
}

impl Answer {
    fn is_right(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// The line about a delivery that did not arrive, of which it is told when or which one it was.
    fn line(&self, delivery: &str) -> Line {
        let (code, words) = (self.code, &self.words);
        let told = |advice: &str| format!("{delivery} did not arrive: {advice}");
        match code {
            401 => Line::Wrong(told(
                "the service answered 401, so its secret is not the one of the webhook; set the same on both sides.",
            )),
            404 => Line::Wrong(told(
                "the answer was 404; see that the address leads to /webhook of this service.",
            )),
            0 => Line::Look(told(&format!(
                "nobody answered ({words}); start the service, or see that GitHub reaches it.",
            ))),
            _ => Line::Look(told(&format!(
                "the answer was {code}; see the log of the service and of the proxy before it.",
            ))),
        }
    }
}

/// The permissions that are missing among these, as GitHub names them with their access.
#[must_use]
pub fn missing_permissions(granted: &BTreeMap<String, String>) -> Vec<String> {
    let has = |name: &str, access: &str| {
        let granted = granted.get(name).map(String::as_str);
        granted == Some(access) || matches!(granted, Some("write" | "admin"))
    };
    let missing = PERMISSIONS
        .iter()
        .filter(|(name, access)| !has(name, access));
    missing
        .map(|(name, access)| format!("{name}: {access}"))
        .collect()
}

/// The events that are missing among these.
#[must_use]
pub fn missing_events(events: &[String]) -> Vec<&'static str> {
    let has = |event: &str| events.iter().any(|one| one == event || one == "*");
    let missing = EVENTS.iter().filter(|event| !has(event));
    missing.copied().collect()
}

/// Judges the webhook of an App.
#[must_use]
pub fn of_app(hook: &Hook, public_url: &str) -> Vec<Line> {
    let Some(url) = &hook.url else {
        return vec![Line::Wrong(format!(
            "The App has no webhook; switch it on in its settings, with {}.",
            form(public_url)
        ))];
    };
    let mut lines = problems("The webhook of the App", hook);
    lines.push(address("The webhook of the App", url, public_url));
    lines
}

/// Judges the webhooks of a repository: one of them has to be for the service.
#[must_use]
pub fn of_repository(
    repository: &RepoName,
    hooks: &[RepositoryHook],
    public_url: &str,
) -> Vec<Line> {
    let is_ours = |one: &&RepositoryHook| match (&one.hook.url, exact(public_url)) {
        (Some(url), Some(exact)) => *url == exact,
        (Some(url), None) => path(url).ends_with(ROUTE),
        (None, _) => false,
    };
    let ours: Vec<Vec<Line>> = hooks
        .iter()
        .filter(is_ours)
        .map(|one| of_one(repository, one, public_url))
        .collect();
    let is_wrong = |lines: &&Vec<Line>| !lines.iter().any(|one| matches!(one, Line::Wrong(_)));
    if let Some(lines) = ours.iter().find(is_wrong).or(ours.first()) {
        return lines.clone();
    }
    let mut urls = hooks.iter().filter_map(|one| one.hook.url.as_deref());
    let similar = urls.find(|url| path(url).ends_with(ROUTE));
    vec![match similar {
        Some(url) => address(&format!("The webhook of {repository}"), url, public_url),
        None => Line::Wrong(format!(
            "{repository} has no webhook for this service; add one below Settings, Webhooks, with {} and the events {}.",
            form(public_url),
            EVENTS.join(", ")
        )),
    }]
}

/// The line about webhooks that the token may not see.
#[must_use]
pub fn unseen(repository: &RepoName, public_url: &str) -> Line {
    Line::Look(format!(
        "The token may not see the webhooks of {repository}; compare there, below Settings, Webhooks: {} and the events {}.",
        form(public_url),
        EVENTS.join(", ")
    ))
}

/// Judges the attempts to deliver, the newest first.
#[must_use]
pub fn deliveries(attempts: &[Attempt]) -> Line {
    let Some(newest) = attempts.first() else {
        return Line::Right("GitHub has delivered no webhook of the App yet.".to_owned());
    };
    if !newest.answer.is_right() {
        return newest
            .answer
            .line(&format!("The last webhook, at {},", newest.at));
    }
    let arrived: HashSet<&str> = attempts
        .iter()
        .filter(|one| one.answer.is_right())
        .map(|one| one.guid.as_str())
        .collect();
    let all: HashSet<&str> = attempts.iter().map(|one| one.guid.as_str()).collect();
    let (sent, lost) = (all.len(), all.len() - arrived.len());
    Line::Right(match lost {
        0 => format!("Recent webhooks of the App: {sent}, and all of them arrived."),
        lost => format!(
            "Recent webhooks of the App: {sent}. {lost} did not arrive, and the running service asks GitHub to send them again."
        ),
    })
}

fn of_one(repository: &RepoName, one: &RepositoryHook, public_url: &str) -> Vec<Line> {
    let subject = format!("The webhook of {repository}");
    let mut lines = problems(&subject, &one.hook);
    if !one.active {
        lines.push(Line::Wrong(format!(
            "{subject} is not active; switch it on below Settings, Webhooks."
        )));
    }
    let missing = missing_events(&one.events);
    if !missing.is_empty() {
        lines.push(Line::Wrong(format!(
            "{subject} lacks the events {}; tick them below Settings, Webhooks.",
            missing.join(", ")
        )));
    }
    let last = one.last.as_ref().filter(|last| !last.is_right());
    lines.extend(
        last.map(|last| last.line(&format!("The last delivery of the webhook of {repository}"))),
    );
    let url = one.hook.url.as_deref().unwrap_or_default();
    lines.push(address(&subject, url, public_url));
    lines
}

/// The mistakes of a webhook besides its address.
fn problems(subject: &str, hook: &Hook) -> Vec<Line> {
    let mut lines = Vec::new();
    let content_type = hook.content_type.as_deref().unwrap_or("form");
    if content_type != "json" {
        lines.push(Line::Wrong(format!(
            "{subject} has the content type {content_type}; choose application/json."
        )));
    }
    if !hook.has_secret {
        lines.push(Line::Wrong(format!(
            "{subject} has no secret, so the service refuses what it sends; set the secret of service.yml."
        )));
    }
    if !hook.verifies_tls {
        lines.push(Line::Look(format!(
            "{subject} does not verify certificates, so anybody on the way can read it; enable SSL verification."
        )));
    }
    lines
}

/// The line about an address.
fn address(subject: &str, url: &str, public_url: &str) -> Line {
    let shown = without_secrets(url);
    match exact(public_url) {
        Some(exact) if url == exact => Line::Right(format!("{subject} goes to {shown}.")),
        Some(exact) => Line::Wrong(format!(
            "{subject} goes to {shown}, and public_url in service.yml leads to {exact}; correct one of them."
        )),
        None if path(url).ends_with(ROUTE) => Line::Right(format!(
            "{subject} goes to {shown}; this address has to lead to the service."
        )),
        None => Line::Wrong(format!(
            "{subject} goes to {shown}; the service takes webhooks at {ROUTE}, so the address has to end with it."
        )),
    }
}

/// The address of the webhook where `public_url` is for everybody. Without TLS it is for the sessions, behind a proxy.
fn exact(public_url: &str) -> Option<String> {
    let is_public = public_url.starts_with("https://");
    is_public.then(|| format!("{public_url}{ROUTE}"))
}

/// The fields of GitHub's form for a webhook.
fn form(public_url: &str) -> String {
    let address = exact(public_url)
        .unwrap_or_else(|| format!("of the service as GitHub reaches it, with {ROUTE} at its end"));
    format!("the address {address}, the content type application/json, the secret of service.yml")
}

/// An address without its query.
fn path(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

/// An address as people may see it: without a password and without a query, which can hold another one.
fn without_secrets(url: &str) -> String {
    let path = path(url);
    let (scheme, rest) = path.split_once("://").unwrap_or(("", path));
    let authority = rest.split('/').next().unwrap_or_default();
    let hidden = authority.rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[hidden..])
}

#[cfg(test)]
#[path = "hooks_tests.rs"]
mod tests;
