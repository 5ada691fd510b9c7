//! Runs the commands that verify a fix, one after the other, on an export of the repository. This is the only place where code of
//! a pull request is executed: in the sidecar's sandbox, as a user of its own, without a network, a secret or a token, and
//! after the sidecar has ended.
#![expect(clippy::disallowed_methods, reason = "edge: starts the commands")]

mod folders;
mod program;

use crate::opencode::output::Output;
use crate::opencode::resources::Quota;
use crate::opencode::sandbox::{Announcement, CheckLimits, Confinement, SandboxSpec};
use anyhow::{Context as _, Result};
use folders::Folders;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use program::SearchPath;
use reviewer_core::verification::{CommandOutcome, CommandResult, CommandRun, Ending};
use reviewer_text::program_output::{last_part, plain_output};
use reviewer_text::redact::Redactor;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::Instant;

/// The part of an output that is kept.
const SHOWN_OUTPUT: usize = 16_000;

/// Folders that every command may read and execute from: the programs and libraries of the system, which hold nobody's data.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// Files and folders that they may also read. `/etc` as a whole stays closed.
const SYSTEM_FILES: [&str; 5] = [
    "/etc/ssl",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/java",
];

/// The commands, and what they run on.
#[derive(Debug, Clone)]
pub struct CheckSpec {
    /// The reviewer's own program, which enters the sandbox and then becomes the command.
    pub launcher: PathBuf,
    /// Each a program with its arguments. No shell reads them.
    pub commands: Vec<Vec<String>>,
    /// A folder that only this run uses. Its folder `tree` is the export; it is given to the commands, which may change it.
    pub folder: PathBuf,
    /// From the settings: further paths that they may read, and those that they may also execute from.
    pub read: Vec<PathBuf>,
    pub execute: Vec<PathBuf>,
    /// The time that all commands have together.
    pub timeout: Duration,
    /// Runs nothing if the sandbox has a gap.
    pub require_sandbox: bool,
    /// Memory of the commands, and bytes and files of their folder.
    pub quota: Quota,
    /// The user that the sidecar had, which the commands must not be.
    pub other_than: Option<u32>,
}

/// Runs the commands. An error means that nothing could be prepared; whatever a command does is a result.
pub async fn run(spec: &CheckSpec, redactor: &Redactor) -> Result<CommandRun> {
    let folders = Folders::prepare(&spec.folder, spec.other_than)?;
    let path = SearchPath::new(&spec.execute);
    let deadline = Instant::now() + spec.timeout;
    let mut run = CommandRun::default();
    for command in &spec.commands {
        let bench = Bench {
            spec,
            folders: &folders,
            path: &path,
            deadline,
        };
        let (outcome, output) = match bench.run(command).await? {
            Ran::Not(why) => (CommandOutcome::NotRun(why), String::new()),
            Ran::Ended(ended) => {
                run.gaps = ended
                    .confinement
                    .gaps
                    .iter()
                    .map(ToString::to_string)
                    .collect();
                run.no_loopback = ended.confinement.no_loopback;
                (ended.outcome, shown(&ended.output, redactor))
            }
        };
        run.results.push(CommandResult {
            command: command.clone(),
            outcome,
            output,
        });
    }
    Ok(run)
}

/// The end of an output, as it may be shown to people and to the model, who fence it.
fn shown(output: &[u8], redactor: &Redactor) -> String {
    let text = plain_output(output);
    let text = redactor.clean(text.trim_end());
    last_part(&text, SHOWN_OUTPUT).to_owned()
}

/// The place that one command is run in.
struct Bench<'a> {
    spec: &'a CheckSpec,
    folders: &'a Folders,
    path: &'a SearchPath,
    deadline: Instant,
}

enum Ran {
    Not(String),
    Ended(Ended),
}

struct Ended {
    outcome: CommandOutcome,
    output: Vec<u8>,
    confinement: Confinement,
}

