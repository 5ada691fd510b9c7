//! The lifecycle service on the stand-ins: `serve` with its store, its agents and a token, signed webhooks in.

use super::github::webhooks::{Delivery, Webhooks};
use super::github::{Change, Identity};
use super::model::{Answer, Call, Script};
use super::world::{KEY, World, open_folder, outside_runner};
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

/// The agents with the accounts that they act as.
pub const AGENTS: [(&str, &str); 3] = [
    ("quality", "quality-agent"),
    ("security", "security-agent"),
    ("author", "dev"),
];
/// The settings of the repository.
const SETTINGS: &str = "\
lifecycle:
  reviewers:
    - {name: quality, can_escalate: [security]}
  auto_merge: true
";
/// The longest time that a state is waited for.
const PATIENCE: Duration = Duration::from_mins(3);

/// A running service on the stand-ins.
pub struct Serving {
    pub world: World,
    /// The webhooks that the service has accepted.
    pub accepted: usize,
    folder: TempDir,
    url: String,
    service: Service,
    hooks: Webhooks,
    api_token: String,
    runtime: tokio::runtime::Runtime,
    /// The name of the repository now.
    pub repository: String,
}

/// The example pull request in a repository where quality reviews, may call security, and the service merges. The model follows the
/// script, and calls security once this code is in the change.
pub fn world(script: Script, fixed: &'static str) -> World {
    let settings = Change::write(".github/opencode-reviewer.yml", SETTINGS);
    let mut usual = script.into_behaviour();
    World::settled(&[settings], &[], move |request| match usual(request) {
        Answer::Say { text, mut calls } => {
            let seen = request.raw().to_string();
            if seen.contains("\"escalate\"") && seen.contains(fixed) {
                let submits = |call: &&mut Call| call.name == "submit_pass_results";
                for call in calls.iter_mut().filter(submits) {
                    call.arguments["escalate"] = json!(["security"]);
                }
            }
            Answer::Say { text, calls }
        }
        other => other,
    })
}

/// The process, which is ended when nobody holds it any more.
struct Service(Child);

impl Service {
    /// Asks it to end, and waits for that.
    fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM)
    }

    fn signal(&mut self, signal: Signal) -> ExitStatus {
        let id = i32::try_from(self.0.id()).expect("a process id");
        kill(Pid::from_raw(id), signal).expect("the signal");
        self.0.wait().expect("the end")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            self.stop();
        }
    }
}

impl Serving {
    /// Starts the service, with agents that have accounts of their own.
    pub fn on(world: World) -> Self {
        let rights = ["contents:write", "pull-requests:write", "issues:write"];
        for (_, login) in AGENTS {
            let identity = Identity::person(login, &rights);
            world.github.token(&token_of(login), identity);
            world.github.permit(login, "write");
        }
        let folder = open_folder();
        let account = json!({ "account": "quality" });
        let port = write_config(&world, &folder, account, &["octo/shop"]);
        add_agents(&world, &folder);
        Self::start(world, folder, port)
    }

    /// Starts the service as a GitHub App, whose personas are one account.
    pub fn as_app(world: World) -> Self {
        let rights = [
            "checks:write",
            "contents:write",
            "issues:write",
            "metadata:read",
            "pull-requests:write",
        ];
        let app = world.github.register_app("reviewer", &rights);
        let folder = open_folder();
        std::fs::write(folder.path().join("app.pem"), app.private_key).expect("a file");
        let account = json!({ "app": { "id": app.id, "private_key_file": "app.pem" } });
        let port = write_config(&world, &folder, account, &[]);
        Self::start(world, folder, port)
    }

    /// Starts the service with a token for its API.
    fn start(world: World, folder: TempDir, port: u16) -> Self {
        let url = format!("http://127.0.0.1:{port}");
        let api_token = add_token(&world, &folder);
        let hooks = Webhooks::new(&world.github, &format!("{url}/webhook"), SECRET);
        let mut serving = Self {
            service: Service(command(&world, &folder, &[]).spawn().expect("the service")),
            api_token,
            world,
            folder,
            url,
            hooks,
            accepted: 0,
            runtime: tokio::runtime::Runtime::new().expect("a runtime"),
            repository: "octo/shop".to_owned(),
        };
        serving.wait_until_ready();
        serving
    }

