//! What the run left, as files for `make pictures`: the texts that the stand-in for GitHub received, the summary, the page of the
//! report, and what `local` prints on a terminal for the same change. Separate, because a demo writes none of it.

use super::script;
use super::standin::github::state::ReviewComment;
use super::standin::world::{KEY, Ran, World, open_folder};
use nix::pty::{Winsize, openpty};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::Command;

const TERMINAL: Winsize = Winsize {
    ws_row: 60,
    ws_col: 100,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// Writes the files into a folder.
pub fn write(folder: &Path, world: &World, ran: &Ran) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let texts = posted(world);
    std::fs::write(folder.join("posted.json"), format!("{texts:#}"))?;
    std::fs::write(folder.join("summary.md"), &ran.summary)?;
    let report = world.workspace().join("opencode-review.html");
    std::fs::copy(report, folder.join("report.html"))?;
    std::fs::write(folder.join("terminal.txt"), terminal(world)?)
}

fn posted(world: &World) -> Value {
    world.github.with(|state| {
        let pull = &state.pulls[&world.pull];
        let base = state.git.merge_base(&pull.base.sha, &pull.head.sha);
        let range = format!("{}..{}", base.unwrap_or_default(), pull.head.sha);
        let comment = |comment: &ReviewComment| {
            let diff = state.git.ask(&["diff", &range, "--", &comment.path]);
            json!({
                "path": comment.path,
                "line": comment.line,
                "side": comment.side,
                "user": comment.user,
                "body": comment.body,
                "diff": diff.unwrap_or_default(),
            })
        };
        let reviews = state.reviews.iter();
        let reviews = reviews.map(|review| json!({ "user": review.user, "body": review.body }));
        let checks = state.check_runs.iter();
        let checks = checks.map(|run| json!({ "title": run.title, "summary": run.summary, "conclusion": run.conclusion }));
        json!({
            "comments": state.comments.iter().map(comment).collect::<Vec<_>>(),
            "reviews": reviews.collect::<Vec<_>>(),
            "checks": checks.collect::<Vec<_>>(),
        })
    })
}

/// What a person sees who reviews the same change before it is pushed.
fn terminal(world: &World) -> io::Result<String> {
    let folder = open_folder();
    let origin = world.github.with(|state| state.git.dir().to_path_buf());
    let cloned = Command::new("git")
        .args(["clone", "--quiet", "--branch", "search"])
        .arg(&origin)
        .arg(folder.path().join("shop"))
        .status()?;
    if !cloned.success() {
        return Err(io::Error::other("the example could not be cloned"));
    }
    world.model.becomes(script::reviewer().into_behaviour());
    let usual = world.command(&world.opened(), &[]);
    let kept = [
        "PATH",
        "HOME",
        "TMPDIR",
        "OPENCODE_BIN",
        "OPENCODE_REVIEWER_TIME_SCALE",
    ];
    let variables = usual
        .get_envs()
        .filter(|(name, _)| kept.iter().any(|kept| name == kept));
    let mut command = Command::new(std::path::absolute(usual.get_program())?);
    command
        .args([
            "local",
            "--base",
            "origin/main",
            "--input=model=standin/scripted",
        ])
        .arg(format!("--input=model_base_url={}", world.model.url()))
        .current_dir(folder.path().join("shop"))
        .env_clear()
        .envs(variables.filter_map(|(name, value)| Some((name, value?))))
        .env("OPENCODE_API_KEY", KEY)
        .env("TERM", "xterm-256color");
    on_terminal(command)
}

/// Runs a command on a terminal, and returns everything that arrived there.
fn on_terminal(mut command: Command) -> io::Result<String> {
    let pty = openpty(Some(&TERMINAL), None)?;
    let slave = File::from(pty.slave);
    command.stdin(slave.try_clone()?);
    command.stdout(slave.try_clone()?).stderr(slave);
    let mut child = command.spawn()?;
    drop(command);
    let mut master = File::from(pty.master);
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    // Once nobody holds the other side, reading fails.
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
    }
    child.wait()?;
    Ok(String::from_utf8_lossy(&seen).into_owned())
}
