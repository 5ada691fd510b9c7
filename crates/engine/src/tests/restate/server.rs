//! A Restate server for one story, on free ports of the loopback, in a folder that is removed in the end.
#![expect(
    clippy::disallowed_methods,
    reason = "starts the server, and reads the variable that names it"
)]

use crate::clock::SystemClock;
pub(super) use crate::tests::ports::free_port;
use crate::tests::toy::{Sum, Toy};
use crate::{Answer, Engine, Limits, Machine, World};
use std::future::Future;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Names the server's executable, or the folder `node_modules` that has it.
const VARIABLE: &str = "ENGINE_TEST_RESTATE";
/// So long nothing takes; a story that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);

pub(super) type Shared<M = Toy> = Arc<Engine<M>>;

/// A server that can be killed and started again.
pub(super) struct Server {
    program: PathBuf,
    child: Mutex<Child>,
    folder: TempDir,
    ingress: u16,
    admin: u16,
    node: u16,
}

/// An engine that executes effects.
pub(super) struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// None, with a sentence, where no server is named.
    pub(super) fn start() -> Option<Self> {
        let Some(program) = program() else {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| {
                eprintln!("Skipped: {VARIABLE} names neither restate-server nor node_modules.");
            });
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let [ingress, admin, node] = [(); 3].map(|()| free_port());
        Some(Self {
            child: Mutex::new(spawn(&program, &folder, [ingress, admin, node])),
            program,
            folder,
            ingress,
            admin,
            node,
        })
    }

    /// The store for a process that listens on this port.
    pub(super) fn store(&self, listen: u16) -> String {
        let (ingress, admin) = (self.ingress, self.admin);
        format!(
            "restate://127.0.0.1:{ingress}?admin=http://127.0.0.1:{admin}&listen=127.0.0.1:{listen}"
        )
    }

    /// The store for a process that only sends.
    pub(super) fn store_without_endpoint(&self) -> String {
        let (ingress, admin) = (self.ingress, self.admin);
        format!("restate://127.0.0.1:{ingress}?admin=http://127.0.0.1:{admin}&listen=none")
    }

    pub(super) async fn open(&self) -> Shared {
        open(&self.store(free_port()), Toy, limits()).await
    }

    /// The number of versions that the server can call.
    pub(super) async fn deployments(&self) -> usize {
        let asked = client().get(format!("http://127.0.0.1:{}/deployments", self.admin));
        let told: serde_json::Value = asked.send().await.unwrap().json().await.unwrap();
        told["deployments"].as_array().unwrap().len()
    }

    /// Calls a handler as a stranger would; the status of the answer.
    pub(super) async fn post(&self, path: &str, body: &serde_json::Value) -> u16 {
        let request = client().post(format!("http://127.0.0.1:{}/{path}", self.ingress));
        request.json(body).send().await.unwrap().status().as_u16()
    }

    /// The failed attempts of calls that go on.
    pub(super) async fn retries(&self) -> u64 {
        self.calls("last_failure <> ''").await
    }

    /// The calls that execute effects and hold a connection.
    pub(super) async fn running_effects(&self) -> u64 {
        let condition =
            "target_handler_name = 'execute' AND status NOT IN ('suspended', 'completed')";
        self.calls(condition).await
    }

    /// The calls of a handler that the server knows, those that have ended, too.
    pub(super) async fn known_calls(&self, handler: &str) -> u64 {
        self.calls(&format!("target_handler_name = '{handler}'"))
            .await
    }

    async fn calls(&self, condition: &str) -> u64 {
        let question = format!("SELECT COUNT(*) AS calls FROM sys_invocation WHERE {condition}");
        let asked = client()
            .post(format!("http://127.0.0.1:{}/query", self.admin))
            .header("accept", "application/json")
            .json(&serde_json::json!({ "query": question }))
            .send();
        let told: serde_json::Value = asked.await.unwrap().json().await.unwrap();
        told["rows"][0]["calls"].as_u64().unwrap()
    }

    pub(super) fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(super) fn restart(&self) {
        let ports = [self.ingress, self.admin, self.node];
        *self.child.lock().unwrap() = spawn(&self.program, &self.folder, ports);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A client whose requests end.
fn client() -> reqwest::Client {
    let client = reqwest::Client::builder().timeout(PATIENCE);
    client.build().unwrap()
}

fn program() -> Option<PathBuf> {
    let named = PathBuf::from(std::env::var_os(VARIABLE)?);
    if named.is_file() {
        return Some(named);
    }
    let platform = match std::env::consts::ARCH {
        "aarch64" => "linux-arm64",
        _ => "linux-x64",
    };
    let package = format!("@restatedev/restate-server-{platform}/bin/restate-server");
    let program = named.join(package);
    assert!(program.is_file(), "{VARIABLE} names {}", named.display());
    Some(program)
}

fn spawn(program: &PathBuf, folder: &TempDir, [ingress, admin, node]: [u16; 3]) -> Child {
    Command::new(program)
        .args([
            "--no-logo",
            "--listen-mode",
            "tcp",
            "--bind-ip",
            "127.0.0.1",
        ])
        .args(["--advertised-host", "127.0.0.1", "--node-name", "test"])
        .args(["--bind-port", &node.to_string()])
        .arg("--base-dir")
        .arg(folder.path())
        .env("RESTATE_INGRESS__BIND_PORT", ingress.to_string())
        .env("RESTATE_ADMIN__BIND_PORT", admin.to_string())
        .env("RESTATE_DEFAULT_NUM_PARTITIONS", "2")
        .env("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "256 MB")
        .env("RESTATE_LOG_FILTER", "warn")
        .env("RESTATE_DISABLE_TELEMETRY", "true")
        .env("DO_NOT_TRACK", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub(super) fn limits() -> Limits {
    Limits {
        backoff_ms: 20,
        longest_backoff_ms: 200,
        grace_ms: 100,
        ..Limits::default()
    }
}

pub(super) async fn open<M: Machine>(store: &str, machine: M, limits: Limits) -> Shared<M> {
    let clock = Arc::new(SystemClock::default());
    Arc::new(Engine::open(store, machine, limits, clock).await.unwrap())
}

impl Running {
    pub(super) fn start<M: Machine, W: World<M>>(engine: &Shared<M>, world: &Arc<W>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let stopped = async { stopped.await.unwrap_or(()) };
        let task = tokio::spawn(engine.run(Arc::clone(world), stopped));
        Self { stop, task }
    }

    pub(super) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }
}

/// Stops and closes an engine, so that its address is free.
pub(super) async fn close<M: Machine>(engine: Shared<M>, running: Running) {
    running.stop().await;
    Arc::into_inner(engine).unwrap().close().await;
}

pub(super) async fn deliver<M: Machine>(
    engine: &Shared<M>,
    key: &str,
    id: &str,
    input: M::Input,
) -> Answer<M::State> {
    engine.deliver(key, id, &input).await.unwrap()
}

pub(super) async fn state<M: Machine<State = Sum>>(engine: &Shared<M>, key: &str) -> Sum {
    let status = engine.status(key).await.unwrap();
    status.map(|status| status.state).unwrap_or_default()
}

/// Asks until the answer is yes.
pub(super) async fn until<F: Future<Output = bool>>(what: &str, mut ask: impl FnMut() -> F) {
    let end = Instant::now() + PATIENCE;
    while !ask().await {
        assert!(Instant::now() < end, "waited too long: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until a key has seen so many inputs.
pub(super) async fn seen<M: Machine<State = Sum>>(engine: &Shared<M>, key: &str, count: usize) {
    let what = format!("{count} inputs of {key}");
    until(&what, async || state(engine, key).await.seen.len() >= count).await;
}
