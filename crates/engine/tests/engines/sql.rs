//! The SQL engine as a subject: SQLite in a folder, PostgreSQL on a server of its own.

use crate::diary::Diary;
use crate::server::Server;
use crate::subject::{Node, Subject, Work};
use crate::toy::{Input, Sum, Toy};
use reviewer_engine::clock::SystemClock;
use reviewer_engine::{Engine, Limits};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// SQLite files in a folder.
#[derive(Debug)]
pub(crate) struct Sqlite {
    folder: TempDir,
    stores: AtomicU32,
}

impl Subject for Sqlite {
    const NAME: &'static str = "sqlite";
    const SHARED: bool = false;
    const SERVER: bool = false;
    type Node = SqlNode;

    async fn start() -> Result<Self, String> {
        Ok(Self {
            folder: tempfile::tempdir().unwrap(),
            stores: AtomicU32::new(0),
        })
    }

    async fn empty(&self) -> String {
        let name = format!("store{}.db", self.stores.fetch_add(1, Ordering::Relaxed));
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    async fn open(store: &str, limits: Limits) -> SqlNode {
        SqlNode::open(store, limits).await
    }

    async fn kill_server(&self) {
        unreachable!("a file has no server");
    }
}

/// Databases on a PostgreSQL server.
#[derive(Debug)]
pub(crate) struct Postgres(Server);

impl Subject for Postgres {
    const NAME: &'static str = "postgres";
    const SHARED: bool = true;
    const SERVER: bool = true;
    type Node = SqlNode;

    async fn start() -> Result<Self, String> {
        Ok(Self(Server::start().await?))
    }

    async fn empty(&self) -> String {
        self.0.empty().await
    }

    async fn open(store: &str, limits: Limits) -> SqlNode {
        SqlNode::open(store, limits).await
    }

    async fn kill_server(&self) {
        self.0.down();
        self.0.up().await;
    }
}

/// An engine on an SQL store.
#[derive(Debug)]
pub(crate) struct SqlNode(Arc<Engine<Toy>>);

impl SqlNode {
    async fn open(store: &str, limits: Limits) -> Self {
        let clock = Arc::new(SystemClock::default());
        let opened = Engine::open(store, Toy, limits, clock).await;
        Self(Arc::new(opened.unwrap()))
    }
}

impl Node for SqlNode {
    async fn deliver(&self, key: &str, id: &str, input: &Input) -> Result<bool, String> {
        let answer = self.0.deliver(key, id, input).await;
        answer
            .map(|answer| answer.duplicate)
            .map_err(|error| error.to_string())
    }

    async fn state(&self, key: &str) -> Result<Option<(i64, Sum)>, String> {
        let status = self.0.status(key).await;
        let status = status.map_err(|error| error.to_string())?;
        let replayed = self.0.replay(key).await;
        let replayed = replayed.map_err(|error| error.to_string())?;
        let Some(status) = status else {
            return Ok(None);
        };
        // Nobody delivers meanwhile, or the two could differ.
        assert_eq!(replayed.as_ref(), Some(&status.state), "{key} replayed");
        Ok(Some((status.version, status.state)))
    }

    async fn waiting(&self) -> Result<i64, String> {
        let backlog = self.0.backlog().await;
        let backlog = backlog.map_err(|error| error.to_string())?;
        Ok(backlog.effects + backlog.timers)
    }

    fn work(&self, world: Arc<Diary>) -> Work {
        let (stop, stopped) = oneshot::channel();
        let stopped = async { stopped.await.unwrap_or(()) };
        let task = tokio::spawn(self.0.run(world, stopped));
        Work { stop, task }
    }

    async fn close(self) {
        let mut engine = self.0;
        loop {
            match Arc::try_unwrap(engine) {
                Ok(engine) => return engine.close().await,
                Err(shared) => engine = shared,
            }
            tokio::task::yield_now().await;
        }
    }
}
