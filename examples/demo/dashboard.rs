//! `make demo SERVE=dashboard`: the lifecycle service with its dashboard, for a browser. It goes on until its input ends. A program
//! that drives it, such as `make browser-test`, gets addresses and tokens as JSON and sends one step a line.

use super::page::Page;
use super::serving::{FIXED, script};
use super::standin::github::Change;
use super::standin::github::state::{HeadRepository, PullRequest};
use super::standin::model::Answer;
use super::standin::serving::{self, Serving};
use super::standin::shop;
use serde_json::json;
use std::io::{BufRead as _, IsTerminal as _, stdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Text that would act if a page took it for more than text.
const HOSTILE: &str = "<img src=x onerror=\"window.acted=1\"><script>window.acted=1</script> [x](javascript:window.acted=1)";
/// A branch whose name would.
const BRANCH: &str = "<img/src=x/onerror=window.acted=1>";
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until the input ends. `quick`: with the quick sidecar in OpenCode's place.
pub fn demo(page: &Page, quick: bool) -> Result<(), String> {
    let world = serving::world(script(), FIXED);
    let world = if quick { world.quick() } else { world };
    world.github.with(|state| {
        let pulls = state.pulls.values_mut();
        pulls.for_each(|pull| {
            HOSTILE.clone_into(&mut pull.title);
            // Reconciliation would find it at the start.
            "closed".clone_into(&mut pull.state);
        });
    });
    let mut serving = Serving::on(world);
    let tokens =
        [("reader", "read"), ("operator", "operate")].map(|(name, role)| serving.token(name, role));
    let is_driven = !stdin().is_terminal();
    let url = serving.url();
    if is_driven {
        let [read, operate] = &tokens;
        println!(
            "{}",
            json!({ "url": url, "read": read, "operate": operate })
        );
    } else {
        page.heading("The dashboard of the service");
        println!(
            "Open {url}/ui and sign in with this token, which may retry:\n\n    {}\n",
            tokens[1]
        );
        println!("Press Enter to open the pull request, and Control-D to end.");
    }
    let lines = lines();
    loop {
        serving.deliver();
        match lines.recv_timeout(PAUSE) {
            Ok(line) => {
                step(&serving, &line)?;
                if is_driven {
                    println!("{}", json!({ "done": line }));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let ended = serving.stop();
    if !ended.success() {
        return Err(format!("the service ended with {ended}."));
    }
    super::judge_world(&serving.world)
}

/// The lines of the input, as they come.
fn lines() -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

fn step(serving: &Serving, line: &str) -> Result<(), String> {
    let world = &serving.world;
    match line.trim() {
        "" | "open" => {
            let open = |pull: &mut PullRequest| "open".clone_into(&mut pull.state);
            world.github.pull(world.pull, open);
            serving.open();
        }
        "others" => others(serving),
        "another" => another(serving),
        "break" => world.model.becomes(|_| refusal(HOSTILE)),
        "refuse" => world
            .model
            .becomes(|_| refusal("this model is no longer served")),
        "heal" => world.model.becomes(serving::behaviour(script(), FIXED)),
        "slow" => world.model.answers_after(Duration::from_secs(20)),
        "fast" => world.model.answers_after(Duration::ZERO),
        other => {
            return Err(format!(
                "{other} is no step; expected open, others, another, break, refuse, heal, slow or fast."
            ));
        }
    }
    Ok(())
}

/// A model's refusal, in these words.
fn refusal(words: &str) -> Answer {
    Answer::status(400, json!({ "error": { "message": words } }))
}

/// One more pull request of the author.
fn another(serving: &Serving) {
    let github = &serving.world.github;
    let main = github.with(|state| state.git.must(&["rev-parse", "main"]));
    let number = github.with(|state| state.pulls.len() + 1);
    let branch = format!("part-{number}");
    github.commit(&branch, &[&main], &[shop::part(number, 1)]);
    let number = github.open_pull("dev", &branch, "main");
    github.with(|state| state.announce("pull_request", Some("opened"), number, "dev"));
}

/// Further pull requests: of a person who has to change something, a draft, and one of a stranger.
fn others(serving: &Serving) {
    let github = &serving.world.github;
    github.permit("ada", "write");
    let main = github
        .with(|state| state.git.must(&["rev-parse", "main"]))
        .trim()
        .to_owned();
    let open = |author: &str, branch: &str, changes: &[Change]| {
        github.commit(branch, &[&main], changes);
        github.open_pull(author, branch, "main")
    };
    let same = open("ada", BRANCH, &shop::changes());
    let draft = open("ada", "totals", &[shop::part(1, 1)]);
    github.pull(draft, |pull| pull.draft = true);
    let foreign = open("eve", "typo", &[shop::part(2, 1)]);
    github.pull(foreign, |pull| {
        let id = pull.id + 1_000;
        pull.head.repository = Some(HeadRepository {
            full_name: "eve/shop".to_owned(),
            id,
            fork: true,
        });
    });
    github.with(|state| {
        for (number, author) in [(same, "ada"), (draft, "ada"), (foreign, "eve")] {
            state.announce("pull_request", Some("opened"), number, author);
        }
    });
}
