//! The lifecycle service on the stand-ins: `serve` with its store, its agents and a token, signed webhooks in.

use super::github::webhooks::{Delivery, Webhooks};
use super::github::{Change, Identity};
use super::model::{Answer, Call, Request, Script};
use super::world::{KEY, World, open_folder, outside_runner};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reviewer_core::session_order::RESULT_FILE;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
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
    /// The second front, and the workers.
    beside: Vec<Service>,
    hooks: Webhooks,
    api_token: String,
    runtime: tokio::runtime::Runtime,
    /// The name of the repository now.
    pub repository: String,
}

/// The example pull request in a repository where quality reviews, may call security, and the service merges. The model follows the
/// script, and calls security once this code is in the change.
pub fn world(script: Script, fixed: &'static str) -> World {
    with_model(behaviour(script, fixed))
}

/// The same with any model.
pub fn with_model(model: impl FnMut(&Request) -> Answer + Send + 'static) -> World {
    let settings = Change::write(".github/opencode-reviewer.yml", SETTINGS);
    World::settled(&[settings], &[], model)
}

/// The model of that world.
pub fn behaviour(
    script: Script,
    fixed: &'static str,
) -> impl FnMut(&Request) -> Answer + Send + 'static {
    let mut usual = script.into_behaviour();
    move |request| match usual(request) {
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
    }
}

/// The server of a store, from the packages that tests/engines pins. It ends with whoever started it.
pub struct Server {
    pub address: String,
    pub password: String,
    process: Child,
}

