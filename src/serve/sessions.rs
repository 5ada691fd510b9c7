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
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::sync::{Notify, Semaphore, mpsc};

mod orphans;
#[cfg(test)]
mod tests;

pub(crate) use orphans::Left;

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
    /// The effect that it comes from, for a start after a crash.
    pub effect: Effect,
    /// Made when its turn has come.
    pub order: PendingOrder,
    pub deadline: Duration,
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
#[derive(Debug)]
pub(crate) struct Ended {
    pub id: SessionId,
    /// Its last message; `None` where it left none, and why.
    pub said: Result<SessionMessage, String>,
}

/// Starts and ends sessions. Neither waits for the session.
pub(crate) trait Starter: Send + Sync + 'static {
    /// Starts a session, or leaves one alone that is at work.
    fn start(&self, launch: Launch) -> io::Result<()>;
    /// Ends a session, if it is at work; nothing is told of it then.
    fn end(&self, id: &SessionId);
    /// The number of sessions at work or waiting for their turn.
    fn count(&self) -> usize;
    /// A new folder for a session, or the one that it has.
    fn folder(&self, id: &SessionId) -> io::Result<PathBuf>;
}

/// The file with what a start after a crash needs.
const LAUNCH_FILE: &str = "launch.json";
/// The file with the process that runs the session.
const PROCESS_FILE: &str = "process.json";

/// The content of `launch.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Launched {
    id: SessionId,
    effect: Effect,
    /// Starts so far.
    starts: u32,
}

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
    pub slots: Arc<Semaphore>,
    pub ended: mpsc::UnboundedSender<Ended>,
    pub running: Arc<Mutex<HashMap<SessionId, Arc<Notify>>>>,
    /// The service ends: its sessions begin again with the next one.
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
        most: usize,
        ended: mpsc::UnboundedSender<Ended>,
    ) -> io::Result<Self> {
        let (folder, logs) = (data.join("sessions"), data.join("logs"));
        for folder in [&folder, &logs] {
            private_folder(folder)?;
        }
        Ok(Self {
            folder,
            logs,
            program,
            store,
            environment,
            slots: Arc::new(Semaphore::new(most)),
            ended,
            running: Arc::default(),
            closing: Arc::default(),
        })
    }

    fn command(&self, launch: &Launch, folder: &Path) -> io::Result<Command> {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(
                self.logs
                    .join(format!("{}.log", launch.id.name(&self.store))),
            )?;
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
    fn folder(&self, id: &SessionId) -> io::Result<PathBuf> {
        let folder = self.folder.join(id.name(&self.store));
        private_folder(&folder)?;
        Ok(folder)
    }

    fn start(&self, launch: Launch) -> io::Result<()> {
        let end = Arc::new(Notify::new());
        {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            // Below the lock, so that whoever ends all of them finds this one, or it is refused.
            if self.closing.load(Ordering::Acquire) {
                return Err(io::Error::other("the service ends"));
            }
            if running.contains_key(&launch.id) {
                return Ok(());
            }
            running.insert(launch.id.clone(), Arc::clone(&end));
        }
        let prepared = self.prepare(&launch);
        let (folder, command) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                self.forget(&launch.id);
                return Err(error);
            }
        };
        let (slots, ended) = (Arc::clone(&self.slots), self.ended.clone());
        let (running, closing) = (Arc::clone(&self.running), Arc::clone(&self.closing));
        tokio::spawn(async move {
            let id = launch.id.clone();
            let said = tokio::select! {
                () = end.notified() => None,
                slot = slots.acquire_owned() => {
                    let said = take_turn(command, launch, &folder, &end).await;
                    drop(slot);
                    said
                }
            };
            let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
            running.remove(&id);
            drop(running);
            match said {
                // The folder stays until the end is in the store.
                Some(said) => drop(ended.send(Ended { id, said })),
                None if closing.load(Ordering::Acquire) => uncount(&folder),
                None => drop(fs::remove_dir_all(&folder)),
            }
        });
        Ok(())
    }

    fn end(&self, id: &SessionId) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = running.get(id) {
            end.notify_one();
        }
    }

    fn count(&self) -> usize {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.len()
    }
}

impl Children {
    fn prepare(&self, launch: &Launch) -> io::Result<(PathBuf, Command)> {
        let folder = self.folder(&launch.id)?;
        let file = folder.join(LAUNCH_FILE);
        let known = orphans::read::<Launched>(&file);
        let launched = Launched {
            id: launch.id.clone(),
            effect: launch.effect.clone(),
            starts: known.map_or(0, |known| known.starts),
        };
        write_json(&file, &launched)?;
        // An earlier process, which is gone.
        let _none = fs::remove_file(folder.join(PROCESS_FILE));
        let command = self.command(launch, &folder)?;
        Ok((folder, command))
    }

    fn forget(&self, id: &SessionId) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(id);
    }

    /// The end of a session is in the store: its folder is not needed any more.
    pub(crate) fn clear(&self, id: &SessionId) {
        let _gone = fs::remove_dir_all(self.folder.join(id.name(&self.store)));
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
        while self.count() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Changes the number of starts.
fn recount(folder: &Path, change: impl FnOnce(u32) -> u32) {
    let file = folder.join(LAUNCH_FILE);
    if let Some(launched) = orphans::read::<Launched>(&file) {
        let starts = change(launched.starts);
        let _unwritten = write_json(&file, &Launched { starts, ..launched });
    }
}

/// A start that ended with the service, as it should, does not count.
fn uncount(folder: &Path) {
    if folder.join(PROCESS_FILE).exists() {
        recount(folder, |starts| starts.saturating_sub(1));
    }
    let said = orphans::read::<SessionMessage>(&folder.join(RESULT_FILE));
    if said.is_some_and(|said| !matches!(said.event, SessionEvent::Finished { .. })) {
        // It was cancelled, and begins again.
        let _gone = fs::remove_file(folder.join(RESULT_FILE));
    }
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

/// Orders a session whose turn has come, and runs it to its end. Returns its last message, or why there is none; nothing if somebody
/// ended it.
async fn take_turn(
    mut command: Command,
    launch: Launch,
    folder: &Path,
    end: &Notify,
) -> Option<Result<SessionMessage, String>> {
    let Launch {
        id,
        order,
        deadline,
        ..
    } = launch;
    let ordered = tokio::select! {
        () = end.notified() => return None,
        ordered = order => ordered,
    };
    match ordered {
        Ok(ordered) => {
            command.args(&ordered.arguments);
            recount(folder, |starts| starts + 1);
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
    if let Some(mut input) = child.stdin.take() {
        // A child that is gone says so by its exit.
        let _gone = input.write_all(order.render().as_bytes()).await;
    }
    let ended = tokio::select! {
        status = child.wait() => Ok(status),
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
