//! Everything in which the two databases differ. All other statements are the same for both.

use crate::clock::Clock;
use crate::error::Result;
use crate::session::Session;
use sqlx::Row;

/// A database that the engine can use.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Starts a transaction that writes.
    pub(crate) begin: &'static str,
    /// Ends the selection of tasks to lease, so that several processes do not wait for each other.
    pub(crate) skip_locked: &'static str,
    /// SQLite has one writer, and several connections only make it unfair.
    pub(crate) connections: u32,
    /// Executed on each new connection.
    pub(crate) pragmas: &'static str,
    /// Asks the database for the time in milliseconds: several machines share it. Without it, the injected clock counts.
    time: Option<&'static str>,
    /// One process at a time uses the store, so leases of an earlier one are void when it is opened.
    pub(crate) single_process: bool,
}

pub(crate) static SQLITE: Dialect = Dialect {
    begin: "BEGIN IMMEDIATE",
    skip_locked: "",
    connections: 1,
    pragmas: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF",
    time: None,
    single_process: true,
};

pub(crate) static POSTGRES: Dialect = Dialect {
    begin: "BEGIN",
    skip_locked: "FOR UPDATE SKIP LOCKED",
    connections: 8,
    pragmas: "",
    time: Some("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now"),
    single_process: false,
};

impl Dialect {
    /// The time by which `due` is judged.
    pub(crate) async fn now(&self, session: &mut Session, clock: &dyn Clock) -> Result<i64> {
        let Some(question) = self.time else {
            return Ok(clock.now_ms());
        };
        match session.optional(sqlx::query(question)).await? {
            Some(row) => Ok(row.try_get("now")?),
            None => Ok(clock.now_ms()),
        }
    }
}
