//! The frame of every page: head, banner, main part, the region that tells screen readers what changed. And the pages outside of a
//! session: the way in, and short answers.

use super::Viewer;
use super::words::name;
use maud::{DOCTYPE, Markup, html};

/// A page in its frame.
pub(super) struct Page<'a> {
    pub title: String,
    pub viewer: Option<&'a Viewer>,
    /// The events that this page listens to; without one it never changes.
    pub events: Option<String>,
    /// One sentence about the content, which is read aloud when a change makes it another one.
    pub said: String,
    pub main: Markup,
}

pub(super) fn page(page: &Page<'_>) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (page.title) " · opencode-reviewer" }
                link rel="icon" href="/ui/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/ui/style.css";
                @if page.events.is_some() { script src="/ui/live.js" defer {} }
            }
            body {
                a class="skip" href="#main" { "Skip to the content" }
                (banner(page))
                main id="main" tabindex="-1" data-events=[page.events.as_deref()] data-said=(page.said) { (page.main) }
                footer {
                    p { "opencode-reviewer " (env!("CARGO_PKG_VERSION")) " · times are UTC" }
                }
            }
        }
    };
    markup.into_string()
}

fn banner(page: &Page<'_>) -> Markup {
    html! {
        header class="banner" {
            a class="brand" href="/ui" { "opencode-reviewer" }
            @if page.events.is_some() {
                p class="live" {
                    span id="live" { "Reload the page for news." }
                    span id="said" class="aside" role="status" aria-live="polite" {}
                }
            }
            @if let Some(viewer) = page.viewer {
                form class="out" method="post" action="/ui/sign-out" {
                    input type="hidden" name="form" value=(viewer.form_token);
                    span class="who" {
                        (name(&viewer.name)) " "
                        span class="faint" { "(" @if viewer.may_operate { "operate" } @else { "read" } ")" }
                    }
                    button class="quiet" type="submit" { "Sign out" }
                }
            }
        }
    }
}

/// The page with the way in.
#[derive(Debug, Clone, Default)]
pub struct SignIn {
    /// The page that is shown afterwards.
    pub next: String,
    /// The reason why the last attempt was refused.
    pub refused: Option<String>,
}

/// The form that takes an API token.
#[must_use]
pub fn sign_in(form: &SignIn) -> String {
    let refused = form.refused.as_deref();
    let main = html! {
        div class="narrow" {
            h1 { "Sign in" }
            @if let Some(refused) = refused { p id="refused" class="alert" role="alert" { (refused) } }
            form method="post" action="/ui/sign-in" {
                input type="hidden" name="next" value=(form.next);
                label for="token" { "API token" }
                input id="token" name="token" type="password" required autocomplete="current-password" maxlength="256"
                    aria-describedby="made" aria-invalid=[refused.map(|_| "true")];
                p id="made" class="faint" {
                    "The operator of the service makes one with " code { "opencode-reviewer serve tokens add" }
                    ". The role " code { "read" } " looks, " code { "operate" } " also retries."
                }
                button class="strong" type="submit" { "Sign in" }
            }
        }
    };
    page(&Page {
        title: "Sign in".into(),
        viewer: None,
        events: None,
        said: String::new(),
        main,
    })
}

/// A short answer.
#[derive(Debug, Clone)]
pub struct Notice<'a> {
    pub viewer: Option<&'a Viewer>,
    pub title: &'a str,
    pub sentence: &'a str,
    /// The next step: an address of the dashboard, and its name.
    pub onward: (&'a str, &'a str),
}

/// The page of a short answer.
#[must_use]
pub fn notice(notice: &Notice<'_>) -> String {
    let (address, words) = notice.onward;
    let main = html! {
        div class="narrow" {
            h1 { (notice.title) }
            p { (notice.sentence) }
            p { a href=(address) { (words) } }
        }
    };
    page(&Page {
        title: notice.title.to_owned(),
        viewer: notice.viewer,
        events: None,
        said: String::new(),
        main,
    })
}
