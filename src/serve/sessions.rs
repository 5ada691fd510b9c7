//! Sessions as child processes of the same binary: started, watched, ended, and found again after a crash. A session's folder
//! holds what is needed for that, and no secret: the order with its tokens goes to the child's standard input.
#![expect(clippy::disallowed_methods, reason = "edge: starts sessions")]

use reviewer_core::lifecycle::{Effect, PullKey};
use reviewer_core::session_order::{
    RESULT_FILE, SessionCost, SessionEvent, SessionMessage, SessionOrder,
};
use reviewer_engine::EffectError;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::sync::{Notify, mpsc};

mod orphans;
#[cfg(test)]
mod tests;

/// A session by the pull request and the dispatch that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SessionId {
    pub key: PullKey,
    pub dispatch: u64,
}

impl SessionId {
    /// The name of its folder and its log, in which the store counts the dispatches.
    fn name(&self, store: &str) -> String {
        let PullKey { repository, number } = self.key;
        format!("{store}-{repository}-{number}-{}", self.dispatch)
    }
}

/// A session to start.
pub(crate) struct Launch {
    pub id: SessionId,
    pub effect: Effect,
    pub order: PendingOrder,
}

impl Launch {
    fn deadline(&self) -> Duration {
        match self.effect {
            Effect::Dispatch { deadline_ms, .. } => Duration::from_millis(deadline_ms),
            _ => Duration::ZERO,
        }
    }
}

/// The order of a session that starts now.
pub(crate) struct Ordered {
    /// Arguments of the binary.
    pub arguments: Vec<String>,
    pub order: SessionOrder,
}

pub(crate) type PendingOrder =
    Pin<Box<dyn Future<Output = Result<Ordered, EffectError>> + Send + 'static>>;

/// The end of a session, as far as anybody saw it.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub id: SessionId,
    /// Its last message, or why there is none; nothing if it was ended because nobody wants it any more.
    pub said: Option<Result<SessionMessage, String>>,
}

/// Runs sessions. Nothing here waits for one.
pub(crate) trait Starter: Send + Sync + 'static {
    /// Starts a session, or leaves one alone that is at work. One that cannot be started has ended.
    fn start(&self, launch: Launch);
    /// Ends a session, if it is at work; nothing is told of it then.
    fn end(&self, id: &SessionId);
    /// The sessions at work.
    fn running(&self) -> Vec<SessionId>;
    /// The folder of a session.
    fn folder(&self, id: &SessionId) -> PathBuf;
    /// The end of a session's log.
    fn log(&self, id: &SessionId) -> String;
}

/// The file that says which session a folder is of, and which service made it.
const SESSION_FILE: &str = "owner.json";
/// The file with the process that runs the session.
const PROCESS_FILE: &str = "process.json";
/// So much of a log is kept in the store.
const TAIL: u64 = 8 << 10;

/// The place and the limits of child processes.
#[derive(Debug)]
pub(crate) struct Children {
    /// The folders of sessions at work.
    pub folder: PathBuf,
    /// The logs of all sessions.
    pub logs: PathBuf,
    pub program: PathBuf,
    /// The name of the store, whose numbers sessions have.
    pub store: String,
    /// The whole environment of a child.
    pub environment: Vec<(String, String)>,
    pub ended: mpsc::UnboundedSender<Ended>,
    pub running: Arc<Mutex<HashMap<SessionId, Arc<Notify>>>>,
    /// The service ends: its sessions begin again elsewhere, or with its next start.
    pub closing: Arc<AtomicBool>,
}

/// Logs of sessions are kept for so long.
const LOG_LIFE: Duration = Duration::from_hours(30 * 24);
/// The time between the request to end and the kill.
const GRACE: Duration = Duration::from_secs(8);

impl Children {
    pub(crate) fn new(
        data: &Path,
        program: PathBuf,
        environment: Vec<(String, String)>,
        store: String,
        ended: mpsc::UnboundedSender<Ended>,
    ) -> Self {
        Self {
            folder: data.join("sessions"),
            logs: data.join("logs"),
            program,
            store,
            environment,
            ended,
            running: Arc::default(),
            closing: Arc::default(),
        }
    }

    /// Makes the folders. A process that runs no sessions needs none.
    pub(crate) fn make_folders(&self) -> io::Result<()> {
        private_folder(&self.folder)?;
        private_folder(&self.logs)
    }

    fn command(&self, launch: &Launch, folder: &Path) -> io::Result<Command> {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(self.log_file(&launch.id))?;
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(self.environment.iter().cloned())
            .env("TMPDIR", folder)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .kill_on_drop(true);
        Ok(command)
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

impl Starter for Children {
    fn folder(&self, id: &SessionId) -> PathBuf {
        self.folder.join(id.name(&self.store))
    }

    fn start(&self, launch: Launch) {
        let (id, end) = (launch.id.clone(), Arc::new(Notify::new()));
        {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            // Below the lock, so that whoever ends all of them finds this one, or it is not started.
            if self.closing.load(Ordering::Acquire) || running.contains_key(&id) {
                return;
            }
            running.insert(id.clone(), Arc::clone(&end));
        }
        let (folder, command) = match self.prepare(&launch) {
            Ok(prepared) => prepared,
            Err(error) => {
                self.forget(&id);
                let said = Err(format!("The session could not be started: {error}."));
                return drop(self.ended.send(Ended {
                    id,
                    said: Some(said),
                }));
            }
        };
        let (ended, closing) = (self.ended.clone(), Arc::clone(&self.closing));
        let running = Arc::clone(&self.running);
        tokio::spawn(async move {
            let said = take_turn(command, launch, &folder, &end).await;
            let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
            running.remove(&id);
            drop(running);
            // The folder of a session that was not ended stays until its end is in the store.
            if said.is_none() && !(closing.load(Ordering::Acquire) && has_finished(&folder)) {
                let _gone = fs::remove_dir_all(&folder);
            }
            drop(ended.send(Ended { id, said }));
        });
    }

    fn end(&self, id: &SessionId) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = running.get(id) {
            end.notify_one();
        }
    }

    fn running(&self) -> Vec<SessionId> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.keys().cloned().collect()
    }