    /// The author opens the pull request.
    pub fn open(&self) {
        let pull = self.world.pull;
        self.world.github.with(|state| {
            state.announce("pull_request", Some("opened"), pull, "dev");
        });
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
            if let Some(status) = self.service.0.try_wait().expect("a status") {
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
    pub fn log(&self) -> String {
        let mut text = read(&self.folder.path().join("service.log"));
        let logs = self.folder.path().join("logs/logs");
        for entry in std::fs::read_dir(logs).into_iter().flatten().flatten() {
            let name = entry.path().display().to_string();
            text.extend(["\n--- ", &name, "\n", &read(&entry.path())]);
        }
        text
    }

    /// The answer of a route about the pull request.
    pub fn asks(&self, route: &str) -> Value {
        let (url, repository) = (&self.url, &self.repository);
        let url = format!("{url}/pr/{repository}/{}/{route}", self.world.pull);
        self.runtime.block_on(async {
            let client = reqwest::Client::new();
            let answer = client.get(url).bearer_auth(&self.api_token).send().await;
            let answer = answer.expect("an answer");
            answer.json().await.unwrap_or_default()
        })
    }

    pub fn state(&self) -> String {
        let status = self.asks("status");
        status["state"].as_str().unwrap_or_default().to_owned()
    }

    /// Delivers webhooks until the pull request is in this state. `look` is called after each delivery, and says whether to go on. Fails
    /// with the state that it is in instead.
    pub fn reach(
        &mut self,
        state: &str,
        mut look: impl FnMut(&Self) -> bool,
    ) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let statuses = self.runtime.block_on(self.hooks.send_all());
            let accepted = statuses
                .iter()
                .filter(|status| (200..300).contains(*status));
            self.accepted += accepted.count();
            let now = self.state();
            let go_on = look(self);
            if now == state {
                return Ok(());
            }
            if !go_on || begun.elapsed() > PATIENCE {
                return Err(now);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Delivers webhooks for a while.
    pub fn deliver_for(&self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.runtime.block_on(self.hooks.send_all());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The service dies, and is started again.
    pub fn dies(&mut self) {
        self.service.signal(Signal::SIGKILL);
        let started = command(&self.world, &self.folder, &[]).spawn();
        self.service = Service(started.expect("the service"));
        self.wait_until_ready();
    }

    /// The service dies with its store, and is started to rebuild it.
    pub fn loses_its_store(&mut self) {
        self.service.signal(Signal::SIGKILL);
        for name in ["service.db", "service.db-wal", "service.db-shm"] {
            // The journal is not always there.
            let _none = std::fs::remove_file(self.folder.path().join(name));
        }
        add_agents(&self.world, &self.folder);
        self.api_token = add_token(&self.world, &self.folder);
        let started = command(&self.world, &self.folder, &["--rebuild"]).spawn();
        self.service = Service(started.expect("the service"));
        self.wait_until_ready();
    }

    /// Delivers everything that waits, and returns it.
    pub fn deliver(&self) -> Vec<Delivery> {
        let deliveries = self.hooks.pending();
        self.runtime.block_on(self.hooks.send_all());
        deliveries
    }

    /// Delivers again what was delivered before. Returns the statuses of the answers.
    pub fn replay(&self, deliveries: &[Delivery]) -> Vec<u16> {
        let sent = deliveries.iter().map(|one| self.hooks.send(one));
        self.runtime.block_on(async {
            let mut statuses = Vec::new();
            for answer in sent {
                statuses.push(answer.await);
            }
            statuses
        })
    }

    pub fn stop(&mut self) -> ExitStatus {
        self.service.stop()
    }

    /// Ends the service; no secret is in its log, and nothing is left behind.
    pub fn finish(mut self) {
        let status = self.stop();
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

fn add_agents(world: &World, folder: &TempDir) {
    for (name, login) in AGENTS {
        let arguments = ["agents", "add", name, "--login", login, "--token-stdin"];
        told(world, folder, &arguments, &token_of(login));
    }
}

/// Adds a token of the API.
fn add_token(world: &World, folder: &TempDir) -> String {
    let arguments = ["tokens", "add", "tests", "--role", "operate"];
    let printed = told(world, folder, &arguments, "");
    let token = printed.split_whitespace().last();
    token.unwrap_or_default().to_owned()
}

/// Writes service.yml. Returns the port that it names.
fn write_config(world: &World, folder: &TempDir, mut account: Value, repositories: &[&str]) -> u16 {
    let environment = world.github.environment();
    let of = |name: &str| {
        let found = environment.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    account["api_url"] = of("GITHUB_API_URL").into();
    account["graphql_url"] = of("GITHUB_GRAPHQL_URL").into();
    let mut config = json!({
        "listen": format!("127.0.0.1:{port}"),
        "store": "service.db",
        "github": account,
        "webhook_secret_env": "WEBHOOK_SECRET",
        "master_key_env": "MASTER_KEY",
        "model": "standin/scripted",
        "model_base_url": world.model.url(),
        "model_key_env": "MODEL_KEY",
        "log_directory": "logs",
        // The state is asked for more often than people would.
        "limits": { "requests_per_minute": 6_000 },
    });
    if !repositories.is_empty() {
        config["repositories"] = json!(repositories);
    }
    // JSON is YAML.
    std::fs::write(folder.path().join("service.yml"), config.to_string()).expect("a file");
    port
}

fn command(world: &World, folder: &TempDir, arguments: &[&str]) -> Command {
    let usual = world.command(&world.opened(), &[]);
    let mut command = outside_runner(&usual, world);
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
