//! Starting and ending `opencode serve`. Separate from the client, because this is about a process: its port,
//! its environment, its last words and its end.
#![expect(clippy::disallowed_methods, reason = "edge: starts the sidecar")]

use super::client::Client;
use super::output::{Output, secrets};
use super::profile::{self, Profile, Surroundings};
use crate::clock::Clock;
use crate::random;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use secrecy::SecretString;
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::sync::watch;

const MAJOR_VERSION: &str = "1";
const START_LIMIT: Duration = Duration::from_mins(1);
const START_ATTEMPTS: usize = 3;
/// Short, because a request that connects just as the port opens is sometimes never answered.
const HEALTH_TIMEOUT: Duration = Duration::from_millis(250);
const HEALTH_PAUSE: Duration = Duration::from_millis(50);
const STOP_GRACE: Duration = Duration::from_secs(2);

/// What is started, and where.
pub struct Spec {
    pub executable: PathBuf,
    pub rg_dir: Option<PathBuf>,
    /// A directory of its own, which it may write.
    pub home: PathBuf,
    /// The snapshot's directory. It exists, and may still be empty.
    pub directory: PathBuf,
    /// From `profile::config`.
    pub config: Value,
    /// The system's `PATH`.
    pub path: String,
    pub profile: Profile,
}

/// Without the configuration, which holds the model key.
impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
            .field("executable", &self.executable)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// Why there is no sidecar.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "OpenCode cannot be started from {executable} ({cause}); install it with `npm ci`, or set \
         OPENCODE_BIN to the path of an `opencode` executable of major version 1"
    )]
    Missing { executable: String, cause: String },
    #[error(
        "OpenCode {found} was found at {executable}; this reviewer drives major version 1, so install \
         the pinned one with `npm ci` or set OPENCODE_BIN to one"
    )]
    WrongVersion { found: String, executable: String },
    #[error("OpenCode ended while it was starting ({status}); its last output: {tail}")]
    Exited { status: String, tail: String },
    #[error("OpenCode was not ready after {} s; its last output: {tail}", START_LIMIT.as_secs())]
    NeverHealthy { tail: String },
    #[error("The surroundings of OpenCode could not be prepared: {0}")]
    Surroundings(String),
}

/// A running `opencode serve`. Dropped, it is killed with everything that it started.
#[derive(Debug)]
pub struct Sidecar {
    client: Client,
    group: Pid,
    output: Output,
    /// How it ended, once it has.
    ended: watch::Receiver<Option<String>>,
}

