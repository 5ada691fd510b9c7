//! The lifecycle service as people run it: `serve` with its store, signed webhooks in, reviews, fixes and merges out. Sessions are
//! child processes.

use crate::fixing::{CEIL, LOST_PAGE};
use crate::review::{lost_page, post};
use crate::standin::github::webhooks::Webhooks;
use crate::standin::github::{Change, Identity};
use crate::standin::model::Script;
use crate::standin::world::{KEY, World, open_folder};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
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
            assert!(begun.elapsed().as_secs() < 60, "never ready: {}", self.log());
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
        let url = format!("{}/pr/octo/shop/{}/{route}", self.url, self.world.pull);
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

    fn finish(mut self) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        let id = nix::unistd::Pid::from_raw(id);
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).expect("the signal");
        let status = self.child.wait().expect("the end");
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
        "internal_hosts": ["127.0.0.1"],
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
fn script() -> Script {
    crate::fixing::script(9)
}

#[test]
fn a_pull_request_lives_from_its_opening_to_its_merge() {
    let settings = Change::write(".github/opencode-reviewer.yml", AUTO_MERGE);
    let world = World::settled(&[settings], &[], script().into_behaviour()).quick();
    let mut serving = Serving::on(world);
    serving.world.github.with(|state| {
        state.announce("pull_request", Some("opened"), 1, "dev");
    });
    serving.until("merged");
    let status = serving.asks("status");
    assert_eq!(status["mergeType"], "auto", "{status:#}");
    let name = format!("{}:src/page.ts", "main");
    let page = serving
        .world
        .github
        .with(|state| state.git.must(&["show", &name]));
    assert!(page.contains(CEIL), "{page}");
    serving.finish();
}
