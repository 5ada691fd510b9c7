//! What many would pick instead: PR-Agent, as its own action starts it, with `/review` and `/improve`. Its settings are
//! its defaults, but for where GitHub and the model are and what a push starts.

use super::course::Course;
use super::measure::Measured;
use super::standin::github::GitHub;
use super::standin::world::{KEY, World};
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

pub mod answers;

/// An environment of Python with PR-Agent in it.
#[derive(Debug)]
pub struct PrAgent {
    python: PathBuf,
    pub version: String,
    /// Tables of tokens that come with one of its packages; it would fetch them.
    tokenizers: PathBuf,
}

const LOOK: &str = "import importlib.metadata, litellm.litellm_core_utils as core
print(importlib.metadata.version('pr-agent'))
print(core.__path__[0])";

impl PrAgent {
    /// Where `make bench` has installed it.
    pub fn installed() -> Result<Option<Self>> {
        let Some(python) = std::env::var_os("PR_AGENT_PYTHON").map(PathBuf::from) else {
            return Ok(None);
        };
        let looked = Command::new(&python)
            .args(["-c", LOOK])
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .output()
            .with_context(|| format!("{} does not start", python.display()))?;
        let said = String::from_utf8_lossy(&looked.stdout);
        let mut lines = said.lines().rev();
        let (folder, version) = (lines.next(), lines.next());
        let (Some(folder), Some(version)) = (folder, version) else {
            let errors = String::from_utf8_lossy(&looked.stderr);
            anyhow::bail!("{} knows no PR-Agent:\n{errors}", python.display());
        };
        Ok(Some(Self {
            tokenizers: Path::new(folder).join("tokenizers"),
            version: version.to_owned(),
            python,
        }))
    }

    /// One run of its action.
    pub fn run(&self, course: &Course, event: &Value) -> Result<Measured> {
        let folder = TempDir::new()?;
        let event_path = folder.path().join("event.json");
        std::fs::write(&event_path, event.to_string())?;
        let mut log = tempfile::tempfile()?;
        let mut command = self.command(&course.world, folder.path());
        command.env("GITHUB_EVENT_PATH", &event_path);
        command.stdout(log.try_clone()?).stderr(log.try_clone()?);
        let (measured, status) = course.run(command)?;
        let mut said = String::new();
        log.rewind()?;
        log.read_to_string(&mut said)?;
        let asked = status.success() && !measured.requests.is_empty();
        ensure!(asked, "PR-Agent failed:\n{said}");
        let violations = course.world.github.take_violations();
        ensure!(
            violations.is_empty(),
            "GitHub would not have understood: {violations:#?}"
        );
        Ok(measured)
    }

    fn command(&self, world: &World, folder: &Path) -> Command {
        let mut command = Command::new(&self.python);
        command
            .args(["-m", "pr_agent.servers.github_action_runner"])
            .current_dir(folder)
            .env_clear()
            .stdin(Stdio::null())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder)
            .env("GITHUB_ACTIONS", "true")
            .env("CI", "true")
            .env("GITHUB_EVENT_NAME", "pull_request")
            .env("GITHUB_RUN_ID", "4711")
            .env("GITHUB_OUTPUT", folder.join("output"))
            .env("GITHUB_WORKSPACE", folder)
            .env("GITHUB_TOKEN", GitHub::TOKEN)
            .env("OPENAI_KEY", KEY)
            .envs(world.github.environment());
        let api = format!("{}/api/v3", world.github.url());
        let settings = [
            ("GITHUB.BASE_URL", api.as_str()),
            ("OPENAI.API_BASE", world.model.url()),
            ("CONFIG.MODEL", "gpt-4o"),
            ("CONFIG.FALLBACK_MODELS", "[]"),
            ("GITHUB_ACTION_CONFIG.AUTO_DESCRIBE", "false"),
            ("GITHUB_ACTION_CONFIG.HANDLE_PUSH_TRIGGER", "true"),
            (
                "GITHUB_ACTION_CONFIG.PUSH_COMMANDS",
                r#"["/review", "/improve"]"#,
            ),
            // Nothing is to be fetched from elsewhere: it would only wait for what is not reachable.
            ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ];
        command
            .envs(settings)
            .env("TIKTOKEN_CACHE_DIR", &self.tokenizers);
        command
    }
}
