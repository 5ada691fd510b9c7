//! A connection for one task of the engine, with or without a transaction. Every statement passes through here, so that
//! it is counted, and so that tests can end the process before it.

use crate::clock::Clock;
use crate::dialect::Dialect;
use crate::error::Result;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AnyPool, AssertSqlSafe, Row, Transaction};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A statement with its values.
pub(crate) type Statement<'q> = Query<'q, Any, AnyArguments>;

/// Statements and durable commits since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// With BEGIN and COMMIT.
    pub statements: u64,
    pub commits: u64,
}

/// Called at every place where the process could end: before each statement, after each commit, around each effect.
#[cfg(test)]
pub(crate) static BOUNDARY: std::sync::OnceLock<fn()> = std::sync::OnceLock::new();

/// Watches all sessions of a store.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    statements: AtomicU64,
    commits: AtomicU64,
}

impl Probe {
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            statements: self.statements.load(Ordering::Relaxed),
            commits: self.commits.load(Ordering::Relaxed),
        }
    }

    fn statement(&self) {
        self.statements.fetch_add(1, Ordering::Relaxed);
        boundary();
    }

    fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        boundary();
    }
}

/// A place where a test can end the process.
pub(crate) fn boundary() {
    #[cfg(test)]
    if let Some(call) = BOUNDARY.get() {
        call();
    }
}

/// A connection of the pool. Dropped without `commit`, a transaction is rolled back.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) dialect: &'static Dialect,
    handle: Handle,
    probe: Arc<Probe>,
}

#[derive(Debug)]
enum Handle {
    /// Each statement is a commit of its own.
    Single(PoolConnection<Any>),
    Transaction(Transaction<'static, Any>),
}

impl Session {
    pub(crate) async fn single(
        pool: &AnyPool,
        probe: &Arc<Probe>,
        dialect: &'static Dialect,
    ) -> Result<Self> {
        Ok(Self {
            dialect,
            handle: Handle::Single(pool.acquire().await?),
            probe: Arc::clone(probe),
        })
    }

    pub(crate) async fn transaction(
        pool: &AnyPool,
        probe: &Arc<Probe>,
        dialect: &'static Dialect,
    ) -> Result<Self> {
        probe.statement();
        Ok(Self {
            dialect,
            handle: Handle::Transaction(pool.begin_with(dialect.begin).await?),
            probe: Arc::clone(probe),
        })
    }

    fn connection(&mut self) -> &mut AnyConnection {
        match &mut self.handle {
            Handle::Single(connection) => connection,
            Handle::Transaction(transaction) => transaction,
        }
    }

    /// The time by which `due` is judged.
    pub(crate) async fn now(&mut self, clock: &dyn Clock) -> Result<i64> {
        let Some(question) = self.dialect.time else {
            return Ok(clock.now_ms());
        };
        match self.optional(sqlx::query(question)).await? {
            Some(row) => Ok(row.try_get("now")?),
            None => Ok(clock.now_ms()),
        }
    }

    /// Executes a statement; the number of rows that it changed.
    pub(crate) async fn execute(&mut self, statement: Statement<'_>) -> Result<u64> {
        self.probe.statement();
        let done = statement.execute(self.connection()).await?;
        if done.rows_affected() > 0 {
            self.changed();
        }
        Ok(done.rows_affected())
    }

    /// Several statements without values.
    pub(crate) async fn script(&mut self, statements: &'static str) -> Result<()> {
        self.probe.statement();
        let statements = AssertSqlSafe(self.dialect.schema(statements).into_owned());
        sqlx::raw_sql(statements).execute(self.connection()).await?;
        Ok(())
    }

    pub(crate) async fn optional(&mut self, statement: Statement<'_>) -> Result<Option<AnyRow>> {
        Ok(self.all(statement).await?.into_iter().next())
    }

    pub(crate) async fn all(&mut self, statement: Statement<'_>) -> Result<Vec<AnyRow>> {
        self.probe.statement();
        Ok(statement.fetch_all(self.connection()).await?)
    }

    /// The rows that a changing statement returns.
    pub(crate) async fn changed_rows(&mut self, statement: Statement<'_>) -> Result<Vec<AnyRow>> {
        let rows = self.all(statement).await?;
        if !rows.is_empty() {
            self.changed();
        }
        Ok(rows)
    }

    fn changed(&self) {
        if matches!(self.handle, Handle::Single(_)) {
            self.probe.committed();
        }
    }

    pub(crate) async fn commit(self) -> Result<()> {
        if let Handle::Transaction(transaction) = self.handle {
            self.probe.statement();
            transaction.commit().await?;
            self.probe.committed();
        }
        Ok(())
    }
}
