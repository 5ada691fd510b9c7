//! The dashboard of the service as pages of HTML: the list of pull requests, one pull request, the way in. Values in, pages out.
//! Templates are Rust (`maud`), so text of others can only be an expression, and every expression is escaped. Pages load
//! their own style and script and nothing else, and work without the script. Pure.

mod diagram;
mod frame;
mod list;
mod pull;
mod sessions;
mod signing;
mod timeline;
mod waiting;
mod words;

use crate::domain::RepoName;
use crate::lifecycle::{Effect, Input, Millis, Policy, State};

pub use frame::{Notice, SignIn, notice, sign_in};
pub use list::{Group, Listing, Row, list};
pub use pull::{Ordered, PullPage, pull};
pub use signing::{Session, SessionKeys, fields};
pub use words::label;

/// The style of all pages.
pub const STYLE: &str = include_str!("dashboard/page.css");
/// The script that keeps a page up to date. Without it, a page is loaded again by hand.
pub const SCRIPT: &str = include_str!("dashboard/live.js");
/// The picture in the tab of a browser.
pub const ICON: &str = include_str!("dashboard/icon.svg");
/// The policy of all pages: own style, script, picture and events, forms to the service itself, and nothing else.
pub const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                                  form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The states in the order in which people look at them: those that wait for a person first, the ends last.
pub const STATES: [&str; 8] = [
    "needsHuman",
    "error",
    "fixing",
    "reviewing",
    "approved",
    "pending",
    "merged",
    "closed",
];

/// Whoever is signed in.
#[derive(Debug, Clone)]
pub struct Viewer {
    /// The name of the token.
    pub name: String,
    pub may_operate: bool,
    /// Stands in each form, and is refused in another session.
    pub form_token: String,
}

/// Everything that the pages of somebody who is signed in have in common.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub viewer: &'a Viewer,
    pub policy: &'a Policy,
    /// The address of GitHub's pages.
    pub github: &'a str,
    pub now: Millis,
}

/// The sessions of a pull request so far, and their cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    pub sessions: u32,
    pub cost_usd: f64,
}

/// An input of a pull request's history.
#[derive(Debug, Clone)]
pub struct Entry {
    pub n: i64,
    pub at: Millis,
    /// `None` for one that another version of the program wrote.
    pub input: Option<Input>,
    pub log: Vec<String>,
    /// The state after it.
    pub phase: String,
}

/// A session as people see it.
#[derive(Debug, Clone)]
pub struct SessionRow {
    pub dispatch: u64,
    pub agent: String,
    /// `review` or `fix`.
    pub task: String,
    pub asked: Millis,
    pub started: Option<Millis>,
    pub ended: Option<Millis>,
    pub cost_usd: f64,
    pub error: Option<String>,
    /// The end of its log.
    pub log: String,
}

/// Work that waits.
#[derive(Debug, Clone)]
pub struct WaitingRow {
    pub seq: u64,
    pub work: Work,
    pub since: Millis,
    pub due: Option<Millis>,
    /// Attempts so far, where the store counts them.
    pub attempts: Option<i64>,
    pub error: String,
}

#[derive(Debug, Clone)]
pub enum Work {
    Effect(Effect),
    Timer(Input),
    /// Of another version of the program.
    Unknown,
}

impl Around<'_> {
    /// The address of a pull request on GitHub.
    fn on_github(&self, repo: &RepoName, number: u64) -> Option<String> {
        self.web(&format!("{repo}/pull/{number}"))
    }

    /// An address below GitHub's own, if that is one of the web.
    fn web(&self, path: &str) -> Option<String> {
        let is_web = self.github.starts_with("https://") || self.github.starts_with("http://");
        is_web.then(|| format!("{}/{path}", self.github.trim_end_matches('/')))
    }
}

/// The address of a pull request's page.
#[must_use]
pub fn place(repo: &RepoName, number: u64) -> String {
    format!("/ui/pr/{repo}/{number}")
}

/// True for a state that nothing leaves by itself any more.
fn is_end(state: &State) -> bool {
    crate::lifecycle::ENDS.contains(&state.phase.name())
}

#[cfg(test)]
mod tests;