    fn log(&self, id: &SessionId) -> String {
        let tail = fs::File::open(self.log_file(id)).and_then(|mut log| {
            let from = log.metadata()?.len().saturating_sub(TAIL);
            log.seek(SeekFrom::Start(from))?;
            let mut tail = Vec::new();
            log.take(TAIL).read_to_end(&mut tail)?;
            Ok(tail)
        });
        String::from_utf8_lossy(&tail.unwrap_or_default()).into_owned()
    }
}

impl Children {
    fn log_file(&self, id: &SessionId) -> PathBuf {
        self.logs.join(format!("{}.log", id.name(&self.store)))
    }

    fn prepare(&self, launch: &Launch) -> io::Result<(PathBuf, Command)> {
        let folder = self.folder(&launch.id);
        // What an earlier process left, which is gone.
        let _none = fs::remove_dir_all(&folder);
        private_folder(&folder)?;
        let owned = orphans::Owned {
            id: launch.id.clone(),
            service: orphans::Process::of(Some(std::process::id())),
        };
        write_json(&folder.join(SESSION_FILE), &owned)?;
        let command = self.command(launch, &folder)?;
        Ok((folder, command))
    }

    fn forget(&self, id: &SessionId) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(id);
    }

    /// The end of a session is in the store: its folder is not needed any more.
    pub(crate) fn clear(&self, id: &SessionId) {
        let _gone = fs::remove_dir_all(self.folder(id));
    }

    /// Removes logs that nobody has written to for a month.
    pub(crate) fn remove_old_logs(&self, now: SystemTime) {
        let entries = fs::read_dir(&self.logs).into_iter().flatten().flatten();
        for entry in entries {
            let changed = entry.metadata().and_then(|data| data.modified());
            let age = changed.ok().and_then(|at| now.duration_since(at).ok());
            if age.is_some_and(|age| age > LOG_LIFE) {
                let _gone = fs::remove_file(entry.path());
            }
        }
    }

    /// Ends every session for the end of the service, and waits for it.
    pub(crate) async fn end_all(&self) {
        self.closing.store(true, Ordering::Release);
        {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.values().for_each(|end| end.notify_one());
        }
        while !self.running().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// True if the session has said that it finished.
fn has_finished(folder: &Path) -> bool {
    let said = orphans::read::<SessionMessage>(&folder.join(RESULT_FILE));
    said.is_some_and(|said| matches!(said.event, SessionEvent::Finished { .. }))
}

/// Writes a file whole: after a crash it has its old content or its new one.
fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_all()?;
    fs::rename(new, path)
}

/// Orders a session, and runs it to its end. Returns its last message, or why there is none; nothing if somebody
/// ended it.
async fn take_turn(
    mut command: Command,
    launch: Launch,
    folder: &Path,
    end: &Notify,
) -> Option<Result<SessionMessage, String>> {
    let deadline = launch.deadline();
    let Launch { id, order, .. } = launch;
    let ordered = tokio::select! {
        () = end.notified() => return None,
        ordered = order => ordered,
    };
    match ordered {
        Ok(ordered) => {
            command.args(&ordered.arguments);
            run(command, &ordered.order, deadline, (folder, end)).await
        }
        Err(error) => Some(Ok(SessionMessage {
            dispatch: id.dispatch,
            event: SessionEvent::Failed {
                error: error.message,
                retry_after_ms: error.retry_after_ms,
                cost: SessionCost::default(),
            },
        })),
    }
}

/// Runs a session to its end. Returns its last message, or why there is none; nothing if somebody ended it.
async fn run(
    mut command: Command,
    order: &SessionOrder,
    deadline: Duration,
    (folder, end): (&Path, &Notify),
) -> Option<Result<SessionMessage, String>> {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Some(Err(format!("The session could not be started: {error}."))),
    };
    let process = orphans::Process::of(child.id());
    if let Some(process) = &process {
        let _unwritten = write_json(&folder.join(PROCESS_FILE), process);
    }
    let input = child.stdin.take();
    let work = async {
        if let Some(mut input) = input {
            // A child that is gone says so by its exit.
            let _gone = input.write_all(order.render().as_bytes()).await;
        }
        child.wait().await
    };
    let ended = tokio::select! {
        status = work => Ok(status),
        () = end.notified() => Err(None),
        () = tokio::time::sleep(deadline) => Err(Some("The session has had its time and was ended.".to_owned())),
    };
    stop(&mut child, process.as_ref()).await;
    let why = match ended {
        Ok(Ok(status)) => format!("The session ended without a result ({status})."),
        Ok(Err(error)) => format!("The session was lost: {error}."),
        Err(Some(why)) => why,
        Err(None) => return None,
    };
    let said = orphans::read::<SessionMessage>(&folder.join(RESULT_FILE));
    let said = said.filter(|one| one.dispatch == order.dispatch);
    Some(said.ok_or(why))
}

/// Ends the process group, politely first.
async fn stop(child: &mut Child, process: Option<&orphans::Process>) {
    if let Some(process) = process {
        if child.id().is_some() {
            process.signal(nix::sys::signal::Signal::SIGTERM);
            let _late = tokio::time::timeout(GRACE, child.wait()).await;
        }
        // Whatever is left of its group.
        process.signal(nix::sys::signal::Signal::SIGKILL);
    }
    let _ended = child.wait().await;
}
