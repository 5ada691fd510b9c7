//! The reviewer's `confine`, alone: enters the sandbox and becomes the program. For the tests of this crate, which have no other
//! executable of ours. Under the name `confine-without-namespaces` it begins on a kernel that gives none, as in a container.
#![allow(
    clippy::expect_used,
    reason = "a tool of the tests: stops at the first surprise"
)]

use nix::libc;
use reviewer_agent::opencode::sandbox::enter;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let own = std::env::current_exe().expect("a name");
    if own.ends_with("confine-without-namespaces") {
        refuse_namespaces();
    }
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [confine, spec, dashes, program, rest @ ..] = &arguments[..] else {
        return ExitCode::from(2);
    };
    let spec = serde_json::from_str(&spec.to_string_lossy());
    match (spec, confine.to_str(), dashes.to_str()) {
        (Ok(spec), Some("confine"), Some("--")) => {
            eprintln!("{}", enter::become_confined(&spec, program.as_ref(), rest));
        }
        _ => eprintln!("expected confine SPEC -- PROGRAM"),
    }
    ExitCode::from(2)
}

fn refuse_namespaces() {
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let calls = BTreeMap::from([(libc::SYS_unshare, Vec::new())]);
    let architecture = std::env::consts::ARCH.try_into();
    let architecture = architecture.expect("a known architecture");
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, refused, architecture);
    let filter: BpfProgram = filter.expect("a filter").try_into().expect("a program");
    seccompiler::apply_filter(&filter).expect("a filter that the kernel takes");
}
