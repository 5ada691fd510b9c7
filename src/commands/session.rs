//! A session of a service: the same review or fix, ordered on standard input and told to the service. The last message is in a
//! file first, because a message can be lost.

use crate::actions;
use crate::host::{Aim, OrderedSession, Setup};
use crate::run::run_session;
use nix::sys::signal::{Signal, raise};
use nix::unistd::{Pid, getppid};
use reviewer_core::event::Event;
use reviewer_core::session_order::{RESULT_FILE, SessionEvent, SessionMessage};
use reviewer_system::callback;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Does the work of the order, and tells the service. Returns the exit code: 0 where it finished, 2 where it failed.
pub(super) async fn hold(
    setup: &Setup,
    session: &OrderedSession,
    event: &Event,
    aim: Aim<'_>,
) -> u8 {
    // Its service can be gone already.
    let service = session.order.service.and_then(|id| i32::try_from(id).ok());
    let service = service.map_or_else(getppid, Pid::from_raw);
    let orphaned = Arc::new(AtomicBool::new(false));
    let watching = tokio::spawn(end_with_parent(service, Arc::clone(&orphaned)));
    let started = SessionEvent::Started {
        session: session.id.clone(),
    };
    tell(setup, session, &json(setup, session, started)).await;
    let ended = run_session(setup, event, aim).await;
    watching.abort();
    if orphaned.load(Ordering::Acquire) {
        // It begins again, so this was not its end.
        return 2;
    }
    let code = if matches!(ended, SessionEvent::Finished { .. }) {
        0
    } else {
        2
    };
    let message = json(setup, session, ended);
    let file = Path::new(&session.order.folder).join(RESULT_FILE);
    if let Err(error) = actions::write_whole(&file, message.as_bytes()) {
        let warning = format!("The file {RESULT_FILE} could not be written: {error}");
        setup.actions.warning(&warning);
    }
    tell(setup, session, &message).await;
    code
}

/// Ends this process as a signal does, once the service that started it is gone: another one may start the session again.
async fn end_with_parent(service: Pid, orphaned: Arc<AtomicBool>) {
    const LOOK: Duration = Duration::from_secs(1);
    while getppid() == service {
        tokio::time::sleep(LOOK).await;
    }
    orphaned.store(true, Ordering::Release);
    let _ended = raise(Signal::SIGTERM);
}

/// The message, without secrets.
fn json(setup: &Setup, session: &OrderedSession, event: SessionEvent) -> String {
    let message = SessionMessage {
        dispatch: session.order.dispatch,
        event,
    };
    let value = serde_json::to_value(message).unwrap_or_default();
    setup.actions.redactor().clean_value(value).to_string()
}

/// Sends a message. One that is lost is a line of the log: the service reads the file, and sees the end of the process.
async fn tell(setup: &Setup, session: &OrderedSession, message: &str) {
    let order = &session.order;
    let around = (&*setup.environment.network, setup.clock);
    let to = (order.callback_url.as_str(), order.callback_token.as_str());
    if let Err(error) = callback::post(around, to, message).await {
        let warning = format!("A message to the service was lost: {error}.");
        setup.actions.warning(&warning);
    }
}
