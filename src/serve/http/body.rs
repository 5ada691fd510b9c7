//! Reads the body of a request within a size, a time and the memory that all bodies share.

use super::Shared;
use super::answer::{Refusal, error};
use axum::body::Body;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use std::time::Duration;
use tokio::sync::SemaphorePermit;

/// The largest body of a request that is no webhook.
pub(super) const SMALL: usize = 1024 * 1024;
/// Memory for the bodies of all requests together, in KiB: for the beginning of each, and for the rest of large ones. So large bodies
/// of nobody knows whom do not keep small ones away, and GitHub's are small: each of the usual 256 connections has its beginning.
pub(super) const KIB_OF_BEGINNINGS: usize = 64 * 1024;
pub(super) const KIB_OF_RESTS: usize = 64 * 1024;
/// The beginning of a body, in KiB.
const BEGINNING: usize = 256;
const KIB: usize = 1024;
const TIME: Duration = Duration::from_secs(30);

/// A body in memory, which counts until it is dropped.
pub(super) struct Held<'a> {
    pub(super) bytes: Vec<u8>,
    _permits: Vec<SemaphorePermit<'a>>,
}

/// Reads a body of at most `most` bytes, or answers why not.
pub(super) async fn read<'a, B>(
    shared: &'a Shared<B>,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Held<'a>, Refusal> {
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok());
    let announced = announced.and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > most) {
        return Err(too_large(most));
    }
    let limit = shared.settings.clock.limit(TIME);
    let reading = collect(shared, body, most);
    let in_time = tokio::time::timeout(limit, reading).await;
    in_time.unwrap_or_else(|_| {
        let sentence = "the body of the request came too slowly";
        Err(error(StatusCode::REQUEST_TIMEOUT, sentence))
    })
}

async fn collect<B>(shared: &Shared<B>, mut body: Body, most: usize) -> Result<Held<'_>, Refusal> {
    let (mut bytes, mut permits, mut counted) = (Vec::new(), Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let broken = |_| error(StatusCode::BAD_REQUEST, "the body of the request broke off");
        let Ok(data) = frame.map_err(broken)?.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > most {
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&data);
        let needed = bytes.len().div_ceil(KIB);
        if needed > counted {
            let begun = counted.min(BEGINNING)..needed.min(BEGINNING);
            let rest = counted.max(BEGINNING)..needed.max(BEGINNING);
            for (memory, more) in [(&shared.beginnings, begun), (&shared.rests, rest)] {
                let more = u32::try_from(more.len()).unwrap_or(u32::MAX);
                let busy = |_| {
                    let sentence = "too many large requests at once; send it again later";
                    error(StatusCode::SERVICE_UNAVAILABLE, sentence)
                };
                permits.push(memory.try_acquire_many(more).map_err(busy)?);
            }
            counted = needed;
        }
    }
    Ok(Held {
        bytes,
        _permits: permits,
    })
}

fn too_large(most: usize) -> Refusal {
    let sentence = format!("the body of the request is larger than {most} bytes");
    error(StatusCode::PAYLOAD_TOO_LARGE, &sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::http::webhook::LARGEST;
    use crate::serve::http::{HttpSettings, UiSettings};
    use axum::body::Bytes;
    use futures_util::{StreamExt as _, future, poll, stream};
    use reviewer_core::config::service::HttpLimits;
    use reviewer_system::clock::Clock;
    use std::convert::Infallible;
    use std::sync::Arc;

    /// A body of which so much has come, and the rest does not.
    fn begun(size: usize) -> Body {
        let come = Ok::<_, Infallible>(Bytes::from(vec![b' '; size]));
        let come = stream::once(future::ready(come));
        Body::from_stream(come.chain(stream::pending()))
    }

    #[tokio::test]
    async fn large_bodies_of_nobody_knows_whom_do_not_keep_small_ones_away() {
        let settings = HttpSettings {
            limits: HttpLimits::default(),
            webhook_secret: "secret".into(),
            clock: Clock::scaled(1.0),
            ui: UiSettings::plain(),
        };
        let (shared, headers) = (Shared::new(Arc::new(()), settings), HeaderMap::new());
        let mut held = Vec::new();
        // Each takes what it can, to the last KiB.
        for size in [LARGEST, 1024 * KIB, 4 * KIB, KIB] {
            for _ in 0..5 {
                let mut reading = Box::pin(read(&shared, &headers, begun(size), LARGEST));
                if poll!(&mut reading).is_pending() {
                    held.push(reading);
                }
            }
        }
        assert!(held.len() > 5, "{}", held.len());
        let small = vec![b' '; 100 * KIB];
        let taken = read(&shared, &headers, Body::from(small), LARGEST).await;
        assert!(taken.is_ok());
    }
}
