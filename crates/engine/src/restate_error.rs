//! Errors of the Restate driver, each in one sentence that says what to do. Beside the driver, because `error.rs` names them
//! and the driver names `error.rs`.

/// An error between this process and a Restate server.
#[derive(Debug, thiserror::Error)]
pub enum RestateError {
    #[error("the store {store} cannot be used: {why}; expected restate://<host>:<port>")]
    BadAddress { store: String, why: String },
    #[error(
        "the service cannot listen on {address} for the Restate server ({why}); name another address by listen= in the store"
    )]
    NotListening { address: String, why: String },
    #[error(
        "the Restate server at {address} did not answer {what} ({why}); start it, or correct the address in the store"
    )]
    NoAnswer {
        address: String,
        what: &'static str,
        why: String,
    },
    #[error(
        "the Restate server at {address} knows no {service}; start a process of the service that listens for it"
    )]
    NotRegistered { address: String, service: String },
    #[error("the Restate server at {address} refused {what}: {why}")]
    Refused {
        address: String,
        what: &'static str,
        why: String,
    },
    #[error("the client for the Restate server cannot be made: {0}")]
    NoClient(String),
}
