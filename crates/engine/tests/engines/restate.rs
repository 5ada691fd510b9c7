//! Restate as a subject: a server for each store, from the npm package that tests/engines pins, because a server has one
//! service of ours. They listen on loopback, and end with the process that started them, however that ends.

use crate::node::EngineNode;
use crate::ports::free_port;
use crate::server::{GUARD, end, module};
use crate::subject::Subject;
use reviewer_engine::Limits;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use tempfile::TempDir;

/// The server listens on three ports, a worker on the fourth.
const PORTS: usize = 4;

/// Restate servers.
#[derive(Debug)]
pub(crate) struct Restate {
    program: PathBuf,
    servers: Mutex<Vec<Server>>,
}

/// A server that runs.
#[derive(Debug)]
struct Server {
    folder: TempDir,
    ports: [u16; PORTS],
    guard: Child,
}

impl Subject for Restate {
    const NAME: &'static str = "restate";
    const FENCES: Option<&'static str> = None;
    const SHARED: bool = true;
    const FRONTS: Option<&'static str> = None;
    const SERVER: bool = true;
    const TABLES: bool = false;
    type Node = EngineNode;

    async fn start() -> Result<Self, String> {
        let program = module("@restatedev/restate-server-").join("bin/restate-server");
        if !program.is_file() {
            return Err(format!(
                "{} is missing; `make engine-test` installs it",
                program.display()
            ));
        }
        Ok(Self {
            program,
            servers: Mutex::default(),
        })
    }

    /// The engine waits until the server answers.
    async fn empty(&self) -> String {
        let (folder, ports) = (
            tempfile::tempdir().unwrap(),
            [(); PORTS].map(|()| free_port()),
        );
        let server = Server {
            guard: launch(&self.program, folder.path(), ports),
            folder,
            ports,
        };
        let store = server.store();
        self.servers().push(server);
        store
    }

    async fn open(store: &str, limits: Limits) -> EngineNode {
        EngineNode::open(store, limits).await
    }

    /// The server calls whoever listens, so a process that executes nothing must not.
    fn front(store: &str) -> String {
        let (server, _) = store.split_once("&listen=").unwrap();
        format!("{server}&listen=none")
    }

    async fn kill_server(&self) {
        for server in self.servers().iter_mut() {
            end(&mut server.guard);
            server.guard = launch(&self.program, server.folder.path(), server.ports);
        }
    }

    async fn remove(&self, store: &str) {
        self.servers().retain(|server| server.store() != store);
    }
}

impl Restate {
    fn servers(&self) -> MutexGuard<'_, Vec<Server>> {
        self.servers.lock().unwrap()
    }
}

impl Server {
    /// The address of its store.
    fn store(&self) -> String {
        let [ingress, admin, _, listen] = self.ports;
        format!(
            "restate://127.0.0.1:{ingress}?admin=http://127.0.0.1:{admin}&listen=127.0.0.1:{listen}"
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.guard);
    }
}

fn launch(program: &Path, folder: &Path, [ingress, admin, node, _]: [u16; PORTS]) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "guard"]).arg(program);
    command.args(["--no-logo", "--node-name", "test"]);
    command.args(["--listen-mode", "tcp", "--bind-ip", "127.0.0.1"]);
    command.args(["--advertised-host", "127.0.0.1"]);
    command.args(["--bind-port", &node.to_string(), "--base-dir"]);
    command.arg(folder.join("data"));
    command
        .env("LOG", folder.join("server.log"))
        .env("RESTATE_INGRESS__BIND_PORT", ingress.to_string())
        .env("RESTATE_ADMIN__BIND_PORT", admin.to_string())
        .env("RESTATE_DEFAULT_NUM_PARTITIONS", "2")
        .env("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "256 MB")
        // A frozen process is noticed after seconds; the server's own number is a minute.
        .env("RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL", "2s")
        .env("RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT", "6s")
        .env("RESTATE_LOG_FILTER", "warn")
        .env("RESTATE_DISABLE_TELEMETRY", "true")
        .env("DO_NOT_TRACK", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().unwrap()
}
