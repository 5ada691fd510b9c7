//! A whole run: our built binary, started as GitHub's runner starts it, between a stand-in for GitHub and a
//! scripted model. Everything else is real, OpenCode above all.

use super::github::{Change, GitHub, events};
use super::model::{Answer, Model, Request, Script};
use super::{runner, shop};
use reviewer_core::config::inputs::INPUTS;
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use tempfile::TempDir;

/// The model key of the tests. It must turn up nowhere.
pub const KEY: &str = "sk-standin-0123456789abcdef0123456789abcdef";

/// What a workflow gives to a run.
#[derive(Clone)]
pub struct Workflow {
    pub event: String,
    pub payload: Value,
    pub inputs: HashMap<String, String>,
    pub variables: HashMap<String, String>,
}

impl Workflow {
    /// With the quick sidecar in place of OpenCode, for what is not about OpenCode.
    pub fn quick(mut self) -> Self {
        let sidecar = binary().with_file_name("examples").join("sidecar");
        assert!(sidecar.is_file(), "run `cargo build --examples` first");
        let path = sidecar.display().to_string();
        self.variables.insert("OPENCODE_BIN".into(), path);
        self
    }
}

/// What a run left behind.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub log: String,
    pub summary: String,
    pub outputs: HashMap<String, String>,
    pub report: Option<Value>,
}

impl Ran {
    /// The lines of one level: `error`, `warning` or `notice`.
    pub fn annotations(&self, level: &str) -> Vec<&str> {
        let start = format!("::{level} ");
        let lines = self.log.lines().filter(|line| line.starts_with(&start));
        lines
            .filter_map(|line| line.splitn(3, "::").nth(2))
            .collect()
    }

    /// It ended with this exit code and said this of the review; if not, its log says why.
    #[track_caller]
    pub fn ended(&self, code: i32, status: &str) {
        let end = (self.code, self.status());
        assert_eq!(end, (Some(code), status), "{}", self.log);
    }

    pub fn status(&self) -> &str {
        self.outputs.get("review_status").map_or("", String::as_str)
    }
}

/// One pull request and everything around it.
pub struct World {
    pub github: GitHub,
    pub model: Model,
    pub pull: u64,
    job: Job,
    /// Whether its runs have the quick sidecar in place of OpenCode.
    quick: bool,
}

/// What the runner gives to a job: folders and files of its own.
#[derive(Debug)]
pub struct Job(TempDir);

impl Job {
    pub fn new() -> Self {
        let job = Self(open_folder());
        for folder in ["workspace", "temp", "home"] {
            std::fs::create_dir(job.path(folder)).expect("a folder");
        }
        job
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    /// Where runs have their temporary folders.
    pub fn temporary(&self) -> PathBuf {
        self.path("temp")
    }

    /// What the run left in its temporary folder: it should be nothing.
    pub fn left_over(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.temporary()).expect("the folder");
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    }

    fn empty_files(&self) {
        for file in ["output", "summary.md"] {
            std::fs::write(self.path(file), "").expect("a file of the runner");
        }
        let _none = std::fs::remove_file(self.report_file());
    }

    fn report_file(&self) -> PathBuf {
        self.workspace().join("opencode-review.json")
    }

    /// No scenario ends with a log in which the runner would obey what we did not mean.
    fn ran(&self, code: Option<i32>, log: String, secrets: &[String]) -> Ran {
        assert!(
            !log.contains(KEY) || log.contains("::add-mask::"),
            "the key is in the log"
        );
        assert!(!log.contains("panicked"), "{log}");
        let offences = runner::offences(&log, secrets);
        assert!(offences.is_empty(), "{offences:#?}\n{log}");
        let report = std::fs::read(self.report_file());
        Ran {
            code,
            summary: read(&self.path("summary.md")),
            outputs: outputs(&read(&self.path("output"))),
            report: report
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok()),
            log,
        }
    }
}

impl World {
    /// The example pull request, reviewed by this script.
    pub fn shop(script: Script) -> Self {
        Self::with(&[], script.into_behaviour())
    }

    /// The example pull request with more changes, and a model that may do anything.
    pub fn with(more: &[Change], model: impl FnMut(&Request) -> Answer + Send + 'static) -> Self {
        Self::settled(&[], more, model)
    }

    /// The same with more files in the base branch.
    pub fn settled(
        base: &[Change],
        more: &[Change],
        model: impl FnMut(&Request) -> Answer + Send + 'static,
    ) -> Self {
        let github = GitHub::start("octo/shop");
        let pull = shop::open(&github, base, more);
        Self {
            github,
            model: Model::start(model),
            pull,
            job: Job::new(),
            quick: false,
        }
    }

