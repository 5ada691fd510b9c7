//! Starting and ending `opencode serve`. Separate from the client, because this is about a process: its port,
//! its environment, its last output and its end.
#![expect(clippy::disallowed_methods, reason = "edge: starts the sidecar")]

use super::client::Client;
use super::output::{Output, secrets};
use super::profile::{self, Profile, Surroundings};
use super::resources::Quota;
use super::sandbox::sockets::{self, HeldPort};
use super::sandbox::{Announcement, Confinement, SandboxSpec, loader};
use super::workdir::Workdir;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use reviewer_system::clock::Clock;
use secrecy::SecretString;
use serde_json::Value;
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::watch;

const MAJOR_VERSION: &str = "1";
const START_LIMIT: Duration = Duration::from_mins(1);
const START_ATTEMPTS: usize = 3;
/// Short, because a request that connects just as the port opens is sometimes never answered.
const HEALTH_TIMEOUT: Duration = Duration::from_millis(250);
const HEALTH_PAUSE: Duration = Duration::from_millis(50);
const STOP_GRACE: Duration = Duration::from_secs(2);

/// The program to start, with its arguments, folders and limits.
pub struct Spec {
    /// The reviewer's own program, which enters the sandbox and then becomes the sidecar.
    pub launcher: PathBuf,
    pub executable: PathBuf,
    /// Programs that it may execute besides itself.
    pub programs: Vec<PathBuf>,
    /// A directory of its own, which it may write.
    pub home: PathBuf,
    /// The snapshot's directory. It exists, and may still be empty.
    pub directory: PathBuf,
    /// From `profile::config`.
    pub config: Value,
    pub profile: Profile,
    /// Without it the sidecar answers nobody.
    pub password: SecretString,
    /// The port of the reviewer's server, the one that it reaches whatever address it connects to.
    pub server: u16,
    /// Ends the process before it starts if the sandbox has a gap.
    pub require_sandbox: bool,
    /// It is ended when it takes more than this.
    pub quota: Quota,
}

/// Without the configuration, which holds the run's bearer secrets.
impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
            .field("executable", &self.executable)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// The reason why no sidecar could be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "OpenCode cannot be started from {executable} ({cause}); install it with `npm i -g opencode-ai@1`, \
         or set OPENCODE_BIN to the path of an `opencode` executable of major version 1"
    )]
    Missing { executable: String, cause: String },
    #[error(
        "OpenCode {found} was found at {executable}; this reviewer drives major version 1, so install \
         one with `npm i -g opencode-ai@1`, or set OPENCODE_BIN to one"
    )]
    WrongVersion { found: String, executable: String },
    #[error("OpenCode ended while it was starting ({status}); its last output: {tail}")]
    Exited { status: String, tail: String },
    #[error("OpenCode was not ready after {} s; its last output: {tail}", START_LIMIT.as_secs())]
    NeverHealthy { tail: String },
    #[error("The surroundings of OpenCode could not be prepared: {0}")]
    Surroundings(String),
    #[error(
        "Input require_sandbox is true, and the sandbox is not complete. {0} Run on a kernel that has it, or set \
         require_sandbox to false."
    )]
    NotConfined(String),
}

/// A running `opencode serve`. Dropped, it is killed with everything that it started.
#[derive(Debug)]
pub struct Sidecar {
    client: Client,
    group: Pid,
    output: Output,
    confinement: Confinement,
    /// The exit description, once the process has ended.
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

    /// Returns the restrictions that the kernel granted.
    #[must_use]
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Waits until the process has ended by itself, and says how, with its last output.
    pub async fn exited(&self) -> String {
        let status = exit_of(self.ended.clone()).await;
        format!("{status}; its last output: {}", self.output.tail())
    }

    /// Returns the exit description, if the process has ended; waits a moment for a process whose connection has just
    /// broken.
    pub(crate) async fn ended(&self) -> Option<String> {
        let moment = Duration::from_secs(1);
        tokio::time::timeout(moment, self.exited()).await.ok()
    }

    /// Ends it and everything that it started.
    pub async fn stop(&self) {
        self.signal(Signal::SIGTERM);
        if tokio::time::timeout(STOP_GRACE, exit_of(self.ended.clone()))
            .await
            .is_err()
        {
            self.signal(Signal::SIGKILL);
            exit_of(self.ended.clone()).await;
        }
    }

    /// Ends it at once, however it is doing, and waits until nothing of it is left.
    pub(crate) async fn kill(&self) {
        self.signal(Signal::SIGKILL);
        exit_of(self.ended.clone()).await;
    }

