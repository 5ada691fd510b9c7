//! Errors of a store, each in one sentence that says what to do. Separate, because every module returns it.

use crate::archive::FileError;
use std::error::Error as _;
use std::io;

/// An error of the engine or its store.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the store {store} is in use by another process; stop it, or name another store")]
    InUse { store: String },
    #[error(
        "the store {store} has schema {found}, and this version knows {known} at most; start the newer version, or name another store"
    )]
    Newer {
        store: String,
        found: i64,
        known: i64,
    },
    #[error(
        "the store {store} cannot be written ({why}); check its folder, its owner and the free space"
    )]
    NotWritable { store: String, why: String },
    #[error("the store {store} is not a SQLite database; name another file")]
    NotADatabase { store: String },
    #[error(
        "the store {store} is of an unknown kind; expected sqlite:<file>, a path, or postgres://user:password@host/database"
    )]
    UnknownStore { store: String },
    #[error(
        "the server of the store {store} cannot be reached ({why}); check the host and the port, and that PostgreSQL accepts connections there"
    )]
    Unreachable { store: String, why: String },
    #[error(
        "the server of the store {store} does not speak TLS as expected ({why}); set sslmode and sslrootcert in the address to what the server offers"
    )]
    NoTls { store: String, why: String },
    #[error(
        "the server of the store {store} refuses the user ({why}); check the user and the password in the address, and pg_hba.conf of the server"
    )]
    Refused { store: String, why: String },
    #[error(
        "the database of the store {store} does not exist ({why}); create it with CREATE DATABASE, or name another one"
    )]
    NoDatabase { store: String, why: String },
    #[error(
        "the user of the store {store} lacks a right ({why}); make the user the owner of the database, or GRANT CREATE ON SCHEMA public"
    )]
    NoRight { store: String, why: String },
    #[error(
        "the server of the store {store} accepts reads only ({why}); name the primary server, not a standby"
    )]
    ReadOnly { store: String, why: String },
    #[error("{what} of {key} in the store cannot be read ({why}); start the version that wrote it")]
    Unreadable {
        what: &'static str,
        key: String,
        why: String,
    },
    #[error("the store {store} is not empty ({has}); name an empty one")]
    NotEmpty { store: String, has: String },
    #[error("the store {store} has nothing that could be exported; name the store of a service")]
    Nothing { store: String },
    #[error(
        "the store {store} is in use: a process works on {effects} of its effects; stop all processes of the service, and try again after a minute"
    )]
    AtWork { store: String, effects: i64 },
    #[error(
        "an import into the store {store} was cut off; repeat it with the same file, or name another store"
    )]
    HalfImported { store: String },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the machine gave the number of the effect {id} twice")]
    RepeatedEffect { id: String },
    #[error("there is already {what} named {name}; remove it first, or rotate it")]
    Exists { what: &'static str, name: String },
    #[error("the system gives no random numbers: {0}")]
    NoRandomness(String),
    #[cfg(feature = "restate")]
    #[error(transparent)]
    Restate(#[from] crate::restate_error::RestateError),
    #[error("the store failed: {0}")]
    Sql(#[from] sqlx::Error),
}

/// A reason why a transaction on a server ended that another attempt need not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Another transaction was in the way.
    Conflict,
    /// The connection, or the server.
    Lost,
}

impl EngineError {
    /// True if the rows of one key are at fault, so that the store serves the other keys.
    pub(crate) fn is_of_one_key(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::RepeatedEffect { .. })
    }

    /// The trouble that a server had. Codes are PostgreSQL's.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let Self::Sql(error) = self else {
            return matches!(self, Self::Unreachable { .. }).then_some(Trouble::Lost);
        };
        match error {
            // The driver calls it a protocol error if a server that is starting or ending answers nothing but its refusal.
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::BeginFailed
            | sqlx::Error::Protocol(_) => Some(Trouble::Lost),
            sqlx::Error::Database(error) => match error.code().as_deref()? {
                // Serialization failure, deadlock.
                "40001" | "40P01" => Some(Trouble::Conflict),
                // Shut down, crashed, starting; too many connections; a transaction or a session that was idle too long.
                "57P01" | "57P02" | "57P03" | "53300" | "25P03" | "57P05" => Some(Trouble::Lost),
                code => code.starts_with("08").then_some(Trouble::Lost),
            },
            _ => None,
        }
    }
}

/// The sentence for an error of a server, with what the server said.
pub(crate) fn of_server(store: &str, error: sqlx::Error) -> EngineError {
    let (store, why) = (store.to_owned(), said(&error));
    match &error {
        sqlx::Error::Configuration(_) => EngineError::UnknownStore { store },
        // A certificate that was refused.
        sqlx::Error::Io(io) if io.kind() == io::ErrorKind::InvalidData => {
            EngineError::NoTls { store, why }
        }
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Protocol(_) => {
            EngineError::Unreachable { store, why }
        }
        sqlx::Error::Tls(_) => EngineError::NoTls { store, why },
        sqlx::Error::Database(database) => match database.code().as_deref() {
            Some("28P01" | "28000") => EngineError::Refused { store, why },
            Some("3D000") => EngineError::NoDatabase { store, why },
            // No privilege, and no schema that the user may create tables in.
            Some("42501" | "3F000") => EngineError::NoRight { store, why },
            Some("25006") => EngineError::ReadOnly { store, why },
            Some("57P01" | "57P02" | "57P03" | "53300") => EngineError::Unreachable { store, why },
            _ => EngineError::Sql(error),
        },
        _ => EngineError::Sql(error),
    }
}

/// The innermost cause, without the driver's words around it.
fn said(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::PoolTimedOut => "no answer in time".to_owned(),
        error => error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string),
    }
}

/// The result of most functions here.
pub type Result<T> = std::result::Result<T, EngineError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_certificate_is_a_matter_of_tls() {
        let certificate = io::Error::new(io::ErrorKind::InvalidData, "UnknownIssuer");
        let error = of_server("postgres://host/db", sqlx::Error::Io(certificate));
        let text = error.to_string();
        assert!(
            text.contains("as expected (UnknownIssuer); set sslmode"),
            "{text}"
        );
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        let error = EngineError::Sql(sqlx::Error::Io(reset));
        assert_eq!(error.trouble(), Some(Trouble::Lost));
    }
}
