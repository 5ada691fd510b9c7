//! The service between the stand-ins: its folder, its store, and the process while it runs.

use super::super::standin::github::Identity;
use super::super::standin::github::webhooks::{Delivery, Webhooks};
use super::super::standin::model::Script;
use super::super::standin::serving::Server;
use super::super::standin::world::{KEY, World, open_folder};
use super::configuration::{Address, SHOP, configuration};
use anyhow::{Context as _, Result, bail, ensure};
use reqwest::Client;
use reviewer_engine::with_password;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const SECRET: &str = "the secret of the webhook";
const MASTER_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const TOKEN: &str = "ghp_quality_0123456789abcdef0123456789";
const LOGIN: &str = "quality-agent";
/// No wait here is longer.
const LONGEST: Duration = Duration::from_mins(10);

/// A service that can be started, with its store and its GitHub.
pub struct Site {
    pub world: World,
    /// The server of the store; none for a file.
    pub server: Option<Server>,
    pub runtime: Runtime,
    pub client: Client,
    url: String,
    api_token: String,
    folder: TempDir,
    template: Value,
}

/// The processes of a service. They are killed in the end.
pub struct Running<'a> {
    pub site: &'a Site,
    /// The first one answers requests.
    children: Vec<Child>,
    /// From the start of the process until it takes requests.
    pub start: Duration,
}

/// Figures that the service tells about itself.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    pub statements: u64,
    pub commits: u64,
    pub queue: u64,
    pub pulls: u64,
}

impl Site {
    /// On a file, with this many further pull requests in the stand-in, all of them drafts, so that nobody reviews them.
    pub fn new(drafts: u64) -> Result<Self> {
        Self::on(None, drafts)
    }

    /// On the server of a store, or on a file.
    pub fn on(server: Option<Server>, drafts: u64) -> Result<Self> {
        let world = World::with(&[], Script::new().into_behaviour());
        let rights = ["contents:write", "pull-requests:write", "issues:write"];
        world.github.token(TOKEN, Identity::person(LOGIN, &rights));
        world.github.permit(LOGIN, "write");
        let hooks = Webhooks::new(&world.github, "http://127.0.0.1:9", SECRET);
        let pull = world.pull;
        world.github.with(|state| {
            state.announce("pull_request", Some("edited"), pull, "dev");
            if let Some(own) = state.pulls.get_mut(&pull) {
                own.draft = true;
            }
        });
        let template = hooks.arrange(Vec::pop);
        let template = template.context("no delivery of the stand-in")?;
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        let port = port.local_addr()?.port();
        let mut site = Self {
            runtime: Runtime::new()?,
            client: Client::new(),
            url: format!("http://127.0.0.1:{port}"),
            api_token: String::new(),
            folder: open_folder(),
            template: serde_json::from_slice(&template.body)?,
            server,
            world,
        };
        site.add_drafts((1..=drafts).map(|n| pull + n));
        site.configure(port)?;
        let add = [
            "agents",
            "add",
            "quality",
            "--login",
            LOGIN,
            "--token-stdin",
        ];
        site.told(&add, TOKEN)?;
        let told = site.told(&["tokens", "add", "bench", "--role", "read"], "")?;
        let token = told.split_whitespace().last();
        token
            .context("no API token")?
            .clone_into(&mut site.api_token);
        Ok(site)
    }

    /// Copies of the pull request under other numbers.
    pub fn add_drafts(&self, numbers: impl Iterator<Item = u64>) {
        self.world.github.with(|state| {
            let own = state.pulls[&self.world.pull].clone();
            for number in numbers {
                let mut copy = own.clone();
                (copy.number, copy.id) = (number, state.next_id());
                state.pulls.insert(number, copy);
            }
        });
    }

    /// The address of the store, with its password.
    pub fn store(&self) -> String {
        match &self.server {
            Some(Server {
                address, password, ..
            }) => {
                let password = SecretString::from(password.as_str());
                let address = with_password(address, &password);
                address.expose_secret().to_owned()
            }
            None => self.folder.path().join("service.db").display().to_string(),
        }
    }

