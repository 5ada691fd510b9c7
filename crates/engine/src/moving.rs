//! Moves all of a store into a file, and all of a file into an empty store, of the same kind or another. Separate from the store's
//! own questions, because no process of a service may be at work meanwhile.

use crate::archive::{Moved, Reader, Source};
use crate::error::{EngineError, Result};
use crate::location::Location;
#[cfg(feature = "restate")]
use crate::restate::{self, Address};
use crate::store::Store;
use crate::tables;
use std::io::Write;

/// Writes all of a store: its name, lives with their histories, effects and timers, deliveries of the last days, cells, agents and
/// API tokens. Refused while a service uses a file, or works on an effect.
pub async fn export(store: &str, to: &mut (dyn Write + Send)) -> Result<Moved> {
    #[cfg(feature = "restate")]
    if Address::is_meant(store) {
        return restate::export(store, to).await;
    }
    if Location::parse(store)?.is_missing() {
        return Err(EngineError::Nothing {
            store: store.to_owned(),
        });
    }
    let store = Store::open_for_service(store).await?;
    let exported = tables::export(&store, to).await;
    let exported = exported.map_err(|error| store.explain(error));
    store.close().await;
    exported
}

/// Puts all of an exported store into an empty one, whose service was not started yet. A file that is not whole changes nothing.
pub async fn import(store: &str, from: &mut dyn Source) -> Result<Moved> {
    let mut file = Reader::open(from)?;
    #[cfg(feature = "restate")]
    if Address::is_meant(store) {
        return restate::import(store, &mut file).await;
    }
    let store = Store::open_for_service(store).await?;
    let imported = tables::import(&store, &mut file).await;
    let imported = imported.map_err(|error| store.explain(error));
    store.close().await;
    imported
}
