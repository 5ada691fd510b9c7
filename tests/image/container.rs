//! A container of the image as GitHub's runner starts it (actions/runner, ContainerActionHandler): its five folders, its
//! environment, its working directory. Separate from the scenarios, because it is what they have in common.

use super::runc;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The user who runs jobs on GitHub's machines, and owns the workspace.
const RUNNER: u32 = 1001;

/// The image, and what starts it.
pub struct Image {
    pub name: String,
    /// `User`, `Entrypoint` and the like.
    pub config: Value,
    /// Its unpacked files, where no engine runs.
    pub root: Option<PathBuf>,
}

impl Image {
    pub fn from_environment() -> Self {
        let given = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let config = given("IMAGE_CONFIG").expect("IMAGE_CONFIG; run `make image-test`");
        Self {
            name: given("IMAGE").expect("IMAGE"),
            config: serde_json::from_str(&config).expect("the configuration of the image"),
            root: given("IMAGE_ROOT").map(PathBuf::from),
        }
    }

    /// No scratch folder outlives its run. With an engine, the container is gone together with it.
    pub fn has_nothing_left(&self) {
        let Some(root) = &self.root else { return };
        let left: Vec<PathBuf> = fs::read_dir(root.join("tmp"))
            .expect("the temporary folder")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

/// One that is about to start.
pub struct Container {
    name: String,
    engine: Engine,
    /// The folders that the runner makes for a container.
    folders: TempDir,
}

enum Engine {
    Docker,
    Runc,
}

impl Container {
    /// From the command of a run on this machine: the same folders and variables, as the container is to see them.
    pub fn of(image: &Image, command: &Command) -> (Self, Command) {
        let mut variables: BTreeMap<String, String> = command
            .get_envs()
            .filter_map(|(name, value)| {
                Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned()))
            })
            .collect();
        // The image has its own, and no runner sets a folder for temporary files.
        for name in ["PATH", "OPENCODE_BIN", "TMPDIR"] {
            variables.remove(name);
        }
        let folders = tempfile::tempdir().expect("a temporary folder");
        let mounts = mounts(folders.path(), &mut variables);
        let container = Self {
            name: format!("image-test-{}", std::process::id()),
            engine: image.root.as_ref().map_or(Engine::Docker, |_| Engine::Runc),
            folders,
        };
        let start = match &image.root {
            None => docker(&container.name, image, &mounts, &variables),
            Some(root) => {
                let bundle = container.folders.path().join("bundle");
                runc::bundle(&bundle, root, &image.config, &mounts, &variables);
                let mut start = runc(&container.folders);
                start.arg("run").arg("--bundle").arg(bundle);
                start.arg(&container.name);
                // Not for runc, which has them in the bundle: the log is judged by what the run was given.
                start.envs(&variables);
                start
            }
        };
        (container, start)
    }

    /// SIGTERM, and SIGKILL to whoever is still there ten seconds later.
    pub fn stop(&self) {
        match self.engine {
            Engine::Docker => quiet(Command::new("docker").args(["stop", &self.name])),
            Engine::Runc => {
                quiet(runc(&self.folders).args(["kill", &self.name, "TERM"]));
                for _ in 0..100 {
                    std::thread::sleep(std::time::Duration::from_millis(100));
                    if !self.folders.path().join("runc").join(&self.name).exists() {
                        return;
                    }
                }
                quiet(runc(&self.folders).args(["kill", &self.name, "KILL"]));
            }
        }
    }
}

fn quiet(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status();
    assert!(status.expect("it starts").success(), "{command:?}");
}

fn runc(folders: &TempDir) -> Command {
    let mut command = Command::new("runc");
    command.arg("--root").arg(folders.path().join("runc"));
    command
}

/// What the runner mounts, from where; and the variables that say where it is.
fn mounts(
    folders: &Path,
    variables: &mut BTreeMap<String, String>,
) -> Vec<(PathBuf, &'static str)> {
    let mut mounts = Vec::new();
    for (variable, inside) in [
        ("GITHUB_WORKSPACE", "/github/workspace"),
        ("HOME", "/github/home"),
        ("RUNNER_TEMP", "/github/runner_temp"),
    ] {
        let outside = variables.insert(variable.into(), inside.into());
        mounts.push((PathBuf::from(outside.expect(variable)), inside));
    }
    for (variable, folder, file) in [
        ("GITHUB_EVENT_PATH", "workflow", "event.json"),
        ("GITHUB_OUTPUT", "file_commands", "set_output_4711"),
        ("GITHUB_STEP_SUMMARY", "file_commands", "step_summary_4711"),
    ] {
        let inside = format!("/github/{folder}/{file}");
        let outside = variables.insert(variable.into(), inside).expect(variable);
        let there = folders.join(folder);
        fs::create_dir_all(&there).expect("a folder");
        // The same file under a second name, so that what is written to it is found where it always is.
        let _there_or_made = File::options().append(true).create(true).open(&outside);
        fs::hard_link(&outside, there.join(file)).expect("a second name");
    }
    mounts.push((folders.join("workflow"), "/github/workflow"));
    mounts.push((folders.join("file_commands"), "/github/file_commands"));
    check_out(&mounts[0].0);
    for (outside, _) in &mounts {
        own(outside);
    }
    mounts
}

/// A workspace is rarely empty: here a step before ours has made a repository.
fn check_out(workspace: &Path) {
    let mut git = Command::new("git");
    quiet(git.args(["init", "--quiet"]).arg(workspace));
}

/// Everything in it belongs to the runner's user; or to us, where we are not the superuser, and so not root either.
fn own(path: &Path) {
    let _not_permitted = chown(path, Some(RUNNER), Some(RUNNER));
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            own(&entry.expect("an entry").path());
        }
    }
}

/// Like the runner, but with the network of this machine, where the stand-ins are.
fn docker(
    name: &str,
    image: &Image,
    mounts: &[(PathBuf, &str)],
    variables: &BTreeMap<String, String>,
) -> Command {
    let mut command = Command::new("docker");
    command
        .args(["run", "--name", name, "--rm", "--network", "host"])
        .args(["--workdir", "/github/workspace"])
        .args(["-v", "/var/run/docker.sock:/var/run/docker.sock"])
        .envs(variables)
        .stdin(Stdio::null());
    // Where Docker's own client is told to look is not for the container.
    command.env("HOME", std::env::var_os("HOME").unwrap_or_default());
    command.args(["-e", "HOME=/github/home"]);
    for variable in variables.keys().filter(|name| *name != "HOME") {
        command.args(["-e", variable]);
    }
    for (outside, inside) in mounts {
        command.arg("-v");
        command.arg(format!("{}:{inside}", outside.display()));
    }
    command.arg(&image.name);
    command
}