    fn configure(&self, port: u16) -> Result<()> {
        let environment = self.world.github.environment();
        let of = |name: &str| {
            let found = environment.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let config = configuration(&Address {
            port,
            store: &self.folder.path().join("service.db"),
            api_url: &of("GITHUB_API_URL"),
            graphql_url: &of("GITHUB_GRAPHQL_URL"),
            model_url: self.world.model.url(),
        });
        // JSON is YAML.
        std::fs::write(self.folder.path().join("service.yml"), config.to_string())?;
        Ok(())
    }

    fn command(&self, arguments: &[&str]) -> Result<Command> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.path().join("service.log"))?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_opencode-reviewer"));
        command
            .arg("serve")
            .args(arguments)
            .arg("--config")
            .arg(self.folder.path().join("service.yml"))
            .env_clear()
            .envs(self.world.github.environment())
            .env_remove("GITHUB_REPOSITORY")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("WEBHOOK_SECRET", SECRET)
            .env("MASTER_KEY", MASTER_KEY)
            .env("MODEL_KEY", KEY)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        if let Some(server) = &self.server {
            command.args(["--store", &server.address]);
            command.env("PGPASSWORD", &server.password);
        }
        Ok(command)
    }

    /// Runs a command of the service to its end, and returns what it printed.
    fn told(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut command = self.command(arguments)?;
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("starting a command")?;
        let mut stdin = child.stdin.take().context("no input")?;
        stdin.write_all(input.as_bytes())?;
        drop(stdin);
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{arguments:?}: {}", self.log());
        Ok(String::from_utf8(output.stdout)?)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("service.log")).unwrap_or_default()
    }

    /// Starts the service as one process, and waits until it takes requests.
    pub fn start(&self) -> Result<Running<'_>> {
        self.start_as("all", 0)
    }

    /// Starts the service as a process of this role and so many workers, and waits until it takes requests.
    pub fn start_as(&self, role: &str, workers: usize) -> Result<Running<'_>> {
        let begun = Instant::now();
        let mut running = Running {
            site: self,
            children: vec![self.command(&["--role", role])?.spawn()?],
            start: Duration::ZERO,
        };
        for _ in 0..workers {
            let worker = self.command(&["--role", "worker"])?.spawn()?;
            running.children.push(worker);
        }
        let url = format!("{}/readyz", self.url);
        let is_ready = || {
            let answer = self.runtime.block_on(self.client.get(&url).send());
            answer.is_ok_and(|answer| answer.status().is_success())
        };
        while !is_ready() {
            for child in &mut running.children {
                if let Some(status) = child.try_wait()? {
                    bail!("the service ended with {status}: {}", self.log());
                }
            }
            ensure!(begun.elapsed() < LONGEST, "never ready: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        running.start = begun.elapsed();
        Ok(running)
    }

    /// A delivery about a pull request, as large as GitHub's.
    pub fn delivery(&self, (id, name): (u64, &str), number: u64, guid: String) -> Delivery {
        let mut body = self.template.clone();
        body["repository"]["id"] = json!(id);
        body["repository"]["full_name"] = json!(name);
        body["number"] = json!(number);
        body["pull_request"]["number"] = json!(number);
        Delivery {
            guid,
            event: "pull_request".to_owned(),
            action: Some("edited".to_owned()),
            body: body.to_string().into_bytes(),
        }
    }

    /// The repository of the stand-in, by its id and its name.
    pub fn shop(&self) -> (u64, &'static str) {
        (self.world.github.with(|state| state.repository.id), SHOP)
    }

    /// A request that delivers it.
    pub fn request(&self, delivery: &Delivery) -> reqwest::RequestBuilder {
        let request = self.client.post(format!("{}/webhook", self.url));
        request
            .header("content-type", "application/json")
            .header("x-github-delivery", &delivery.guid)
            .header("x-github-event", &delivery.event)
            .header("x-hub-signature-256", delivery.signature(SECRET))
            .body(delivery.body.clone())
    }
}

/// Sends a delivery; the number of pull requests that it woke.
pub async fn sent(request: reqwest::RequestBuilder) -> Result<u64> {
    let answer = request.send().await?.error_for_status()?;
    let told: Value = answer.json().await?;
    ensure!(told["duplicate"] == false, "a duplicate: {told}");
    told["woken"].as_u64().context("no number of the woken")
}

impl Running<'_> {
    pub fn id(&self) -> u32 {
        self.children[0].id()
    }

    pub fn send(&self, delivery: &Delivery) -> Result<u64> {
        self.site
            .runtime
            .block_on(sent(self.site.request(delivery)))
    }

    pub fn figures(&self) -> Result<Figures> {
        let url = format!("{}/metrics", self.site.url);
        let page = self.site.runtime.block_on(async {
            let request = self.site.client.get(url).bearer_auth(&self.site.api_token);
            request.send().await?.error_for_status()?.text().await
        })?;
        let sum = |name: &str| {
            let name = format!("opencode_reviewer_{name}");
            let lines = page.lines().filter(|line| line.starts_with(&name));
            let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
            values.sum()
        };
        Ok(Figures {
            statements: sum("store_statements_total"),
            commits: sum("store_commits_total"),
            queue: sum("queue_length"),
            pulls: sum("pull_requests{"),
        })
    }

    /// Waits until nothing is to be done and so many pull requests are known; how often it asked, and the last answer.
    pub fn settled(&self, pulls: u64) -> Result<(u64, Figures)> {
        let begun = Instant::now();
        for asked in 1.. {
            let figures = self.figures()?;
            if figures.queue == 0 && figures.pulls >= pulls {
                return Ok((asked, figures));
            }
            ensure!(
                begun.elapsed() < LONGEST,
                "{figures:?}: {}",
                self.site.log()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("never settled")
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Whoever ended before cannot be killed, and that is all right.
            let _killed = child.kill();
            let _reaped = child.wait();
        }
    }
}
