//! Messages of a session to the service that ordered it: one POST, repeated a few times. The service recognises a message that
//! it has already, so a repetition does no harm.

use crate::clock::Clock;
use crate::outbound::{self, ProxyError};
use reqwest::header::CONTENT_TYPE;
use std::time::Duration;

/// The number of tries, and the pause before the second one; it doubles.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(10);

/// A message that did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum CallbackError {
    #[error("{0}")]
    Proxy(#[from] ProxyError),
    #[error("the service could not be reached: {0}")]
    Unreached(String),
    #[error("the service answered {0}")]
    Refused(u16),
}

/// Posts a JSON document with the token. The address is the operator's, and no redirection is followed: the token is for it alone.
pub async fn post(
    (network, clock): (&[(String, String)], Clock),
    (url, token): (&str, &str),
    json: &str,
) -> Result<(), CallbackError> {
    let unreached =
        |error: reqwest::Error| CallbackError::Unreached(error.without_url().to_string());
    let client = outbound::client(network)?
        .redirect(reqwest::redirect::Policy::none())
        .timeout(clock.limit(TIMEOUT))
        .build()
        .map_err(unreached)?;
    let mut pause = PAUSE;
    let mut tries = 0;
    loop {
        let request = client
            .post(url)
            .bearer_auth(token)
            .header(CONTENT_TYPE, "application/json")
            .body(json.to_owned());
        let error = match request.send().await.map(|answer| answer.status()) {
            Ok(status) if status.is_success() => return Ok(()),
            Ok(status) if status.is_client_error() => {
                return Err(CallbackError::Refused(status.as_u16()));
            }
            Ok(status) => CallbackError::Refused(status.as_u16()),
            Err(error) => unreached(error),
        };
        tries += 1;
        if tries == TRIES {
            return Err(error);
        }
        clock.sleep(pause).await;
        pause *= 2;
    }
}