    /// With the quick sidecar in every run, for what is not about OpenCode.
    pub fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    /// The workflow of the README, for an event of this pull request.
    pub fn workflow(&self, event: &str, payload: Value) -> Workflow {
        let inputs = [
            ("model", "standin/scripted"),
            ("model_base_url", self.model.url()),
            ("opencode_api_key", KEY),
            ("github_token", GitHub::TOKEN),
        ];
        let workflow = Workflow {
            event: event.to_owned(),
            payload,
            inputs: inputs.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            variables: HashMap::new(),
        };
        if self.quick {
            workflow.quick()
        } else {
            workflow
        }
    }

    pub fn opened(&self) -> Workflow {
        let payload = events::event("pull_request", Some("opened"), &self.github, self.pull);
        self.workflow("pull_request", payload)
    }

    /// The pull request was opened, and the action runs.
    pub fn review(&self) -> Ran {
        self.run(&self.opened())
    }

    pub fn run(&self, workflow: &Workflow) -> Ran {
        self.spawn(workflow, &["action"])
    }

    /// The binary, in the container's environment.
    pub fn command(&self, workflow: &Workflow, arguments: &[&str]) -> Command {
        self.command_of(&self.job, workflow, arguments)
    }

    fn command_of(&self, job: &Job, workflow: &Workflow, arguments: &[&str]) -> Command {
        let event_path = job.path("event.json");
        std::fs::write(&event_path, workflow.payload.to_string()).expect("the event file");
        let path = |name: &str| job.path(name);
        let mut command = Command::new(binary());
        command.args(arguments).env_clear().stdin(Stdio::null());
        for name in ["PATH", "OPENCODE_BIN"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("HOME", path("home"))
            .env("GITHUB_ACTIONS", "true")
            .env("CI", "true")
            .env("GITHUB_EVENT_NAME", &workflow.event)
            .env("GITHUB_EVENT_PATH", &event_path)
            .env("GITHUB_WORKSPACE", job.workspace())
            .env("GITHUB_OUTPUT", path("output"))
            .env("GITHUB_STEP_SUMMARY", path("summary.md"))
            .env("GITHUB_RUN_ID", "4711")
            .env("GITHUB_RUN_ATTEMPT", "1")
            .env("RUNNER_TEMP", path("temp"))
            .env("TMPDIR", path("temp"))
            .env("OPENCODE_REVIEWER_TIME_SCALE", "0.001")
            .envs(self.github.environment());
        for input in INPUTS {
            let value = workflow.inputs.get(input.name).map_or("", String::as_str);
            command.env(format!("INPUT_{}", input.name.to_uppercase()), value);
        }
        command.envs(&workflow.variables);
        command
    }

    pub fn spawn(&self, workflow: &Workflow, arguments: &[&str]) -> Ran {
        self.ended(self.command(workflow, arguments))
    }

    /// The action as another command, made from the usual one.
    pub fn run_with(&self, workflow: &Workflow, other: impl FnOnce(Command) -> Command) -> Ran {
        self.ended(other(self.command(workflow, &["action"])))
    }

    /// The action, whose process is told as soon as there is one.
    pub fn run_watched(&self, workflow: &Workflow, tell: impl FnOnce(u32)) -> Ran {
        told(&self.job, self.command(workflow, &["action"]), tell)
    }

    /// The action as a job of its own, beside the usual one.
    pub fn run_beside(&self, job: &Job, workflow: &Workflow) -> Ran {
        told(job, self.command_of(job, workflow, &["action"]), |_| {})
    }

    fn ended(&self, command: Command) -> Ran {
        told(&self.job, command, |_| {})
    }

    /// The same, with every line of the log told as it comes.
    pub fn watch(
        &self,
        workflow: &Workflow,
        arguments: &[&str],
        mut tell: impl FnMut(&str),
    ) -> Ran {
        self.job.empty_files();
        let mut command = self.command(workflow, arguments);
        let secrets = secrets(&command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let (sender, lines) = std::sync::mpsc::channel();
        let errors = sender.clone();
        let (out, err) = (child.stdout.take(), child.stderr.take());
        std::thread::spawn(move || send_lines(out.expect("piped"), &sender));
        std::thread::spawn(move || send_lines(err.expect("piped"), &errors));
        let mut log = String::new();
        for line in lines {
            tell(&line);
            log.push_str(&line);
            log.push('\n');
        }
        let status = child.wait().expect("the binary ends");
        self.job.ran(status.code(), log, &secrets)
    }

    pub fn workspace(&self) -> PathBuf {
        self.job.workspace()
    }

    /// Where runs have their temporary folders.
    pub fn temporary(&self) -> PathBuf {
        self.job.temporary()
    }

    /// Starts a run without waiting for its end; what it says is not kept.
    pub fn start(&self, workflow: &Workflow) -> Child {
        let mut command = self.command(workflow, &["action"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the binary starts")
    }

    /// What the run left in its temporary folder: it should be nothing.
    pub fn left_over(&self) -> Vec<PathBuf> {
        self.job.left_over()
    }

    /// Ends the scenario: no write that was not expected, no request that GitHub would refuse to understand,
    /// nothing left behind.
    pub fn finish(self) {
        assert_eq!(self.left_over(), Vec::<PathBuf>::new());
        self.github.finish();
    }
}

/// Runs a command to its end, and tells its process as soon as there is one.
fn told(job: &Job, mut command: Command, tell: impl FnOnce(u32)) -> Ran {
    job.empty_files();
    let secrets = secrets(&command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the binary starts");
    tell(child.id());
    let output = child.wait_with_output().expect("the binary ends");
    let log = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    job.ran(output.status.code(), log, &secrets)
}

/// A command of the runner without what only a runner gives.
pub fn outside_runner(usual: &Command, world: &World) -> Command {
    let kept = [
        "PATH",
        "HOME",
        "TMPDIR",
        "OPENCODE_BIN",
        "OPENCODE_REVIEWER_TIME_SCALE",
    ];
    let kept = usual
        .get_envs()
        .filter(|(name, _)| kept.iter().any(|kept| name == kept));
    let kept = kept.filter_map(|(name, value)| Some((name, value?)));
    let mut command = Command::new(usual.get_program());
    command
        .args(usual.get_args())
        .env_clear()
        .envs(kept)
        .envs(world.github.environment())
        .env_remove("GITHUB_REPOSITORY");
    command
}

/// The same command, started by a program that takes an argument and then the command.
pub fn through(program: &Path, argument: impl AsRef<OsStr>, command: &Command) -> Command {
    let variables = command.get_envs();
    let mut wrapped = Command::new(program);
    wrapped
        .arg(argument)
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(variables.filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null());
    wrapped
}

/// A temporary folder that every user may pass through, as the runner's are.
pub fn open_folder() -> TempDir {
    tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o755))
        .tempdir()
        .expect("a temporary folder")
}

/// What a run is given as inputs, or from a shell in place of two of them: nothing else is ever masked.
fn secrets(command: &Command) -> Vec<String> {
    let inputs = command.get_envs().filter_map(|(name, value)| {
        let name = name.to_str()?;
        let shell = ["GITHUB_TOKEN", "OPENCODE_API_KEY"];
        let given = name.starts_with("INPUT_") || shell.contains(&name);
        given.then(|| value?.to_str()).flatten()
    });
    inputs
        .flat_map(|value| value.split([',', '\n']))
        .flat_map(|line| [Some(line), line.split_once('=').map(|(_, key)| key)])
        .flatten()
        .map(str::to_owned)
        .collect()
}

fn binary() -> PathBuf {
    option_env!("CARGO_BIN_EXE_opencode-reviewer").map_or_else(
        || PathBuf::from(std::env::var_os("OPENCODE_REVIEWER_BIN").expect("OPENCODE_REVIEWER_BIN")),
        PathBuf::from,
    )
}

fn send_lines(pipe: impl Read, sender: &Sender<String>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while let Ok(1..) = pipe.read_until(b'\n', &mut line) {
        let text = String::from_utf8_lossy(&line);
        // Nobody listens any more once the test has failed.
        let _gone = sender.send(text.trim_end_matches('\n').to_owned());
        line.clear();
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// `name<<delimiter`, the value, the delimiter.
fn outputs(file: &str) -> HashMap<String, String> {
    let mut outputs = HashMap::new();
    let mut lines = file.lines();
    while let Some((name, delimiter)) = lines.next().and_then(|line| line.split_once("<<")) {
        let value: Vec<&str> = lines
            .by_ref()
            .take_while(|line| *line != delimiter)
            .collect();
        outputs.insert(name.to_owned(), value.join("\n"));
    }
    outputs
}