    async fn attempt(spec: &Spec, clock: &Clock, deadline: Instant) -> Result<Self, StartError> {
        let password = spec.password.clone();
        let held =
            HeldPort::any().map_err(|error| surroundings(&format!("no free port: {error}")))?;
        let port = held.number();
        let mut child = spawn(spec, held, &password)?;
        let pid = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .ok_or_else(|| surroundings("the new process has no id"))?;
        let output = Output::new(secrets(&spec.config, &password));
        output.drain(child.stderr.take());
        let stdout = child.stdout.take();
        let (ended, receiver) = watch::channel(None);
        let group = Pid::from_raw(pid);
        let (quota, home) = (spec.quota, spec.home.clone());
        tokio::spawn(async move {
            let excess = quota.exceeded(group, &home, "its scratch home");
            report_end(child, group, excess, &ended).await;
        });
        let base = format!("http://127.0.0.1:{port}");
        let client = Client::new(base, password, spec.profile.agent(), &spec.directory)
            .map_err(|error| surroundings(&error.to_string()))?;
        // From here on an early return drops it, which kills the process.
        let mut sidecar = Self {
            client,
            group,
            output,
            confinement: Confinement::default(),
            ended: receiver,
        };
        sidecar.confinement = sidecar.announced(stdout, deadline).await?;
        let version = sidecar.healthy(clock, deadline).await?;
        if version.split('.').next() != Some(MAJOR_VERSION) {
            return Err(StartError::WrongVersion {
                found: version,
                executable: spec.executable.display().to_string(),
            });
        }
        Ok(sidecar)
    }

    /// Reads the restrictions that it entered. Told before the first byte of OpenCode's own, so it cannot be forged by it.
    async fn announced(
        &self,
        stdout: Option<ChildStdout>,
        deadline: Instant,
    ) -> Result<Confinement, StartError> {
        const LONGEST: u64 = 16 * 1024;
        let mut stdout = BufReader::new(stdout.ok_or_else(|| surroundings("no output"))?);
        let mut line = String::new();
        let mut limited = (&mut stdout).take(LONGEST);
        let reading = limited.read_line(&mut line);
        let _no_line = tokio::time::timeout_at(deadline.into(), reading).await;
        let announcement = Announcement::read(&line);
        self.output.drain(Some(stdout));
        match announcement {
            Some(Announcement::Entered(confinement)) => Ok(confinement),
            Some(Announcement::Refused(confinement)) => Err(StartError::NotConfined(
                confinement.missing().unwrap_or_default(),
            )),
            Some(Announcement::NotStarted(_)) | None => {
                self.signal(Signal::SIGKILL);
                let status = exit_of(self.ended.clone()).await;
                let tail = self.output.complete().await;
                Err(StartError::Exited { status, tail })
            }
        }
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

fn spawn(spec: &Spec, port: HeldPort, password: &SecretString) -> Result<Child, StartError> {
    let missing = |error: std::io::Error| StartError::Missing {
        executable: spec.executable.display().to_string(),
        cause: error.to_string(),
    };
    let executable = std::fs::canonicalize(&spec.executable).map_err(missing)?;
    let workdir = Workdir::prepare(&executable, &spec.programs, &spec.home, &spec.directory)
        .map_err(|error| surroundings(&format!("{error:#}")))?;
    let variables = profile::environment(Surroundings {
        home: &spec.home,
        programs: &workdir.programs,
        password,
        config: &spec.config,
    });
    let mut execute = workdir.programs;
    execute.push(workdir.executable.clone());
    let loaders: Vec<PathBuf> = execute
        .iter()
        .filter_map(|path| loader::find(path))
        .collect();
    execute.extend(loaders);
    let sandbox = SandboxSpec {
        read: vec![spec.directory.clone()],
        execute,
        write: vec![spec.home.clone()],
        listen: port.number(),
        connect: vec![spec.server],
        supervised: true,
        user: workdir.user,
        required: spec.require_sandbox,
        check: None,
    };
    let sandbox =
        serde_json::to_string(&sandbox).map_err(|error| surroundings(&error.to_string()))?;
    let (ours, theirs) = UnixStream::pair().map_err(|error| surroundings(&error.to_string()))?;
    let number = port.number();
    sockets::supervise(ours, port, spec.server)
        .map_err(|error| surroundings(&error.to_string()))?;
    Command::new(&spec.launcher)
        .args(["confine", sandbox.as_str(), "--"])
        .arg(&workdir.executable)
        .args(["serve", "--pure", "--hostname", "127.0.0.1", "--port"])
        .arg(number.to_string())
        // Not in the snapshot: its runtime heeds a `tsconfig.json` of the folder that it starts in, and loads the
        // files that this one names in place of its own modules.
        .current_dir(&spec.home)
        .env_clear()
        .envs(variables)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| {
            surroundings(&format!(
                "{} cannot be run: {error}",
                spec.launcher.display()
            ))
        })
}

/// Waits for the leader, or until the group takes too much; then ends whatever of it is left, and only then says how it
/// ended.
async fn report_end(
    mut child: Child,
    group: Pid,
    excess: impl Future<Output = String>,
    ended: &watch::Sender<Option<String>>,
) {
    let status = tokio::select! {
        status = child.wait() => described(status),
        excess = excess => {
            let _gone_already = killpg(group, Signal::SIGKILL);
            let _reaped = child.wait().await;
            format!("ended by the reviewer, because {excess}")
        }
    };
    let _nobody_left = killpg(group, Signal::SIGKILL);
    ended.send_replace(Some(status));
}

fn described(status: std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => status.to_string(),
        Err(error) => format!("unknown status: {error}"),
    }
}

async fn exit_of(mut ended: watch::Receiver<Option<String>>) -> String {
    match ended.wait_for(Option::is_some).await {
        Ok(status) => status.clone().unwrap_or_default(),
        Err(_) => "unknown status".to_owned(),
    }
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