impl Server {
    /// Starts `postgres` or `restate`. `Err` is a sentence.
    pub fn start(kind: &str) -> Result<Self, String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engines/server.mjs");
        let mut process = Command::new("node")
            .args([script, kind])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("node could not be started: {error}."))?;
        let output = process.stdout.take().expect("piped");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let (Some(address), Some(password)) = (lines.next(), lines.next()) else {
            return Err(format!(
                "the server of {kind} did not start; `make demo SERVE={kind}` installs it."
            ));
        };
        Ok(Self {
            address,
            password,
            process,
        })
    }

    /// The process that has started the server, its only child.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }
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
        Self::configured(world, |_, _| {})
    }

    /// The same with further limits in its configuration.
    pub fn limited(world: World, limits: &[(&str, u64)]) -> Self {
        Self::configured(world, |config, _| {
            for (name, limit) in limits {
                config["limits"][name] = json!(limit);
            }
        })
    }

    /// With a model to fall back to, the keys of further providers, and the address of a proxy that leads there.
    pub fn falling_back(world: World, fallback: &str, keys: &str, proxy: &str) -> Self {
        Self::configured(world, |config, folder| {
            config["inputs"] = json!({ "fallback_model": fallback });
            config["api_keys_file"] = json!("further.keys");
            for (name, text) in [("further.keys", keys), (PROXY, proxy)] {
                std::fs::write(folder.join(name), text).expect("a file");
            }
        })
    }

    /// With changes of its configuration, and of the folder of it.
    fn configured(world: World, change: impl FnOnce(&mut Value, &Path)) -> Self {
        permit_agents(&world);
        let folder = open_folder();
        let account = json!({ "account": "quality" });
        let port = write_config(&world, &folder, account, &["octo/shop"]);
        let file = folder.path().join(FIRST);
        let mut config: Value = serde_json::from_str(&read(&file)).expect("JSON");
        change(&mut config, folder.path());
        std::fs::write(file, config.to_string()).expect("a file");
        add_agents(&world, &folder);
        Self::start(world, folder, port, &[])
    }

    /// Starts a single process of the service on the server of a store.
    pub fn at(world: World, server: &Server) -> Self {
        permit_agents(&world);
        let folder = open_folder();
        let account = json!({ "account": "quality" });
        let port = write_config(&world, &folder, account, &["octo/shop"]);
        name_store(&folder, &server.address, &server.password);
        add_agents(&world, &folder);
        Self::start(world, folder, port, &[])
    }

    /// Starts two fronts and two workers on the server of a store. Webhooks go to the second front, questions to the first one.
    pub fn together(world: World, server: &Server) -> Self {
        permit_agents(&world);
        let folder = open_folder();
        let account = || json!({ "account": "quality" });
        let first = write_config(&world, &folder, account(), &["octo/shop"]);
        let second = write_config_named(&world, &folder, SECOND, account(), &["octo/shop"]);
        name_store(&folder, &server.address, &server.password);
        add_agents(&world, &folder);
        let mut serving = Self::start(world, folder, first, &["--role", "front"]);
        for (config, role) in [(SECOND, "front"), (FIRST, "worker"), (SECOND, "worker")] {
            let arguments = ["--role", role];
            let started = command_of(&serving.world, &serving.folder, config, &arguments).spawn();
            serving.beside.push(Service(started.expect("the service")));
        }
        let second = format!("http://127.0.0.1:{second}");
        serving.wait_for_front(&second);
        serving.hooks = Webhooks::new(&serving.world.github, &format!("{second}/webhook"), SECRET);
        serving
    }

    /// Kills a worker that runs a session. Returns false if none does.
    pub fn worker_dies(&mut self) -> bool {
        for (worker, data) in [(1, "logs"), (2, "logs-2")] {
            let sessions = self.folder.path().join(data).join("sessions");
            let mut running = std::fs::read_dir(sessions).into_iter().flatten().flatten();
            if running.any(|one| one.path().join("process.json").exists()) {
                self.beside[worker].signal(Signal::SIGKILL);
                return true;
            }
        }
        false
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
        Self::start(world, folder, port, &[])
    }

    /// Starts the service with a token for its API.
    fn start(world: World, folder: TempDir, port: u16, arguments: &[&str]) -> Self {
        let url = format!("http://127.0.0.1:{port}");
        let api_token = add_token(&world, &folder);
        let hooks = Webhooks::new(&world.github, &format!("{url}/webhook"), SECRET);
        let mut serving = Self {
            service: Service(
                command(&world, &folder, arguments)
                    .spawn()
                    .expect("the service"),
            ),
            beside: Vec::new(),
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

    /// The address of the service.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Another token of the API.
    pub fn token(&self, name: &str, role: &str) -> String {
        let arguments = ["tokens", "add", name, "--role", role];
        let printed = told(&self.world, &self.folder, &arguments, "");
        let token = printed.split_whitespace().last();
        token.unwrap_or_default().to_owned()
    }

    /// The author opens the pull request.
    pub fn open(&self) {
        let pull = self.world.pull;
        self.world.github.with(|state| {
            state.announce("pull_request", Some("opened"), pull, "dev");
        });
    }

    fn wait_until_ready(&mut self) {
        let url = self.url.clone();
        self.wait_for_front(&url);
    }

    fn wait_for_front(&mut self, url: &str) {
        let url = format!("{url}/readyz");
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
        for logs in ["logs/logs", "logs-2/logs"] {
            let logs = std::fs::read_dir(self.folder.path().join(logs));
            for entry in logs.into_iter().flatten().flatten() {
                let name = entry.path().display().to_string();
                text.extend(["\n--- ", &name, "\n", &read(&entry.path())]);
            }
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

    /// A page of the dashboard, for somebody who signs in with the token of the API.
    pub fn page(&self, path: &str) -> String {
        let (url, token) = (&self.url, &self.api_token);
        self.runtime.block_on(async {
            let client = reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .expect("a client");
            let entry = client.post(format!("{url}/ui/sign-in"));
            let answer = entry.body(format!("token={token}")).send().await;
            let answer = answer.expect("an answer");
            let cookie = answer.headers().get("set-cookie").expect("a cookie");
            let cookie = cookie.to_str().expect("a text").split(';').next();
            let page = client.get(format!("{url}{path}"));
            let page = page.header("cookie", cookie.unwrap_or_default()).send();
            page.await.expect("an answer").text().await.expect("a page")
        })
    }

    /// An operator orders another attempt.
    pub fn retries(&self) {
        let (url, repository) = (&self.url, &self.repository);
        let url = format!("{url}/pr/{repository}/{}/retry", self.world.pull);
        let status = self.runtime.block_on(async {
            let client = reqwest::Client::new();
            let answer = client.post(url).bearer_auth(&self.api_token).send().await;
            answer.expect("an answer").status()
        });
        assert_eq!(status, 202);
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

    /// Delivers webhooks until something has happened; false if it does not happen in time.
    pub fn until(&mut self, mut happened: impl FnMut(&mut Self) -> bool) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let statuses = self.runtime.block_on(self.hooks.send_all());
            self.accepted += statuses.iter().filter(|one| **one < 300).count();
            if happened(self) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
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

    /// The service dies when a session has said its end, before or while that is taken; the next one dies while it recovers; and a
    /// third one goes on.
    pub fn dies_as_a_session_ends(&mut self, recovers: Duration) {
        let sessions = self.folder.path().join("logs/sessions");
        let has_said = || {
            let folders = std::fs::read_dir(&sessions).into_iter().flatten().flatten();
            let mut said = folders.map(|one| one.path().join(RESULT_FILE));
            said.any(|file| file.exists())
        };
        let begun = Instant::now();
        while !has_said() {
            assert!(
                begun.elapsed() < PATIENCE,
                "no end of a session: {}",
                self.log()
            );
            self.runtime.block_on(self.hooks.send_all());
            let look = Instant::now();
            while !has_said() && look.elapsed() < Duration::from_millis(100) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.service.signal(Signal::SIGKILL);
        let started = command(&self.world, &self.folder, &[]).spawn();
        self.service = Service(started.expect("the service"));
        std::thread::sleep(recovers);
        self.dies();
    }

    /// The service dies with its store, and is started to rebuild it.
    pub fn loses_its_store(&mut self) {
        self.service.signal(Signal::SIGKILL);
        for name in ["service.db", "service.db-wal", "service.db-shm"] {
            // The journal is not always there.
            let _none = std::fs::remove_file(self.folder.path().join(name));
        }
        self.rebuilds();
    }

    /// The service dies with the server of its store, and is started to rebuild it on another one.
    pub fn loses_its_server(&mut self, other: &Server) {
        self.service.signal(Signal::SIGKILL);
        name_store(&self.folder, &other.address, &other.password);
        self.rebuilds();
    }

    fn rebuilds(&mut self) {
        add_agents(&self.world, &self.folder);
        self.api_token = add_token(&self.world, &self.folder);
        let started = command(&self.world, &self.folder, &["--rebuild"]).spawn();
        self.service = Service(started.expect("the service"));
        self.wait_until_ready();
    }

    /// The service is stopped, its store moved to another file, and the service started there.
    pub fn moves_to_file(&mut self) {
        let file = self.folder.path().join("moved.db");
        self.moves(file.to_str().expect("a path that is text"), "");
    }

    /// The service is stopped, its store moved to this address, and the service started there.
    pub fn moves(&mut self, address: &str, password: &str) {
        let kind = address.split_once("://").map_or("file", |(kind, _)| kind);
        let name = format!("moved-to-{kind}.jsonl");
        let file = self.folder.path().join(name);
        let file = file.to_str().expect("a path that is text");
        let refused = ended(&self.world, &self.folder, &["export", file], "");
        let said = [refused.stdout, refused.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!refused.status.success() && said.contains(" use"), "{said}");
        assert!(self.service.stop().success());
        told(&self.world, &self.folder, &["export", file], "");
        name_store(&self.folder, address, password);
        told(&self.world, &self.folder, &["import", file], "");
        let started = command(&self.world, &self.folder, &[]).spawn();
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
        // One was killed, perhaps, which is no failure of the others.
        drop(std::mem::take(&mut self.beside));
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

/// The accounts of the agents, with their rights.
fn permit_agents(world: &World) {
    let rights = ["contents:write", "pull-requests:write", "issues:write"];
    for (_, login) in AGENTS {
        let identity = Identity::person(login, &rights);
        world.github.token(&token_of(login), identity);
        world.github.permit(login, "write");
    }
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
fn write_config(world: &World, folder: &TempDir, account: Value, repositories: &[&str]) -> u16 {
    write_config_named(world, folder, FIRST, account, repositories)
}

const FIRST: &str = "service.yml";
const SECOND: &str = "service-2.yml";
/// The files with the store's address and password, where it is on a server.
const ADDRESS: &str = "store.address";
const PASSWORD: &str = "store.password";
/// The file with the address of a proxy, where there is one.
const PROXY: &str = "proxy.address";

fn write_config_named(
    world: &World,
    folder: &TempDir,
    name: &str,
    mut account: Value,
    repositories: &[&str],
) -> u16 {
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
        "log_directory": if name == FIRST { "logs" } else { "logs-2" },
        // The state is asked for more often than people would.
        "limits": { "requests_per_minute": 6_000 },
    });
    if !repositories.is_empty() {
        config["repositories"] = json!(repositories);
    }
    // JSON is YAML.
    std::fs::write(folder.path().join(name), config.to_string()).expect("a file");
    port
}

fn command(world: &World, folder: &TempDir, arguments: &[&str]) -> Command {
    command_of(world, folder, FIRST, arguments)
}

fn command_of(world: &World, folder: &TempDir, config: &str, arguments: &[&str]) -> Command {
    let usual = world.command(&world.opened(), &[]);
    let mut command = outside_runner(&usual, world);
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.path().join("service.log"))
        .expect("a log");
    let config: PathBuf = folder.path().join(config);
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
    if let Ok(proxy) = std::fs::read_to_string(folder.path().join(PROXY)) {
        command
            .env("HTTP_PROXY", proxy)
            .env("NO_PROXY", "127.0.0.1");
    }
    if let Ok(address) = std::fs::read_to_string(folder.path().join(ADDRESS)) {
        let password = std::fs::read_to_string(folder.path().join(PASSWORD));
        command
            .args(["--store", &address])
            .env("PGPASSWORD", password.unwrap_or_default());
    }
    command
}

/// Names the store of all further processes.
fn name_store(folder: &TempDir, address: &str, password: &str) {
    for (name, text) in [(ADDRESS, address), (PASSWORD, password)] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
}

/// Runs a command of the service to its end.
fn ended(world: &World, folder: &TempDir, arguments: &[&str], input: &str) -> Output {
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
    child.wait_with_output().expect("the end")
}

/// Runs a command that succeeds, and returns what it printed.
fn told(world: &World, folder: &TempDir, arguments: &[&str], input: &str) -> String {
    let output = ended(world, folder, arguments, input);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {printed}{errors}");
    printed
}
