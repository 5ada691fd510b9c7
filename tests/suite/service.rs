//! The lifecycle service as people run it: `serve` with its store, signed webhooks in, reviews, fixes and merges out. Sessions are
//! child processes.

use crate::dice::Dice;
use crate::fixing::CEIL;
use crate::standin::github::webhooks::Webhooks;
use crate::standin::github::{Change, Identity, State, Write};
use crate::standin::model::{Answer, Call, Request};
use crate::standin::world::{KEY, World, open_folder};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SECRET: &str = "the secret of the webhook";
const MASTER_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn token_of(login: &str) -> String {
    format!("ghp_{login}_0123456789abcdef0123456789")
}

/// The settings of the repository.
const AUTO_MERGE: &str = "\
lifecycle:
  reviewers:
    - {name: quality, can_escalate: [security]}
  auto_merge: true
";

/// A running service on the stand-ins.
struct Serving {
    world: World,
    folder: TempDir,
    url: String,
    child: Child,
    hooks: Webhooks,
    api_token: String,
    runtime: tokio::runtime::Runtime,
    /// The name of the repository now.
    repository: String,
}

const AGENTS: [(&str, &str); 3] = [
    ("quality", "quality-agent"),
    ("security", "security-agent"),
    ("author", "dev"),
];

impl Serving {
    fn on(world: World) -> Self {
        let rights = ["contents:write", "pull-requests:write", "issues:write"];
        for (_, login) in AGENTS {
            let identity = Identity::person(login, &rights);
            world.github.token(&token_of(login), identity);
            world.github.permit(login, "write");
        }
        let folder = open_folder();
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let url = format!("http://127.0.0.1:{port}");
        write_config(&world, &folder, port);
        for (name, login) in AGENTS {
            let arguments = ["agents", "add", name, "--login", login, "--token-stdin"];
            told(&world, &folder, &arguments, &token_of(login));
        }
        let arguments = ["tokens", "add", "tests", "--role", "operate"];
        let api_token = told(&world, &folder, &arguments, "");
        let api_token = api_token.split_whitespace().last().unwrap_or_default();
        let hooks = Webhooks::new(&world.github, &format!("{url}/webhook"), SECRET);
        let mut serving = Self {
            child: command(&world, &folder, &[]).spawn().expect("the service"),
            api_token: api_token.to_owned(),
            world,
            folder,
            url,
            hooks,
            runtime: tokio::runtime::Runtime::new().expect("a runtime"),
            repository: "octo/shop".to_owned(),
        };
        serving.wait_until_ready();
        serving
    }

