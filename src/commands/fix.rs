//! `fix`: what a person's `fix` comment does, from a shell; or its two halves, with a signed file between them. `loop`: reviews
//! and fixes in turns.

use super::action::event_of_runner;
use super::session;
use crate::actions;
use crate::host::{Aim, Failure, Setup, admitted};
use crate::run::{exits, run_fix, run_loop};
use reviewer_core::domain::PrKey;
use reviewer_core::event::{self, Command, Event, EventKind, Trigger};
use reviewer_core::fix::Bundle;
use reviewer_core::fix::bundle::MAX_BYTES;
use reviewer_core::state::signature::Keys;
use reviewer_text::hidden::visible;
use std::path::{Path, PathBuf};

/// The half of a fix that a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Half {
    Both,
    /// Fixes, and writes a bundle to this file.
    PatchOut(PathBuf),
    /// Makes a commit of the bundle in this file.
    Publish(PathBuf),
}

/// Fixes open findings of a pull request, or does it as a session of a service. Returns the exit code.
pub async fn fix(setup: &Setup, pr: &PrKey, half: &Half) -> u8 {
    if let Some(session) = &setup.session {
        return session::hold(setup, session, &Event::manual(pr), Aim::Fix).await;
    }
    let event = match asked(setup, pr) {
        Ok(event) => event,
        Err(reason) => {
            exits::skipped(setup, &reason);
            return 1;
        }
    };
    match half {
        Half::Both => run_fix(setup, &event, Aim::Fix).await,
        Half::PatchOut(path) => match keys(setup, pr) {
            Ok(_) => run_fix(setup, &event, Aim::PatchOut(path)).await,
            Err(Failure(sentences)) => exits::failed(setup, &sentences),
        },
        Half::Publish(path) => match read(setup, path, pr) {
            Ok(bundle) => run_fix(setup, &event, Aim::Publish(&bundle)).await,
            Err(Failure(sentences)) => exits::failed(setup, &sentences),
        },
    }
}

/// Reviews and fixes in turns, until nothing is left to fix or people are needed. Returns the exit code.
pub async fn rounds(setup: &Setup, pr: &PrKey) -> u8 {
    run_loop(setup, &Event::manual(pr)).await
}

const OTHER: &str = "Nothing was fixed: the comment does not ask for a fix.";

/// Events that anybody can cause by a few words: these words have to ask for the fix.
const SPOKEN: [&str; 3] = [
    "issue_comment",
    "pull_request_review_comment",
    "pull_request_review",
];

/// The comment that a workflow runs for, so that its author is asked for their rights; else whoever has the token asks. Fails
/// where the comment asks for something else.
fn asked(setup: &Setup, pr: &PrKey) -> Result<Event, String> {
    let environment = &setup.environment;
    let name = environment.event_name.as_deref().unwrap_or_default();
    if !environment.in_actions || !SPOKEN.contains(&name) {
        return Ok(Event::manual(pr));
    }
    let event = match event_of_runner(setup)? {
        Trigger::Run(event) | Trigger::WithoutKey(event, _) => event,
        Trigger::Skip(reason) => return Err(reason.to_string()),
        Trigger::Closed(_) | Trigger::Merge(_) => return Err(OTHER.into()),
    };
    let is_here = event.number == pr.number && event.repo == pr.repo;
    let asks = match &event.kind {
        EventKind::Mention { body, .. } => {
            let command = event::command(body, &setup.inputs.mention());
            matches!(command, Some(Command::Fix | Command::FixResume))
        }
        _ => false,
    };
    if is_here && asks {
        return Ok(event);
    }
    Err(OTHER.into())
}

/// The keys that bundles are signed with. Both halves need the same, and the one that publishes has no model key.
fn keys(setup: &Setup, pr: &PrKey) -> Result<Keys, Failure> {
    let (config, _) = admitted(setup, false)?;
    if config.state_keys.is_empty() {
        return Err(Failure::new(
            "A bundle is signed with state_key, and it is not set; give the same one to the job that fixes and to the job \
             that publishes.",
        ));
    }
    let repo = pr.repo.to_string();
    Ok(Keys::derive(&config.state_keys, None, &repo))
}

fn read(setup: &Setup, path: &Path, pr: &PrKey) -> Result<Bundle, Failure> {
    let keys = keys(setup, pr)?;
    let shown = path.display().to_string();
    let shown = visible(&shown);
    let bytes = actions::read_file(path, MAX_BYTES)
        .map_err(|error| Failure::new(format!("The bundle {shown} could not be read: {error}.")))?;
    let read = Bundle::parse(&bytes, pr, &keys);
    read.map_err(|why| Failure::new(format!("The bundle {shown} is not published: {why}")))
}
