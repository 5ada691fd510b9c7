//! The SQL engine as a subject: SQLite in a folder, PostgreSQL on a server of its own.

use crate::node::EngineNode;
use crate::server::Server;
use crate::subject::Subject;
use reviewer_engine::Limits;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// SQLite files in a folder.
#[derive(Debug)]
pub(crate) struct Sqlite {
    folder: TempDir,
    stores: AtomicU32,
}

impl Subject for Sqlite {
    const NAME: &'static str = "sqlite";
    const FENCES: Option<&'static str> = Some("a store has one process");
    const SHARED: bool = false;
    const FRONTS: Option<&'static str> = Some("a store has one process");
    const SERVER: bool = false;
    const TABLES: bool = true;
    type Node = EngineNode;

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

    async fn open(store: &str, limits: Limits) -> EngineNode {
        EngineNode::open(store, limits).await
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
    const FENCES: Option<&'static str> = None;
    const SHARED: bool = true;
    const FRONTS: Option<&'static str> = None;
    const SERVER: bool = true;
    const TABLES: bool = true;
    type Node = EngineNode;

    async fn start() -> Result<Self, String> {
        Ok(Self(Server::start().await?))
    }

    async fn empty(&self) -> String {
        self.0.empty().await
    }

    async fn open(store: &str, limits: Limits) -> EngineNode {
        EngineNode::open(store, limits).await
    }

    async fn kill_server(&self) {
        self.0.down();
        self.0.up().await;
    }
}