    fn wait_until_ready(&mut self) {
        let url = format!("{}/readyz", self.url);
        let begun = Instant::now();
        loop {
            let ready = self.runtime.block_on(async {
                let answer = reqwest::get(&url).await;
                answer.is_ok_and(|answer| answer.status().is_success())
            });
            if ready {
                return;
            }
            if let Some(status) = self.child.try_wait().expect("a status") {
                panic!("the service ended with {status}: {}", self.log());
            }
            assert!(
                begun.elapsed().as_secs() < 60,
                "never ready: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Everything that the service and its sessions have printed.
    fn log(&self) -> String {
        let mut text = read(&self.folder.path().join("service.log"));
        let logs = self.folder.path().join("logs/logs");
        for entry in std::fs::read_dir(logs).into_iter().flatten().flatten() {
            text.push_str(&format!("\n--- {}\n", entry.path().display()));
            text.push_str(&read(&entry.path()));
        }
        text
    }

    /// The answer of a route about the pull request.
    fn asks(&self, route: &str) -> Value {
        let (url, repository) = (&self.url, &self.repository);
        let url = format!("{url}/pr/{repository}/{}/{route}", self.world.pull);
        self.runtime.block_on(async {
            let client = reqwest::Client::new();
            let answer = client.get(url).bearer_auth(&self.api_token).send().await;
            let answer = answer.expect("an answer");
            answer.json().await.unwrap_or_default()
        })
    }

    fn state(&self) -> String {
        self.asks("status")["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Delivers what happens until the pull request is in this state.
    fn until(&mut self, state: &str) {
        let begun = Instant::now();
        loop {
            self.runtime.block_on(self.hooks.send_all());
            let now = self.state();
            if now == state {
                return;
            }
            assert!(
                begun.elapsed().as_secs() < 180,
                "{now} instead of {state}: {:#}\n{}",
                self.asks("history"),
                self.log()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Ends the service by a signal.
    fn signal(&mut self, signal: Signal) -> ExitStatus {
        let id = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(id), signal).expect("the signal");
        self.child.wait().expect("the end")
    }

    /// The service dies, and is started again.
    fn dies(&mut self) {
        self.signal(Signal::SIGKILL);
        self.child = command(&self.world, &self.folder, &[])
            .spawn()
            .expect("the service");
        self.wait_until_ready();
    }

    fn finish(mut self) {
        let status = self.signal(Signal::SIGTERM);
        let log = self.log();
        assert!(status.success(), "{status}: {log}");
        for secret in [SECRET, MASTER_KEY, KEY, &self.api_token] {
            assert!(!log.contains(secret), "{log}");
        }
        self.world.finish();
    }
}

fn read(path: &std::path::Path) -> String {
    let mut text = Vec::new();
    if let Ok(mut file) = std::fs::File::open(path) {
        let _short = file.read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn write_config(world: &World, folder: &TempDir, port: u16) {
    let environment = world.github.environment();
    let of = |name: &str| {
        let found = environment.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let config = json!({
        "listen": format!("127.0.0.1:{port}"),
        "store": "service.db",
        "github": {
            "account": "quality",
            "api_url": of("GITHUB_API_URL"),
            "graphql_url": of("GITHUB_GRAPHQL_URL"),
        },
        "repositories": ["octo/shop"],
        "webhook_secret_env": "WEBHOOK_SECRET",
        "master_key_env": "MASTER_KEY",
        "model": "standin/scripted",
        "model_base_url": world.model.url(),
        "model_key_env": "MODEL_KEY",
        "log_directory": "logs",
    });
    // JSON is YAML.
    std::fs::write(folder.path().join("service.yml"), config.to_string()).expect("a file");
}

fn command(world: &World, folder: &TempDir, arguments: &[&str]) -> Command {
    let usual = world.command(&world.opened(), &[]);
    let mut command = crate::commands::outside_runner(&usual, world);
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.path().join("service.log"))
        .expect("a log");
    let config: PathBuf = folder.path().join("service.yml");
    command
        .arg("serve")
        .args(arguments)
        .arg("--config")
        .arg(config)
        .env("WEBHOOK_SECRET", SECRET)
        .env("MASTER_KEY", MASTER_KEY)
        .env("MODEL_KEY", KEY)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log);
    command
}

/// Runs a command of the service to its end, and returns what it printed.
fn told(world: &World, folder: &TempDir, arguments: &[&str], input: &str) -> String {
    let mut command = command(world, folder, arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("the input");
    drop(stdin);
    let output = child.wait_with_output().expect("the end");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {printed}{errors}");
    printed
}

/// Quality finds the lost page, and calls security once it is fixed; the author's agent fixes.
fn model() -> impl FnMut(&Request) -> Answer + Send + 'static {
    let mut usual = crate::fixing::script(9).into_behaviour();
    move |request| match usual(request) {
        Answer::Say { text, mut calls } => {
            let seen = request.raw().to_string();
            if seen.contains("\"escalate\"") && seen.contains(CEIL) {
                let submits = |call: &&mut Call| call.name == "submit_pass_results";
                for call in calls.iter_mut().filter(submits) {
                    call.arguments["escalate"] = json!(["security"]);
                }
            }
            Answer::Say { text, calls }
        }
        other => other,
    }
}

fn world() -> World {
    let settings = Change::write(".github/opencode-reviewer.yml", AUTO_MERGE);
    World::settled(&[settings], &[], model())
}

/// A service with a pull request that was just opened.
fn opened(world: World) -> Serving {
    let serving = Serving::on(world);
    let pull = serving.world.pull;
    serving.world.github.with(|state| {
        state.announce("pull_request", Some("opened"), pull, "dev");
    });
    serving
}

/// Changes requested by quality, fixed by the author's agent, approved by quality and by security, merged; each once.
fn judge(serving: &Serving) {
    let status = serving.asks("status");
    assert_eq!(status["mergeType"], "auto", "{status:#}");
    let outcomes = status["reviewOutcomes"]
        .as_array()
        .expect("outcomes")
        .iter();
    let decided: Vec<(&str, &str)> = outcomes
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default();
            (text("reviewer"), text("decision"))
        })
        .collect();
    let expected = [
        ("quality", "changes_requested"),
        ("quality", "approved"),
        ("security", "approved"),
    ];
    assert_eq!(decided, expected, "{status:#}");
    let writes = serving.world.github.take_writes();
    let told: Vec<String> = writes.iter().filter_map(told_of).collect();
    let expected = [
        "REQUEST_CHANGES",
        "commit by dev",
        "dismissal",
        "APPROVE",
        "APPROVE",
        "merge by quality-agent",
    ];
    assert_eq!(told, expected, "{writes:#?}\n{}", serving.log());
    let show = |state: &mut State| state.git.must(&["show", "main:src/page.ts"]);
    assert!(serving.world.github.with(show).contains(CEIL));
}

fn lives(world: World) {
    let mut serving = opened(world);
    serving.until("merged");
    judge(&serving);
    serving.finish();
}

/// The same life with a service that dies at times drawn from a seed.
fn lives_with_deaths(seed: u64) {
    let mut dice = Dice::new(seed);
    // The first draws of small seeds are small.
    for _ in 0..8 {
        dice.below(2);
    }
    let mut serving = opened(world().quick());
    for _ in 0..=dice.below(3) {
        let pause = Duration::from_millis(dice.below(2_500));
        let begun = Instant::now();
        while begun.elapsed() < pause {
            serving.runtime.block_on(serving.hooks.send_all());
            std::thread::sleep(Duration::from_millis(20));
        }
        serving.dies();
    }
    serving.until("merged");
    println!("seed {seed}");
    judge(&serving);
    serving.finish();
}

/// The acts that move a life.
fn told_of(write: &Write) -> Option<String> {
    match write {
        Write::Review { json, .. } => json["event"].as_str().map(str::to_owned),
        Write::Commit { by, .. } => Some(format!("commit by {by}")),
        Write::Merge { by, .. } => Some(format!("merge by {by}")),
        Write::Dismissal { .. } => Some("dismissal".to_owned()),
        _ => None,
    }
}

#[test]
fn a_pull_request_lives_from_its_opening_to_its_merge() {
    lives(world().quick());
}

#[test]
fn a_service_that_is_killed_goes_on_with_nothing_lost_and_nothing_doubled() {
    for seed in 1..=2 {
        lives_with_deaths(seed);
    }
}

#[test]
#[ignore = "takes minutes: make soak SERVE=1"]
fn twenty_lives_with_child_processes() {
    for seed in 1..=20 {
        lives_with_deaths(seed);
    }
}

#[test]
fn a_repository_that_is_renamed_keeps_the_lives_of_its_pull_requests() {
    let mut serving = opened(world().quick());
    serving.until("reviewing");
    serving.world.github.rename("octo/store", "dev");
    serving.repository = "octo/store".to_owned();
    serving.until("merged");
    judge(&serving);
    // Whoever takes the old name has no life here.
    serving.world.github.take_name("octo/shop");
    serving.repository = "octo/shop".to_owned();
    assert_eq!(serving.state(), "");
    serving.finish();
}

#[test]
fn the_same_life_with_the_real_opencode() {
    lives(world());
}
