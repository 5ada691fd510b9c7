//! Errors of a store, each in one sentence that says what to do. Separate, because every module returns it.

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
        "the store {store} is of an unknown kind; expected sqlite:<file> or a path, and this build has no other"
    )]
    UnknownStore { store: String },
    #[error("{what} of {key} in the store cannot be read ({why}); start the version that wrote it")]
    Unreadable {
        what: &'static str,
        key: String,
        why: String,
    },
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

impl EngineError {
    /// True if the rows of one key are at fault, so that the store serves the other keys.
    pub(crate) fn is_of_one_key(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::RepeatedEffect { .. })
    }
}

/// The result of most functions here.
pub type Result<T> = std::result::Result<T, EngineError>;
