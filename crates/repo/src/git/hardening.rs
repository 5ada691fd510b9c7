//! Starts `git`: one function builds every command. Separate because this is the hardening, and a second way to start
//! git would be a way around it.
#![expect(clippy::disallowed_methods, reason = "edge: starts git")]

use super::Remote;
use anyhow::{Context as _, Result, anyhow, bail};
use command_fds::{CommandFdExt as _, FdMapping};
use data_encoding::BASE64;
use nix::sys::memfd::{MFdFlags, memfd_create};
use reviewer_core::domain::CommitSha;
use secrecy::{ExposeSecret as _, SecretString};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

/// Variables that a git process inherits, in any spelling of case. Proxies and certificates make it reach GitHub.
const PASSED_ON: [&str; 8] = [
    "PATH",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
];

/// No configuration but the reviewer's, no question to a terminal, no download that was not asked for, names as they
/// are.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("LC_ALL", "C"),
];

/// Settings for every command: git runs no other program, and speaks no protocol unless a fetch allows one.
const SETTINGS: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    // Deeper than any path that a file system takes: such a file is left out, and the rest reviewed.
    "core.maxTreeDepth=6000",
    "core.quotePath=true",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    "protocol.file.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
];

const FETCH_SETTINGS: [&str; 5] = [
    "protocol.https.allow=always",
    "protocol.http.allow=always",
    // A stalled server ends the fetch, not the job's timeout.
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
    "fetch.recurseSubmodules=false",
];

/// The descriptor by which git gets the token. Git's helper for HTTP gets a pipe as its input, but inherits this one. No
/// other process has it, because it is made behind the fork.
const TOKEN_DESCRIPTOR: i32 = 3;
/// Reads the token's configuration from there.
const INCLUDE_TOKEN: &str = "include.path=/proc/self/fd/3";

/// Settings for a repository that may belong to another user: nothing of it is run.
const THEIR_SETTINGS: [&str; 3] = [
    "safe.directory=*",
    "core.untrackedCache=false",
    "core.splitIndex=false",
];

const STDERR_KEPT: usize = 16 * 1024;
const MAX_OUTPUT: u64 = 128 << 20;

