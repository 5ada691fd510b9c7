//! Everything in which the two databases differ. All other statements are the same for both.

use std::borrow::Cow;
use std::time::Duration;

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
    pub(crate) time: Option<&'static str>,
    /// Creates or locks the row of a key. `now` is the time at which the lock was there: $2, or the database's time.
    pub(crate) lock_key: &'static str,
    /// Returns a row if the table `meta` exists. To create it where it exists would need a right.
    pub(crate) has_meta: &'static str,
    /// Keeps other processes from migrating until the transaction ends. SQLite's transactions do so themselves.
    pub(crate) lock_schema: &'static str,
    /// First in a transaction, makes it see one moment of all tables. SQLite's transactions do so themselves.
    pub(crate) snapshot: &'static str,
    /// Keeps other processes from writing until the transaction ends. SQLite's transactions do so themselves.
    pub(crate) lock_tables: &'static str,
    /// The type of texts in the schema. They are compared byte by byte, because the order of a language can change with an
    /// update of the system, and damages indexes then.
    text: &'static str,
    /// One process at a time uses the store, so leases of an earlier one are void when it is opened.
    pub(crate) single_process: bool,
    /// The longest wait for a connection.
    pub(crate) patience: Duration,
}

pub(crate) static SQLITE: Dialect = Dialect {
    begin: "BEGIN IMMEDIATE",
    skip_locked: "",
    connections: 1,
    pragmas: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF",
    time: None,
    lock_key: "INSERT INTO pull (key, version, state, phase, changed) VALUES ($1, 0, '', '', $2)
         ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING version, state, $2 AS now",
    has_meta: "SELECT 1 AS found FROM sqlite_master WHERE type = 'table' AND name = 'meta'",
    lock_schema: "",
    snapshot: "",
    lock_tables: "",
    text: "TEXT",
    single_process: true,
    patience: Duration::from_secs(30),
};

/// The isolation is named, because a server can have another default, and the lease statement is written for this one. A
/// process that hangs inside a transaction loses it, so that its locks do not stop the others. A server that answers before
/// a commit is durable is asked not to; a stricter setting stays.
pub(crate) static POSTGRES: Dialect = Dialect {
    begin: "BEGIN",
    skip_locked: "FOR UPDATE OF t SKIP LOCKED",
    connections: 8,
    pragmas: "SET default_transaction_isolation = 'read committed'; SET idle_in_transaction_session_timeout = '30s';
         SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
    time: Some("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now"),
    lock_key: "INSERT INTO pull (key, version, state, phase, changed) VALUES ($1, 0, '', '', $2)
         ON CONFLICT (key) DO UPDATE SET key = excluded.key
         RETURNING version, state, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now",
    has_meta: "SELECT CAST(1 AS BIGINT) AS found WHERE to_regclass('meta') IS NOT NULL",
    lock_schema: "LOCK TABLE meta IN SHARE ROW EXCLUSIVE MODE",
    snapshot: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    lock_tables: "LOCK TABLE meta, pull, inbox, agent, token, cell IN SHARE ROW EXCLUSIVE MODE",
    text: "TEXT COLLATE \"C\"",
    single_process: false,
    patience: Duration::from_secs(5),
};

impl Dialect {
    /// Statements of the schema with the types of this database.
    pub(crate) fn schema(&self, statements: &'static str) -> Cow<'static, str> {
        match self.text {
            "TEXT" => Cow::Borrowed(statements),
            text => Cow::Owned(statements.replace(" TEXT", &format!(" {text}"))),
        }
    }
}
