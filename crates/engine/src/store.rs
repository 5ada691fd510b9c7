//! An open store: its connections, at the schema of this version.

use crate::dialect::Dialect;
use crate::error::{EngineError, Result, Trouble};
use crate::location::{Location, ServiceLock};
use crate::migrations::{self, MIGRATIONS, latest};
use crate::session::{Counts, Probe, Session};
use secrecy::ExposeSecret;
use sqlx::any::AnyPoolOptions;
use sqlx::{AnyConnection, AnyPool, Connection, Row as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The tables of the service. A command opens it beside a running service, to change agents and tokens.
#[derive(Debug, Clone)]
pub struct Store {
    pool: AnyPool,
    location: Location,
    probe: Arc<Probe>,
    service: Option<Arc<ServiceLock>>,
    /// The server did not answer, and has not answered since.
    outage: Arc<AtomicBool>,
}

impl Store {
    /// Opens a store for its rows, also while a service uses it.
    pub async fn open(store: &str) -> Result<Self> {
        Self::connect(Location::parse(store)?, None, MIGRATIONS).await
    }

    /// Opens a store for a service. Of a file there is one at a time.
    pub(crate) async fn open_for_service(store: &str) -> Result<Self> {
        let location = Location::parse(store)?;
        let lock = location.lock()?;
        Self::connect(location, Some(lock), MIGRATIONS).await
    }

    pub(crate) async fn connect(
        location: Location,
        lock: Option<ServiceLock>,
        migrations: &[&'static str],
    ) -> Result<Self> {
        sqlx::any::install_default_drivers();
        location.create()?;
        let pool = pool(&location)
            .await
            .map_err(|error| location.explain(error))?;
        let store = Self {
            pool,
            location,
            probe: Arc::default(),
            service: lock.map(Arc::new),
            outage: Arc::default(),
        };
        match store.migrate(migrations).await {
            Err(error) => Err(store.explain(error)),
            Ok(()) => Ok(store),
        }
    }

    async fn migrate(&self, migrations: &[&'static str]) -> Result<()> {
        let known = latest(migrations);
        if self.dialect().single_process {
            let session = self.begin().await?;
            return self.migrate_in(session, migrations).await;
        }
        // Whoever needs no migration needs no right to create tables, and waits for nobody.
        let found = migrations::version(&mut self.session().await?).await?;
        if !self.lacks(found, known)? {
            return Ok(());
        }
        if found == 0 {
            migrations::create_meta(&mut self.session().await?).await?;
        }
        let mut session = self.begin().await?;
        session.script(self.dialect().lock_schema).await?;
        self.migrate_in(session, migrations).await
    }

    /// Migrates in a transaction that keeps others from doing so.
    async fn migrate_in(&self, mut session: Session, migrations: &[&'static str]) -> Result<()> {
        let found = migrations::version(&mut session).await?;
        let known = latest(migrations);
        if !self.lacks(found, known)? {
            return session.commit().await;
        }
        // A command does not change the tables below a running service.
        let _lock = match self.service {
            Some(_) => None,
            None => Some(self.location.lock()?),
        };
        migrations::migrate(&mut session, found, migrations).await?;
        session.commit().await
    }

    /// True if a store of version `found` has to be migrated.
    fn lacks(&self, found: i64, known: i64) -> Result<bool> {
        if found > known {
            return Err(EngineError::Newer {
                store: self.location.name.clone(),
                found,
                known,
            });
        }
        Ok(found < known)
    }

    /// The random name of this store. The numbers of effects begin anew in another one.
    pub async fn id(&self) -> Result<String> {
        let random = reviewer_system::random::hex(6);
        let random = random.map_err(|error| EngineError::NoRandomness(error.to_string()))?;
        let mut session = self.session().await?;
        let insert = sqlx::query(
            "INSERT INTO meta (name, value) VALUES ('store', $1) ON CONFLICT (name) DO NOTHING",
        );
        session.execute(insert.bind(random)).await?;
        let query = sqlx::query("SELECT value FROM meta WHERE name = 'store'");
        let row = session.optional(query).await?;
        let row = row.ok_or(sqlx::Error::RowNotFound)?;
        Ok(row.try_get("value")?)
    }

    /// The name for messages, without a password.
    pub(crate) fn name(&self) -> &str {
        &self.location.name
    }

    /// True if several processes can use the store at the same time.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !self.dialect().single_process
    }

    /// A transaction that writes.
    pub(crate) async fn begin(&self) -> Result<Session> {
        let session = Session::transaction(&self.pool, &self.probe, self.dialect()).await?;
        self.answered();
        Ok(session)
    }

    /// A connection without a transaction.
    pub(crate) async fn session(&self) -> Result<Session> {
        let session = Session::single(&self.pool, &self.probe, self.dialect()).await?;
        self.answered();
        Ok(session)
    }

    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.location.dialect
    }

    pub(crate) fn counts(&self) -> Counts {
        self.probe.counts()
    }

    /// The trouble behind an error, if another attempt may succeed. A file has none that is worth another attempt.
    pub(crate) fn trouble(&self, error: &EngineError) -> Option<Trouble> {
        if self.dialect().single_process {
            return None;
        }
        error.trouble()
    }

    /// The sentence for an error that nobody repairs by another attempt.
    pub(crate) fn explain(&self, error: EngineError) -> EngineError {
        match error {
            EngineError::Sql(error) => self.location.explain(error),
            error => error,
        }
    }

    /// Says once per outage that the server does not answer.
    pub(crate) fn lost(&self, error: &EngineError) {
        if !self.outage.swap(true, Ordering::Relaxed) {
            let name = &self.location.name;
            tracing::warn!(
                "the server of the store {name} does not answer, and is tried again: {error}"
            );
        }
    }

    fn answered(&self) {
        if self.outage.swap(false, Ordering::Relaxed) {
            tracing::info!(
                "the server of the store {} answers again",
                self.location.name
            );
        }
    }

    /// Waits until all connections are closed.
    pub async fn close(self) {
        self.pool.close().await;
    }
}

async fn pool(location: &Location) -> sqlx::Result<AnyPool> {
    let (dialect, url) = (location.dialect, location.url.expose_secret());
    // A pool repeats what fails on a new connection until its time is over, and then does not say what failed.
    let trial = async {
        let mut trial = AnyConnection::connect(url).await?;
        prepare(&mut trial, dialect).await?;
        trial.close().await
    };
    match tokio::time::timeout(dialect.patience, trial).await {
        Ok(tried) => tried?,
        Err(_) => return Err(sqlx::Error::PoolTimedOut),
    }
    AnyPoolOptions::new()
        .max_connections(dialect.connections)
        .acquire_timeout(dialect.patience)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(!dialect.single_process)
        .after_connect(move |connection, _| {
            Box::pin(async move { prepare(connection, dialect).await })
        })
        .connect(url)
        .await
}

async fn prepare(connection: &mut AnyConnection, dialect: &Dialect) -> sqlx::Result<()> {
    if !dialect.pragmas.is_empty() {
        sqlx::raw_sql(dialect.pragmas).execute(connection).await?;
    }
    Ok(())
}
