//! The other side: OpenCode alone, with the same configuration, files, prompts and tool calls. Whatever a review needs
//! besides (the files, the desk behind the tools) is there before the clock starts and costs it nothing.

use super::course::Course;
use super::measure::{self, Measured};
use super::standin::github::GitHub;
use super::standin::world::{KEY, World};
use anyhow::{Context as _, Result, ensure};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use reqwest::{Client, RequestBuilder};
use reviewer_agent::opencode::profile::{self, Profile, SessionConfig, Surroundings, ToolEndpoint};
use reviewer_agent::opencode::{ModelEndpoint, SessionName, find_ripgrep};
use reviewer_agent::tools::server::{Offer, ToolServer};
use reviewer_agent::tools::{hidden_in_review, review_names, review_tools};
use reviewer_core::config::ModelChoice;
use reviewer_core::context::brief;
use reviewer_core::domain::{CommitSha, FileDiff, PASSES, PassNumber, Score};
use reviewer_core::review::desk::SharedDesk;
use reviewer_core::review::desk::{Desk, Subject};
use reviewer_core::review::policy::Weights;
use reviewer_repo::git::{Remote, Repository};
use reviewer_repo::snapshot::{self, Caps, SnapshotSource};
use reviewer_text::fence::Fence;
use reviewer_text::redact::Redactor;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const BEARER: &str = "bearer-of-the-bench";

/// What a review of ours asked, as the model got it.
pub struct Prompts {
    texts: Vec<String>,
    system: String,
}

/// The user messages of the last request are the prompts of all passes. A large change is shown in several prompts of the
/// first one.
pub fn prompts(ours: &Measured) -> Result<Prompts> {
    let last = ours.requests.last().context("the model was never asked")?;
    let messages = last["messages"].as_array().context("no messages")?;
    let texts: Vec<String> = messages
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
        })
        .collect();
    ensure!(
        texts.len() >= PASSES.all().count(),
        "the review had {} prompts",
        texts.len()
    );
    // The same nonce as in the prompts, so that both sides send the same bytes.
    let nonce = texts[0]
        .split_once("<untrusted-")
        .and_then(|(_, rest)| rest.split_once(' '))
        .map(|(nonce, _)| nonce.to_owned())
        .context("the first prompt has no fence")?;
    Ok(Prompts {
        texts,
        system: brief::system_prompt(&Fence::new(nonce), None, "")?,
    })
}

/// Reviews the whole pull request, as it is now.
pub fn run(course: &Course, prompts: &Prompts) -> Result<Measured> {
    let world = &course.world;
    let runtime = Runtime::new()?;
    let scratch = TempDir::new()?;
    let desk = SharedDesk::default();
    let tools = runtime.block_on(prepare(world, scratch.path(), &desk))?;
    let sidecar = Bare::new(world, &tools, scratch.path(), &prompts.system)?;
    let asked = world.model.requests().len();
    course.times.forget();
    let begun = Instant::now();
    let (child, listening) = sidecar.start()?;
    let group = Pid::from_raw(i32::try_from(child.id())?);
    let watching = std::thread::spawn(|| measure::wait_watching(child, measure::tree_kib));
    let outcome = runtime.block_on(sidecar.converse(&listening, &prompts.texts, &desk));
    killpg(group, Signal::SIGTERM)?;
    let (ended, peak_kib) = watching.join().expect("no panic")?;
    outcome?;
    let (first_request, last_request) = course.times.since(begun);
    Ok(Measured {
        wall: ended.at - begun,
        cpu: ended.cpu,
        first_request,
        last_request,
        peak_kib,
        requests: world.model.requests().split_off(asked),
        github_requests: 0,
        findings: desk.with(|desk| desk.publishable().0.len()).unwrap_or(0),
        notifications: 0,
    })
}

/// The snapshot and the desk, as a run of ours makes them.
async fn prepare(world: &World, scratch: &Path, desk: &SharedDesk) -> Result<ToolServer> {
    let (base, head) = world.github.with(|state| {
        let pull = &state.pulls[&world.pull];
        let base = state.git.merge_base(&pull.base.sha, &pull.head.sha);
        (base.unwrap_or_default(), pull.head.sha.clone())
    });
    let (base, head): (CommitSha, CommitSha) = (base.parse()?, head.parse()?);
    let path = std::env::var("PATH").unwrap_or_default();
    let repository = Repository::open(&scratch.join("objects"), None, &[("PATH".into(), path)])?;
    let remote = Remote {
        url: format!("{}/octo/shop.git", world.github.url()),
        token: Some(GitHub::TOKEN.into()),
    };
    repository.ensure(&[&base, &head], &remote).await?;
    let diffs = repository.diff(&base, &head).await?;
    let tree = scratch.join("head");
    std::fs::create_dir(&tree)?;
    let source = SnapshotSource {
        head: &head,
        base: &repository.tree(&base).await?,
        changed: &diffs,
    };
    let snapshot = snapshot::write(&repository, &source, &tree, &Caps::default()).await?;
    let files = diffs.iter().map(|diff| {
        let name = format!("diffs/{}.diff", snapshot.shown_path(&diff.path));
        (name, diff.numbered())
    });
    snapshot.write_own(files.collect()).await?;
    desk.open(open_desk(base, head, diffs)?);
    let offer = Offer {
        session: SESSION,
        bearer: BEARER.into(),
        redactor: Arc::new(Redactor::new(&[])),
        tools: review_tools(desk, None, None),
    };
    ToolServer::start(vec![offer], None).await
}

