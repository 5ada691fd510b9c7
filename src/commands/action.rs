//! `action`: what the container runs, the event that the runner names; `review`: the same from a shell.

use super::{closed, merge_group, session};
use crate::actions;
use crate::host::{Aim, Setup};
use crate::run::{exits, run};
use reviewer_core::event::{self, Event, Trigger, TriggerRules};

/// Does what the runner's event asks for. Returns the exit code.
pub async fn action(setup: &Setup) -> u8 {
    match event_of_runner(setup) {
        Ok(Trigger::Run(event)) => run(setup, &event, None).await,
        Ok(Trigger::WithoutKey(event, reason)) => run(setup, &event, Some(reason)).await,
        Ok(Trigger::Closed(pr)) => closed::closed(setup, &pr).await,
        Ok(Trigger::Merge(group)) => merge_group::merge_group(setup, &group).await,
        Ok(Trigger::Skip(reason)) => exits::skipped(setup, &reason.to_string()),
        Err(sentence) => exits::failed(setup, &[sentence]),
    }
}

/// Reviews the pull request of an event, or does it as a session of a service. Returns the exit code.
pub async fn review(setup: &Setup, event: &Event) -> u8 {
    match &setup.session {
        Some(session) => session::hold(setup, session, event, Aim::Review).await,
        None => run(setup, event, None).await,
    }
}

/// Reads the event that the runner names.
pub(super) fn event_of_runner(setup: &Setup) -> Result<Trigger, String> {
    let environment = &setup.environment;
    let name = environment.event_name.as_deref().ok_or(
        "GITHUB_EVENT_NAME is not set; this command runs inside a workflow. From a shell, use `review --repo owner/name --pr N`.",
    )?;
    let payload = actions::read_event(environment.event_path.as_deref())?;
    let mention = setup.inputs.mention();
    let rules = TriggerRules {
        mention: &mention,
        has_model_key: setup.inputs.can_reach_a_model(),
    };
    event::parse(name, &payload, &rules).map_err(|error| error.to_string())
}
