//! A session that a service ordered: its order, and the name under which it runs.

use reviewer_core::session_order::SessionOrder;
use reviewer_system::random;
use secrecy::SecretString;

/// The order of this process.
#[derive(Debug)]
pub struct OrderedSession {
    pub order: SessionOrder,
    /// The run's name in blocks, and the session's for the service.
    pub id: String,
}

impl OrderedSession {
    pub fn new(order: SessionOrder) -> Result<Self, String> {
        let id = random::hex(8).map_err(|error| format!("{error:#}"))?;
        Ok(Self { order, id })
    }

    /// The token of the messages to the service.
    pub(crate) fn token(&self) -> SecretString {
        self.order.callback_token.as_str().into()
    }
}