fn open_desk(base: CommitSha, head: CommitSha, diffs: Vec<FileDiff>) -> Result<Desk> {
    let subject = Subject {
        head,
        base,
        diffs,
        threads: Vec::new(),
        root: String::new(),
        shown_paths: HashMap::new(),
        changed_since: HashMap::new(),
        removed_lines: HashMap::new(),
        decided: Vec::new(),
        human_reviewers: Vec::new(),
        others: Vec::new(),
    };
    let weights = Weights {
        threshold: Score::new(5).context("a score")?,
        elevation: 5,
        blocking: Score::new(9),
        sensitive: Some("the README speaks of payments".into()),
    };
    Ok(Desk::new(subject, weights, "general", "bench".into()))
}

/// `opencode serve` and nothing around it.
struct Bare {
    executable: PathBuf,
    directory: PathBuf,
    environment: Vec<(String, String)>,
    port: u16,
    http: Client,
}

const PASSWORD: &str = "bench";
const SESSION: SessionName = SessionName::Review(1);

impl Bare {
    fn new(world: &World, tools: &ToolServer, scratch: &Path, system: &str) -> Result<Self> {
        let roots = [PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
        let path = std::env::var("PATH").unwrap_or_default();
        let model = ModelChoice {
            provider: "standin".into(),
            name: "scripted".into(),
            base_url: Some(world.model.url().to_owned()),
            key: Some(KEY.into()),
            context: Some(1_000_000),
        };
        let endpoint = ToolEndpoint {
            base_url: tools.tools_url(SESSION),
            bearer: BEARER.into(),
            tools: review_names(false, false),
        };
        let direct = ModelEndpoint {
            base_url: world.model.url().to_owned(),
            placeholder: KEY.into(),
            credential: "Authorization",
        };
        let home = scratch.join("home");
        std::fs::create_dir_all(home.join("tmp"))?;
        let password: SecretString = PASSWORD.into();
        let environment = profile::environment(Surroundings {
            home: &home,
            programs: find_ripgrep(&roots, &path).as_slice(),
            password: &password,
            config: &profile::config(
                &SessionConfig {
                    name: SESSION,
                    profile: Profile::Reviewer,
                    model: &model,
                    system_prompt: system.to_owned(),
                    tools: endpoint,
                    endpoint: direct,
                    fallback: None,
                },
                &[],
            ),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        Ok(Self {
            executable: super::opencode()?,
            directory: scratch.join("head"),
            environment,
            port: listener.local_addr()?.port(),
            http: Client::builder().no_proxy().build()?,
        })
    }

    /// The receiver hears when it says that it listens.
    fn start(&self) -> Result<(Child, Receiver<()>)> {
        let mut child = Command::new(&self.executable)
            .args(["serve", "--pure", "--hostname", "127.0.0.1", "--port"])
            .arg(self.port.to_string())
            .current_dir(&self.directory)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("starting OpenCode")?;
        let stdout = child.stdout.take().context("its output")?;
        let (sender, listening) = channel();
        std::thread::spawn(move || {
            // To the end, so that it never waits for a reader.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if line.contains("listening on") {
                    let _nobody_waits = sender.send(());
                }
            }
        });
        Ok((child, listening))
    }

    async fn converse(
        &self,
        listening: &Receiver<()>,
        prompts: &[String],
        desk: &SharedDesk,
    ) -> Result<()> {
        listening
            .recv_timeout(Duration::from_mins(1))
            .context("OpenCode did not start")?;
        self.healthy().await?;
        let session = self.post("/session").json(&json!({
            "title": "Review",
            "permission": profile::denied(&hidden_in_review(SESSION, false)),
        }));
        let session: Value = session.send().await?.error_for_status()?.json().await?;
        let id = session["id"].as_str().context("a session without an id")?;
        let extra = prompts.len() - PASSES.all().count();
        let parts = u32::try_from(extra)? + 1;
        let first = (1..=parts).map(|part| (PassNumber::FIRST, (part, parts)));
        let others = PASSES.all().skip(1).map(|pass| (pass.number, (1, 1)));
        for ((pass, part), text) in first.chain(others).zip(prompts) {
            desk.with(|desk| desk.ledger.begin_part(pass, part));
            let body = json!({
                "agent": Profile::Reviewer.agent(),
                "parts": [{ "type": "text", "text": text }],
            });
            let sent = self.post(&format!("/session/{id}/message")).json(&body);
            let answer: Value = sent.send().await?.error_for_status()?.json().await?;
            ensure!(answer["info"]["error"].is_null(), "a turn failed: {answer}");
        }
        Ok(())
    }

    /// Asked with little patience: a request that meets the port as it opens is sometimes never answered.
    async fn healthy(&self) -> Result<()> {
        for _ in 0..100 {
            let request = self.http.get(self.url("/global/health"));
            let request = request.basic_auth("opencode", Some(PASSWORD));
            let answer = request.timeout(Duration::from_millis(250)).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        anyhow::bail!("OpenCode is not healthy")
    }

    fn post(&self, path: &str) -> RequestBuilder {
        let request = self.http.post(self.url(path));
        request.basic_auth("opencode", Some(PASSWORD))
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}
