//! Restate as a subject: a server for each store, from the npm package that tests/engines pins, because a server has one
//! service of ours. They listen on loopback, and end with the process that started them, however that ends.

use crate::node::EngineNode;
use crate::server::{GUARD, end, module};
use crate::subject::Subject;
use reviewer_engine::Limits;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard};
use tempfile::TempDir;

/// The server listens on three ports, a worker on the fourth.
const PORTS: usize = 4;
/// Below the ports that connections get, so that none takes one while a server is dead.
const FIRST_PORT: u16 = 20_000;
/// Each process has a block of ports, and its neighbours have others.
const BLOCKS: u32 = 120;
const BLOCK: u16 = 100;

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
    /// The server notices a dead connection after a minute. Until then its calls wait, and so does a worker that registers
    /// itself beside a frozen one, whose address it shares.
    const FENCES: Option<&'static str> = Some("no leases: calls wait for a frozen process");
    const SHARED: bool = true;
    const SERVER: bool = true;
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
        let (folder, ports) = (tempfile::tempdir().unwrap(), free_ports());
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
        .env("RESTATE_LOG_FILTER", "warn")
        .env("RESTATE_DISABLE_TELEMETRY", "true")
        .env("DO_NOT_TRACK", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().unwrap()
}

fn free_ports() -> [u16; PORTS] {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let block = u16::try_from(std::process::id() % BLOCKS).unwrap();
    let first = FIRST_PORT + block * BLOCK;
    let mut free = std::iter::from_fn(|| {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % BLOCK;
        Some((TcpListener::bind(("127.0.0.1", port)), port))
    });
    [(); PORTS].map(|()| free.find(|(bound, _)| bound.is_ok()).unwrap().1)
}
