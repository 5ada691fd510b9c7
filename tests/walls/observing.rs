//! Runs a program and writes down every program that it and its descendants execute, one JSON line each:
//! `observing FILE program …`. It traces them, so the kernel tells it of each execution before the first
//! instruction: none is too short to be seen.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a test program that starts another and looks at it"
)]

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use serde_json::json;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// In place of FILE: waits to be traced, then becomes the program.
const WAITING: &str = "--waiting";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let file = arguments.next().expect("a file, then a program");
    if file == WAITING {
        raise(Signal::SIGSTOP).expect("a stop");
        let program = arguments.next().expect("a program");
        panic!("{}", Command::new(program).args(arguments).exec());
    }
    let mut record = File::create(file).expect("a file that can be written");
    let program = start(arguments);
    ExitCode::from(follow(program, &mut record))
}

/// The program, traced before it is executed. If we end, so does everything.
fn start(arguments: impl Iterator<Item = OsString>) -> Pid {
    let own = std::env::current_exe().expect("our own path");
    let child = Command::new(own).arg(WAITING).args(arguments).spawn();
    let id = child.expect("it starts").id();
    let program = Pid::from_raw(id.try_into().expect("a process id"));
    let stopped = waitpid(program, Some(WaitPidFlag::WUNTRACED));
    assert!(
        matches!(stopped, Ok(WaitStatus::Stopped(..))),
        "{stopped:?}"
    );
    let options = Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(program, options).expect("it can be traced");
    kill(program, Signal::SIGCONT).expect("it goes on");
    program
}

/// Lets everything go on, and notes executions, until the program itself ends. Gives its exit code.
fn follow(program: Pid, record: &mut File) -> u8 {
    loop {
        match waitpid(None, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::PtraceEvent(process, _, event)) => {
                if event == libc::PTRACE_EVENT_EXEC {
                    note(process, record);
                }
                resume(process, None);
            }
            Ok(WaitStatus::Stopped(process, signal)) => resume(process, Some(signal)),
            Ok(WaitStatus::Exited(process, code)) if process == program => {
                return code.try_into().unwrap_or(u8::MAX);
            }
            Ok(WaitStatus::Signaled(process, signal, _)) if process == program => {
                return 128 + u8::try_from(signal as i32).unwrap_or(0);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => panic!("nothing is left to be traced, or it cannot be: {error}"),
        }
    }
}

/// It may have been killed meanwhile.
fn resume(process: Pid, signal: Option<Signal>) {
    match ptrace::cont(process, signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("{process} cannot go on: {error}"),
    }
}

fn note(process: Pid, record: &mut File) {
    let about = |name: &str| format!("/proc/{process}/{name}");
    let arguments = fs::read(about("cmdline")).expect("its arguments");
    let arguments = String::from_utf8_lossy(&arguments);
    let arguments: Vec<&str> = arguments.trim_end_matches('\0').split('\0').collect();
    let folder = fs::read_link(about("cwd")).expect("its folder");
    let line = json!({
        "program": program(process).expect("its program"),
        "above": above(process),
        "folder": folder,
        "arguments": arguments,
    });
    writeln!(record, "{line}").expect("a line is written");
}

fn program(process: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

/// The programs of its ancestors, up to us.
fn above(mut process: Pid) -> Vec<PathBuf> {
    let mut programs = Vec::new();
    while let Some(parent) = parent(process).filter(|parent| *parent != getpid()) {
        programs.extend(program(parent));
        process = parent;
    }
    programs
}

/// Of `/proc/PID/stat`, behind the name, which may hold anything: state, parent.
fn parent(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let parent = fields.split_whitespace().nth(1)?.parse().ok()?;
    (parent != 0).then(|| Pid::from_raw(parent))
}
