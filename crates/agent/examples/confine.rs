//! The reviewer's `confine`, alone: enters the sandbox and becomes the program. For the tests of this crate, which have no other
//! executable of ours.

use reviewer_agent::opencode::sandbox::enter;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
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
