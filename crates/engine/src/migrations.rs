//! Brings a store to the schema of this version. The statements are embedded, and the version is in the table `meta`.

use crate::error::{EngineError, Result};
use crate::session::Session;
use sqlx::Row;

/// The statements of each version, in order. What was released is never changed, only followed.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/1.sql"),
    include_str!("../migrations/2.sql"),
    include_str!("../migrations/3.sql"),
];

/// The version of the schema of a store; 0 for an empty one.
pub(crate) async fn version(session: &mut Session) -> Result<i64> {
    let found = sqlx::query(session.dialect.has_meta);
    if session.optional(found).await?.is_none() {
        return Ok(0);
    }
    let query = sqlx::query("SELECT value FROM meta WHERE name = 'schema'");
    let Some(row) = session.optional(query).await? else {
        return Ok(0);
    };
    let value: String = row.try_get("value")?;
    value.parse().map_err(|_| EngineError::Unreadable {
        what: "the schema's version",
        key: value.clone(),
        why: "not a number".to_owned(),
    })
}

/// Creates the table that holds the version, and that processes lock while they migrate. Another one may be faster.
pub(crate) async fn create_meta(session: &mut Session) -> Result<()> {
    let create = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)";
    match session.script(create).await {
        Err(EngineError::Sql(sqlx::Error::Database(error)))
            // The name is taken: of the table, or of its type in PostgreSQL's own tables.
            if matches!(error.code().as_deref(), Some("42P07" | "42710" | "23505")) =>
        {
            Ok(())
        }
        created => created,
    }
}

/// Executes the migrations that a store of version `from` lacks. The caller commits all of them, or none.
pub(crate) async fn migrate(
    session: &mut Session,
    from: i64,
    migrations: &[&'static str],
) -> Result<()> {
    if session.dialect.single_process {
        create_meta(session).await?;
    }
    let done = usize::try_from(from).unwrap_or(0);
    for statements in migrations.iter().skip(done) {
        session.script(statements).await?;
    }
    let query = sqlx::query(
        "INSERT INTO meta (name, value) VALUES ('schema', $1)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    );
    session
        .execute(query.bind(latest(migrations).to_string()))
        .await?;
    Ok(())
}

/// The version that these migrations lead to.
pub(crate) fn latest(migrations: &[&str]) -> i64 {
    i64::try_from(migrations.len()).unwrap_or(i64::MAX)
}