impl Bench<'_> {
    async fn run(&self, command: &[String]) -> Result<Ran> {
        if Instant::now() >= self.deadline {
            let minutes = self.minutes();
            if minutes == 0 {
                return Ok(Ran::Not("the time of the run was over".into()));
            }
            return Ok(Ran::Not(format!(
                "the {minutes} min that all commands have were over"
            )));
        }
        let Some((name, arguments)) = command.split_first() else {
            return Ok(Ran::Not("it has no program".into()));
        };
        let sandbox = self.sandbox();
        let found = self.path.find(name, self.folders, &sandbox.execute);
        let program = match found {
            Ok(program) => program,
            Err(why) => return Ok(Ran::Not(why)),
        };
        let (mut child, pipe) = self.start(&sandbox, &program, arguments)?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        let mut group = Group(Some(Pid::from_raw(
            group.context("the new process has no id")?,
        )));
        let mut pipe = BufReader::new(pipe);
        let Some(announcement) = announced(&mut pipe, self.deadline).await else {
            let output = Output::new(Vec::new());
            output.drain(Some(pipe));
            let _ended = self.ending(&mut child, &mut group).await;
            let said = plain_output(&output.bytes().await);
            return Ok(Ran::Not(format!("it was not started: {}", said.trim())));
        };
        let confinement = match announcement {
            Announcement::Entered(confinement) => confinement,
            Announcement::Refused(confinement) => {
                let _ended = self.ending(&mut child, &mut group).await;
                let missing = confinement.missing().unwrap_or_default();
                return Ok(Ran::Not(format!("require_sandbox is true. {missing}")));
            }
            Announcement::NotStarted(why) => return Ok(Ran::Not(why)),
        };
        let output = Output::new(Vec::new());
        output.drain(Some(pipe));
        let outcome = self.ending(&mut child, &mut group).await;
        let output = output.bytes().await;
        // The first line of a command that was never started. One that writes it itself has not passed, either.
        let first = output.split(|&b| b == b'\n').next().unwrap_or_default();
        let first = Announcement::read(&String::from_utf8_lossy(first));
        if let (Some(Announcement::NotStarted(why)), true) =
            (first, outcome != CommandOutcome::Passed)
        {
            return Ok(Ran::Not(why));
        }
        Ok(Ran::Ended(Ended {
            outcome,
            output,
            confinement,
        }))
    }

    /// Waits for the command, for the end of its time, or until it takes too much; then ends whatever of it is left.
    async fn ending(&self, child: &mut Child, running: &mut Group) -> CommandOutcome {
        let Some(group) = running.0 else {
            return CommandOutcome::NotRun("it has ended before".into());
        };
        let excess =
            self.spec
                .quota
                .exceeded(group, &self.spec.folder, "the folder of the commands");
        let ended = tokio::select! {
            status = child.wait() => match status {
                Ok(status) => outcome(status),
                Err(error) => CommandOutcome::NotRun(format!("its end is unknown: {error}")),
            },
            excess = excess => CommandOutcome::Failed(Ending::TookTooMuch(excess)),
            () = tokio::time::sleep_until(self.deadline) => {
                CommandOutcome::Failed(Ending::TimedOut(self.minutes()))
            }
        };
        running.end();
        let _reaped = child.wait().await;
        ended
    }

    fn minutes(&self) -> u64 {
        self.spec.timeout.as_secs().div_ceil(60)
    }

    fn sandbox(&self) -> SandboxSpec {
        let system = SYSTEM.iter().map(PathBuf::from);
        let own = self.folders.writable();
        let execute: Vec<PathBuf> = system
            .chain(self.spec.execute.iter().cloned())
            .chain(own.iter().cloned())
            .collect();
        let files = SYSTEM_FILES.iter().map(PathBuf::from);
        let read = files.chain(self.spec.read.iter().cloned());
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let processors = u64::try_from(processors).unwrap_or(1);
        SandboxSpec {
            // What may be executed may be listed, too.
            read: read.chain(execute.iter().cloned()).collect(),
            execute,
            write: own,
            listen: 0,
            connect: Vec::new(),
            supervised: false,
            user: self.folders.user,
            required: self.spec.require_sandbox,
            check: Some(CheckLimits {
                cpu_seconds: self.spec.timeout.as_secs().max(1) * processors,
            }),
        }
    }

    /// Starts the command with one pipe for both of its outputs, so that its lines stay in their order.
    fn start(
        &self,
        sandbox: &SandboxSpec,
        program: &std::path::Path,
        arguments: &[String],
    ) -> Result<(Child, pipe::Receiver)> {
        let (ours, theirs) = std::io::pipe()?;
        let errors = theirs.try_clone()?;
        let launcher = &self.spec.launcher;
        let child = Command::new(launcher)
            .args(["confine", &serde_json::to_string(sandbox)?, "--"])
            .arg(program)
            .args(arguments)
            .current_dir(&self.folders.tree)
            .env_clear()
            .envs(self.folders.variables())
            .env("PATH", self.path.value())
            .stdin(Stdio::null())
            .stdout(theirs)
            .stderr(errors)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be run", launcher.display()))?;
        let pipe = pipe::Receiver::from_owned_fd(ours.into())?;
        Ok((child, pipe))
    }
}

/// The process group of a running command. Dropped, all of it is killed: a run that is cut off leaves nothing behind.
struct Group(Option<Pid>);

impl Group {
    /// Kills it once. Afterwards its number may belong to somebody else.
    fn end(&mut self) {
        if let Some(group) = self.0.take() {
            let _nobody_left = killpg(group, Signal::SIGKILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// The line by which the sandbox is announced. It comes before the first byte of the command, so it cannot be forged by it.
async fn announced(
    pipe: &mut BufReader<impl AsyncRead + Unpin>,
    deadline: Instant,
) -> Option<Announcement> {
    const LONGEST: u64 = 16 * 1024;
    let mut line = String::new();
    let mut limited = pipe.take(LONGEST);
    let reading = limited.read_line(&mut line);
    let _no_line = tokio::time::timeout_at(deadline, reading).await;
    Announcement::read(&line)
}

fn outcome(status: ExitStatus) -> CommandOutcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => CommandOutcome::Passed,
        (Some(code), _) => CommandOutcome::Failed(Ending::Exit(code)),
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            let name = Signal::try_from(signal).map(Signal::as_str);
            let name = name.map_or_else(|_| format!("signal {signal}"), str::to_owned);
            CommandOutcome::Failed(Ending::Signal(name))
        }
    }
}