/// The network and repositories that a command may reach.
#[derive(Clone, Copy)]
pub(super) enum Access<'a> {
    /// The reviewer's objects and the borrowed ones.
    Objects,
    /// The same, with the `.gitattributes` of one commit. No other counts anywhere: there is no work tree, and
    /// git before 2.41 knows no such commit and no attributes either.
    Attributes(&'a CommitSha),
    /// The remote, and the reviewer's objects only: git would ask the workspace's repository what it has, which
    /// reads its configuration, and a partial clone would promise objects that it does not hold.
    Network(&'a Remote),
    /// A repository of the person who runs the reviewer.
    Theirs(&'a Theirs),
}

/// The settings for a command in a repository of somebody else. It is read with plumbing alone, which runs nothing that
/// its configuration names.
#[derive(Debug, Clone, Default)]
pub(super) struct Theirs {
    pub(super) directory: PathBuf,
    /// `None`: git looks for it from the directory on.
    pub(super) git_dir: Option<PathBuf>,
    pub(super) variables: Vec<(&'static str, OsString)>,
    pub(super) settings: Vec<String>,
    /// The home of the person's own configuration, for a command that reads from it.
    pub(super) home: Option<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Git {
    dir: PathBuf,
    /// The workspace's object store, as git wants it in its environment.
    borrowed: Option<OsString>,
    env: Vec<(String, String)>,
    pub(super) max_output: u64,
}

impl Git {
    pub(super) fn new(
        dir: &Path,
        store: Option<PathBuf>,
        passthrough_env: &[(String, String)],
    ) -> Result<Self> {
        let absolute = |path: &Path| {
            std::fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))
        };
        let passed_on = |name: &str| {
            PASSED_ON
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
        };
        Ok(Self {
            dir: absolute(dir)?,
            max_output: MAX_OUTPUT,
            borrowed: store
                .map(|path| absolute(&path))
                .transpose()?
                .map(|p| quoted(&p)),
            env: passthrough_env
                .iter()
                .filter(|(name, _)| passed_on(name))
                .cloned()
                .collect(),
        })
    }

    pub(super) fn borrows(&self) -> bool {
        self.borrowed.is_some()
    }

    /// Borrows another store than before.
    pub(super) fn borrow(&mut self, store: &Path) -> Result<()> {
        let store = std::fs::canonicalize(store)
            .with_context(|| format!("cannot read {}", store.display()))?;
        self.borrowed = Some(quoted(&store));
        Ok(())
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The one place where a git command is made.
    fn command(&self, access: Access<'_>, args: &[&str]) -> Result<Command> {
        let mut command = program(access)?;
        command.current_dir(&self.dir).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.env("HOME", &self.dir).envs(ENVIRONMENT);
        if let Access::Attributes(commit) = access {
            command.env("GIT_ATTR_SOURCE", commit.as_str());
        }
        let mut git_dir = Some(Path::new("."));
        let borrowed = self.borrowed.iter();
        let borrowed = borrowed.map(|p| ("GIT_ALTERNATE_OBJECT_DIRECTORIES", p));
        let extra: &[&str] = match access {
            Access::Objects | Access::Attributes(_) => {
                command.envs(borrowed);
                &[]
            }
            Access::Theirs(theirs) => {
                command.envs(borrowed).current_dir(&theirs.directory);
                command.envs(theirs.variables.iter().map(|(name, value)| (name, value)));
                git_dir = theirs.git_dir.as_deref();
                if let Some(home) = &theirs.home {
                    command.env("HOME", home);
                    command
                        .env_remove("GIT_CONFIG_GLOBAL")
                        .env_remove("GIT_CONFIG_NOSYSTEM");
                }
                for setting in &theirs.settings {
                    command.args(["-c", setting]);
                }
                &THEIR_SETTINGS
            }
            Access::Network(_) => &FETCH_SETTINGS,
        };
        for setting in SETTINGS.iter().chain(extra) {
            command.args(["-c", setting]);
        }
        if let Some(git_dir) = git_dir {
            let mut option = OsString::from("--git-dir=");
            option.push(git_dir);
            command.arg(option);
        }
        command.arg("--no-pager").args(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// An empty bare repository: without a template there are no hooks, not even samples.
    pub(super) fn init(&self) -> Result<()> {
        let args = [
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--initial-branch=main",
            ".",
        ];
        let output = self
            .command(Access::Objects, &args)?
            .output()
            .map_err(not_started)?;
        if output.status.success() {
            return Ok(());
        }
        Err(failure("init", &output.stderr, None))
    }

    /// Returns the output of the command, up to a limit: a tree of a few kilobytes can list billions of paths, because
    /// it may hold the same subtree again and again.
    pub(super) async fn output(&self, access: Access<'_>, args: &[&str]) -> Result<Vec<u8>> {
        let mut git = self.start(access, args)?;
        let mut output = Vec::new();
        let read = (&mut git.stdout)
            .take(self.max_output)
            .read_to_end(&mut output)
            .await?;
        if u64::try_from(read)? == self.max_output {
            bail!(
                "git {} printed more than {} MiB; that many files cannot be reviewed",
                args[0],
                self.max_output >> 20
            );
        }
        git.finish().await?;
        Ok(output)
    }

    pub(super) async fn succeeds(&self, access: Access<'_>, args: &[&str]) -> Result<bool> {
        let mut command = tokio::process::Command::from(self.command(access, args)?);
        let output = command
            .kill_on_drop(true)
            .output()
            .await
            .map_err(not_started)?;
        Ok(output.status.success())
    }

    /// A command whose output is read as it comes.
    pub(super) fn start(&self, access: Access<'_>, args: &[&str]) -> Result<Running> {
        let mut command = tokio::process::Command::from(self.command(access, args)?);
        command.stdin(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(not_started)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            bail!("git {} was started without its pipes", args[0]);
        };
        Ok(Running {
            name: args[0].to_owned(),
            token: match access {
                Access::Network(remote) => remote.token.clone(),
                Access::Objects | Access::Attributes(_) | Access::Theirs(_) => None,
            },
            stdin: Some(stdin),
            stdout,
            child,
            stderr: tokio::spawn(drain(stderr)),
        })
    }
}

/// Git, without any of its arguments. A token reaches it as a file without a name, on a descriptor: what stands in the
/// environment or the arguments can be read in `/proc` for as long as the process lives.
fn program(access: Access<'_>) -> Result<Command> {
    let mut git = Command::new("git");
    git.stdin(Stdio::null());
    let Access::Network(Remote {
        token: Some(token), ..
    }) = access
    else {
        return Ok(git);
    };
    let header = format!("Authorization: Basic {}", basic(token));
    let file = memfd_create(c"token", MFdFlags::MFD_CLOEXEC);
    let mut file = File::from(file.context("the token could not be handed to git")?);
    writeln!(file, "[http]\nextraHeader = \"{header}\"")?;
    let mapping = FdMapping {
        parent_fd: file.into(),
        child_fd: TOKEN_DESCRIPTOR,
    };
    git.fd_mappings(vec![mapping])
        .map_err(|error| anyhow!("the token could not be handed to git: {error}"))?;
    git.args(["-c", INCLUDE_TOKEN]);
    Ok(git)
}

/// A git process that is being read.
pub(super) struct Running {
    name: String,
    /// The token, which must not be in an error.
    token: Option<SecretString>,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: ChildStdout,
    child: Child,
    stderr: JoinHandle<Vec<u8>>,
}

impl Running {
    /// Call at the end of the output.
    pub(super) async fn finish(mut self) -> Result<()> {
        drop(self.stdin.take());
        let status = self.child.wait().await?;
        if status.success() {
            return Ok(());
        }
        let stderr = self.stderr.await.unwrap_or_default();
        Err(failure(&self.name, &stderr, self.token.as_ref()))
    }
}

/// Reads to the end, so that the process never waits for its reader, and keeps the beginning.
async fn drain(mut pipe: impl tokio::io::AsyncRead + Unpin) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = pipe.read(&mut buffer).await {
        let room = STDERR_KEPT.saturating_sub(kept.len());
        kept.extend_from_slice(&buffer[..n.min(room)]);
    }
    kept
}

fn not_started(error: std::io::Error) -> anyhow::Error {
    if error.kind() == ErrorKind::NotFound {
        anyhow!("git was not found on PATH; install git")
    } else {
        anyhow::Error::new(error).context("git could not be started")
    }
}

/// One sentence out of what git said, without the token in any form that it could take.
fn failure(name: &str, stderr: &[u8], token: Option<&SecretString>) -> anyhow::Error {
    let mut said = String::from_utf8_lossy(stderr).into_owned();
    if let Some(token) = token {
        for form in [token.expose_secret().to_owned(), basic(token)] {
            if !form.is_empty() {
                said = said.replace(&form, "***");
            }
        }
    }
    let refused = [
        "could not read Username",
        "Authentication failed",
        "returned error: 403",
    ];
    if refused.iter().any(|sign| said.contains(sign)) {
        return anyhow!("git {name} failed: the server refused the token");
    }
    let complaint = said
        .lines()
        .find(|line| line.starts_with("fatal: ") || line.starts_with("error: "))
        .or(said.lines().last())
        .unwrap_or("it gave no reason");
    let plain: String = complaint
        .chars()
        .filter(|c| !c.is_control())
        .take(300)
        .collect();
    anyhow!("git {name} failed: {plain}")
}

fn basic(token: &SecretString) -> String {
    BASE64.encode(format!("x-access-token:{}", token.expose_secret()).as_bytes())
}

/// The address as it may be shown.
pub(super) fn without_credentials(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority
                .rsplit_once('@')
                .map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

/// The list of stores is split at colons, except inside quotes.
fn quoted(path: &Path) -> OsString {
    let mut out = vec![b'"'];
    for &byte in OsStr::as_bytes(path.as_os_str()) {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
    OsString::from_vec(out)
}
