//! An open store: its connections, at the schema of this version.

use crate::dialect::Dialect;
use crate::error::{EngineError, Result};
use crate::location::{Location, ServiceLock};
use crate::migrations::{self, MIGRATIONS, latest};
use crate::session::{Counts, Probe, Session};
use sqlx::any::AnyPoolOptions;
use sqlx::{AnyConnection, AnyPool, Connection, Row as _};
use std::sync::Arc;

/// The tables of the service. A command opens it beside a running service, to change agents and tokens.
#[derive(Debug)]
pub struct Store {
    pool: AnyPool,
    location: Location,
    probe: Arc<Probe>,
    service: Option<ServiceLock>,
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
            service: lock,
        };
        match store.migrate(migrations).await {
            Err(EngineError::Sql(error)) => Err(store.location.explain(error)),
            Err(error) => Err(error),
            Ok(()) => Ok(store),
        }
    }

    async fn migrate(&self, migrations: &[&'static str]) -> Result<()> {
        let mut session = self.begin().await?;
        let found = migrations::version(&mut session).await?;
        let known = latest(migrations);
        if found > known {
            return Err(EngineError::Newer {
                store: self.location.name.clone(),
                found,
                known,
            });
        }
        if found == known {
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

    /// A transaction that writes.
    pub(crate) async fn begin(&self) -> Result<Session> {
        Session::transaction(&self.pool, &self.probe, self.dialect().begin).await
    }

    /// A connection without a transaction.
    pub(crate) async fn session(&self) -> Result<Session> {
        Session::single(&self.pool, &self.probe).await
    }

    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.location.dialect
    }

    pub(crate) fn counts(&self) -> Counts {
        self.probe.counts()
    }

    /// Waits until all connections are closed.
    pub async fn close(self) {
        self.pool.close().await;
    }
}

async fn pool(location: &Location) -> sqlx::Result<AnyPool> {
    let dialect = location.dialect;
    // A pool repeats what fails on a new connection until its time is over, and then does not say what failed.
    let mut trial = AnyConnection::connect(&location.url).await?;
    prepare(&mut trial, dialect).await?;
    trial.close().await?;
    AnyPoolOptions::new()
        .max_connections(dialect.connections)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(!dialect.single_process)
        .after_connect(move |connection, _| {
            Box::pin(async move { prepare(connection, dialect).await })
        })
        .connect(&location.url)
        .await
}

async fn prepare(connection: &mut AnyConnection, dialect: &Dialect) -> sqlx::Result<()> {
    if !dialect.pragmas.is_empty() {
        sqlx::raw_sql(dialect.pragmas).execute(connection).await?;
    }
    Ok(())
}