impl Sidecar {
    pub async fn start(spec: &Spec, clock: &Clock) -> Result<Self, StartError> {
        let deadline = clock.instant() + START_LIMIT;
        let mut attempt = 1;
        loop {
            match Self::attempt(spec, clock, deadline).await {
                Err(StartError::Exited { tail, .. })
                    if attempt < START_ATTEMPTS && is_port_clash(&tail) =>
                {
                    tracing::debug!(
                        attempt,
                        "the sidecar's port was taken; another one is tried"
                    );
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Waits until the process has ended by itself, and says how, with its last output.
    pub async fn exited(&self) -> String {
        let status = exit_of(self.ended.clone()).await;
        format!("{status}; its last output: {}", self.output.tail())
    }

    /// Ends it and everything that it started.
    pub async fn stop(self) {
        self.signal(Signal::SIGTERM);
        if tokio::time::timeout(STOP_GRACE, exit_of(self.ended.clone()))
            .await
            .is_err()
        {
            self.signal(Signal::SIGKILL);
            exit_of(self.ended.clone()).await;
        }
    }

    async fn attempt(spec: &Spec, clock: &Clock, deadline: Instant) -> Result<Self, StartError> {
        let password = random::hex(32).map_err(|error| surroundings(&error.to_string()))?;
        let password = SecretString::from(password);
        let port = free_port()?;
        let mut child = spawn(spec, port, &password)?;
        let pid = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .ok_or_else(|| surroundings("the new process has no id"))?;
        let output = Output::new(secrets(&spec.config, &password));
        output.drain(child.stdout.take());
        output.drain(child.stderr.take());
        let (ended, receiver) = watch::channel(None);
        let group = Pid::from_raw(pid);
        tokio::spawn(async move { report_end(child, group, &ended).await });
        let base = format!("http://127.0.0.1:{port}");
        let client = Client::new(base, password, spec.profile.agent())
            .map_err(|error| surroundings(&error.to_string()))?;
        // From here on an early return drops it, which kills the process.
        let sidecar = Self {
            client,
            group,
            output,
            ended: receiver,
        };
        let version = sidecar.healthy(clock, deadline).await?;
        if version.split('.').next() != Some(MAJOR_VERSION) {
            return Err(StartError::WrongVersion {
                found: version,
                executable: spec.executable.display().to_string(),
            });
        }
        Ok(sidecar)
    }

    /// Real pauses, whatever the clock's scale: this waits for a process, and a shorter pause would only
    /// take its processor away.
    async fn healthy(&self, clock: &Clock, deadline: Instant) -> Result<String, StartError> {
        while clock.instant() < deadline {
            if let Ok(version) = self.client.health(HEALTH_TIMEOUT).await {
                return Ok(version);
            }
            let ended = exit_of(self.ended.clone());
            if let Ok(status) = tokio::time::timeout(HEALTH_PAUSE, ended).await {
                let tail = self.output.complete().await;
                return Err(StartError::Exited { status, tail });
            }
        }
        Err(StartError::NeverHealthy {
            tail: self.output.tail(),
        })
    }

    fn signal(&self, signal: Signal) {
        // Once it is reaped, the group's number may belong to somebody else.
        if self.ended.borrow().is_none() {
            let _gone_already = killpg(self.group, signal);
        }
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

fn spawn(spec: &Spec, port: u16, password: &SecretString) -> Result<Child, StartError> {
    for folder in [spec.home.clone(), spec.home.join("tmp")] {
        std::fs::create_dir_all(&folder)
            .map_err(|error| surroundings(&format!("{}: {error}", folder.display())))?;
    }
    let variables = profile::environment(Surroundings {
        home: &spec.home,
        rg_dir: spec.rg_dir.as_deref(),
        path: &spec.path,
        password,
        config: &spec.config,
    });
    Command::new(&spec.executable)
        .args(["serve", "--pure", "--hostname", "127.0.0.1", "--port"])
        .arg(port.to_string())
        .current_dir(&spec.directory)
        .env_clear()
        .envs(variables)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| StartError::Missing {
            executable: spec.executable.display().to_string(),
            cause: error.to_string(),
        })
}

/// Waits for the leader, then ends whatever of its group is left, and only then says that it ended.
async fn report_end(mut child: Child, group: Pid, ended: &watch::Sender<Option<String>>) {
    let status = match child.wait().await {
        Ok(status) => status.to_string(),
        Err(error) => format!("unknown status: {error}"),
    };
    let _nobody_left = killpg(group, Signal::SIGKILL);
    ended.send_replace(Some(status));
}

async fn exit_of(mut ended: watch::Receiver<Option<String>>) -> String {
    match ended.wait_for(Option::is_some).await {
        Ok(status) => status.clone().unwrap_or_default(),
        Err(_) => "unknown status".to_owned(),
    }
}

/// OpenCode has no port that means "any free one", so one is tried out and given to it.
fn free_port() -> Result<u16, StartError> {
    std::net::TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| surroundings(&format!("no free port: {error}")))
}

/// Version 1.18 says only `ServeError`.
fn is_port_clash(tail: &str) -> bool {
    ["ServeError", "EADDRINUSE", "in use"]
        .iter()
        .any(|word| tail.contains(word))
}

fn surroundings(cause: &str) -> StartError {
    StartError::Surroundings(cause.to_owned())
}
