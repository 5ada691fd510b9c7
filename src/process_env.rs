//! The process's own environment, taken in once and then emptied. The block that a process was started with stays
//! readable in `/proc` for as long as it lives, whatever it does to its variables, so this process starts itself anew
//! without them and gets them through a file that has no name.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: the one place that reads the environment"
)]

use anyhow::{Context as _, Result};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::dup2_stdin;
use reviewer_core::session_order::MAX_ORDER;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Set in the process that has started itself anew.
const SEALED: &str = "OPENCODE_REVIEWER_SEALED";

/// Variables that stay in the environment, because libraries look for them there. None of them is a secret.
const KEPT: [&str; 11] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "LLVM_PROFILE_FILE",
];

/// Stands for standard input among the variables, where a command reads it: the order of a session, or a token. Nobody's
/// environment ever holds it.
pub const STANDARD_INPUT: &str = "OPENCODE_REVIEWER_STANDARD_INPUT";

/// The variables that this program was started with. When it returns, no other process can read them from this one, nor
/// anything else that it will hold in memory. With `takes_input`, standard input is one of them.
pub fn variables(program: &Path, takes_input: bool) -> Result<Vec<(String, String)>> {
    if std::env::var_os(SEALED).is_none() {
        let error = start_anew(program, takes_input);
        return Err(error).context("The environment could not be emptied");
    }
    prctl::set_dumpable(false).context("This process could not be hidden from others")?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0).context("Core dumps could not be turned off")?;
    unsealed().context("The environment could not be read")
}

/// Returns only where it failed.
fn start_anew(program: &Path, takes_input: bool) -> anyhow::Error {
    let sealed = match seal(takes_input) {
        Ok(sealed) => sealed,
        Err(error) => return error,
    };
    let kept = KEPT
        .iter()
        .filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let error = Command::new(program)
        .args(std::env::args_os().skip(1))
        .env_clear()
        .envs(kept)
        .env(SEALED, "1")
        .stdin(Stdio::from(sealed))
        .exec();
    anyhow::Error::new(error).context(program.display().to_string())
}

fn seal(takes_input: bool) -> Result<File> {
    let lossy = |text: &OsStr| text.to_string_lossy().into_owned();
    let given = std::env::vars_os().map(|(name, value)| (lossy(&name), lossy(&value)));
    let mut variables: Vec<(String, String)> =
        given.filter(|(name, _)| name != STANDARD_INPUT).collect();
    if takes_input {
        let (mut input, stdin) = (String::new(), std::io::stdin().lock());
        let read = stdin.take(MAX_ORDER).read_to_string(&mut input);
        read.context("Standard input could not be read")?;
        variables.push((STANDARD_INPUT.to_owned(), input));
    }
    let mut file = File::from(memfd_create(c"environment", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(&serde_json::to_vec(&variables)?)?;
    file.rewind()?;
    Ok(file)
}

/// Reads the file that stands in for standard input, and puts nothing in its place.
fn unsealed() -> Result<Vec<(String, String)>> {
    let mut text = Vec::new();
    std::io::stdin().lock().read_to_end(&mut text)?;
    dup2_stdin(File::open("/dev/null")?)?;
    Ok(serde_json::from_slice(&text)?)
}
