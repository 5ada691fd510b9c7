//! What a person sees on a terminal, and what a terminal or a runner would obey if foreign text got through.

use super::{Machine, three};
use crate::review::{finding, post};
use crate::standin::model::{Answer, Script};
use nix::pty::openpty;
use std::fs::File;
use std::io::Read as _;
use std::process::Command;
use std::time::Duration;

/// Runs it on a terminal, and returns everything that arrived there.
fn on_terminal(mut command: Command) -> (Option<i32>, String) {
    let pty = openpty(None, None).expect("a terminal");
    let slave = File::from(pty.slave);
    command.stdout(slave.try_clone().expect("a descriptor"));
    command.stderr(slave);
    let mut child = command.spawn().expect("the binary");
    drop(command);
    let mut master = File::from(pty.master);
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    // Once nobody holds the other side, reading fails.
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
    }
    let code = child.wait().expect("the end").code();
    (code, String::from_utf8(seen).expect("text"))
}

#[test]
fn a_terminal_shows_colours_and_one_line_of_progress() {
    // A line is drawn at most twenty times a second, and a model takes longer than that.
    let mut script = three(9).into_behaviour();
    let machine = Machine::with(move |request| {
        std::thread::sleep(Duration::from_millis(150));
        script(request)
    });
    let mut command = machine.command(&[]);
    command.env("TERM", "xterm");
    let (code, seen) = on_terminal(command);
    assert_eq!(code, Some(1), "{seen}");
    let erased = "\r\u{1b}[2K";
    let (progress, result) = seen.rsplit_once(erased).expect("progress");
    assert!(
        result.starts_with("\u{1b}[31m3 findings, 1 of them blocking.\u{1b}[0m\r\n"),
        "{result:?}"
    );
    assert!(
        result.contains("\u{1b}[1m  > 2 | \u{1b}[0mexport const x"),
        "{result:?}"
    );
    let drawn: Vec<&str> = progress.split(erased).collect();
    for stage in [
        "starting OpenCode",
        "1/4 diff",
        "2/4 structure",
        "3/4 security",
        "4/4 consolidation",
    ] {
        let line = format!(" {stage} · 0:");
        assert!(drawn.iter().any(|drawn| drawn.contains(&line)), "{drawn:?}");
    }
    let act = " · noting a finding";
    assert!(drawn.iter().any(|drawn| drawn.contains(act)), "{drawn:?}");
    assert!(progress.starts_with("Reviewing 3 files (+"), "{progress:?}");
    assert_eq!(progress.matches('\n').count(), 1, "{progress:?}");
    machine.finish();
}

#[test]
fn an_error_leaves_no_progress_on_the_terminal() {
    let machine = Machine::with(|_| Answer::status(401, serde_json::json!({"error": "no"})));
    let mut command = machine.command(&[]);
    command.env("TERM", "xterm");
    let (code, seen) = on_terminal(command);
    assert_eq!(code, Some(2), "{seen}");
    let last = seen.rsplit('\n').next().expect("a line");
    let shown = last.rsplit("\r\u{1b}[2K").next().expect("what is left");
    assert_eq!(shown.trim(), "", "{seen:?}");
    assert!(seen.contains("error: The model endpoint "), "{seen:?}");
    machine.finish();
}

#[test]
fn who_wants_no_colours_gets_none() {
    let machine = Machine::scripted(three(7));
    let mut command = machine.command(&[]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let (_, seen) = on_terminal(command);
    let (_, result) = seen.rsplit_once("\r\u{1b}[2K").expect("progress");
    assert!(
        result.starts_with("3 findings") && !result.contains('\u{1b}'),
        "{result:?}"
    );

    let mut command = machine.command(&[]);
    command.env("TERM", "dumb");
    let (_, seen) = on_terminal(command);
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    machine.finish();
}

#[test]
fn foreign_text_commands_neither_a_terminal_nor_a_runner() {
    let text = "Hear\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e} this.\n::error::owned\n##[error]owned\r::stop-commands::x\n";
    let machine = Machine::scripted(
        Script::new().pass(1, move |_| vec![post(finding("src/new.ts", 2, 7, text))]),
    );
    machine.write("src/new.ts", "a\n::warning::b\u{1b}[31m\n##[group]c\n");
    let mut command = machine.command(&[]);
    command.env("GITHUB_ACTIONS", "true");
    let ran = super::printed(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let all = format!("{}{}", ran.out, ran.err);
    let obeyed = all.lines().filter(|line| {
        line.trim_start().starts_with("::")
            || line.contains("##[")
            || line.contains(['\r', '\u{1b}', '\u{202e}'])
    });
    assert_eq!(obeyed.collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(ran.out.contains("Hear this."), "{}", ran.out);
    machine.finish();
}
