//! `serve export` and `serve import`: all of a store in a file, to move it to another store. The file is there as a whole or not at
//! all, for its owner only: tokens in it are sealed or hashes, but the words of people are in the clear.
#![expect(clippy::disallowed_methods, reason = "edge: reads an exported store")]

use super::{Place, sentence};
use crate::host::Failure;
use crate::serve;
use reviewer_engine::{EngineError, FileError, Moved, moving};
use reviewer_text::count::plural;
use secrecy::ExposeSecret as _;
use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::path::Path;
use tempfile::NamedTempFile;

pub(super) async fn export(place: &Place<'_>, file: &Path) -> Result<(), Failure> {
    if file.exists() {
        return Err(there(file));
    }
    nobody_works(place).await?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let unwritable = |error: io::Error| {
        let file = file.display();
        Failure::new(format!("The file {file} cannot be written: {error}."))
    };
    let mut written = BufWriter::new(NamedTempFile::new_in(folder).map_err(unwritable)?);
    let moved = moving::export(place.address().expose_secret(), &mut written).await;
    let moved = moved.map_err(|error| of_file(file, error))?;
    let written = written
        .into_inner()
        .map_err(|error| unwritable(error.into_error()))?;
    written.as_file().sync_all().map_err(unwritable)?;
    written
        .persist_noclobber(file)
        .map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => there(file),
            _ => unwritable(error.error),
        })?;
    let told = format!("Exported to {}: {}.", file.display(), list(moved));
    place.setup.actions.answer(&told);
    Ok(())
}

pub(super) async fn import(place: &Place<'_>, file: &Path) -> Result<(), Failure> {
    let opened = File::open(file).map_err(|error| {
        let file = file.display();
        Failure::new(format!("The file {file} cannot be read: {error}."))
    })?;
    nobody_works(place).await?;
    let moved = moving::import(place.address().expose_secret(), &mut BufReader::new(opened)).await;
    let moved = moved.map_err(|error| of_file(file, error))?;
    let told = format!(
        "Imported: {}. Start the service with this store, and never again with the one that was exported.",
        list(moved)
    );
    place.setup.actions.answer(&told);
    Ok(())
}

/// Refuses a store that processes of a service use. What is in a file has a lock; a store on a server has their signs of life.
async fn nobody_works(place: &Place<'_>) -> Result<(), Failure> {
    if !place.config.has_server() {
        return Ok(());
    }
    let store = place.store().await?;
    let used = serve::is_in_use(&store).await;
    store.close().await;
    if used.map_err(sentence)? {
        return Err(Failure::new(
            "Processes of the service use the store; stop all of them, fronts and workers, and try again.",
        ));
    }
    Ok(())
}

/// An error of the store, or of a file by its name.
fn of_file(file: &Path, error: EngineError) -> Failure {
    match error {
        EngineError::File(error @ FileError::Io(_)) => {
            sentence(format!("{}: {error}", file.display()))
        }
        EngineError::File(error) => Failure::new(format!("{}: {error}.", file.display())),
        error => sentence(error),
    }
}

fn there(file: &Path) -> Failure {
    let file = file.display();
    Failure::new(format!(
        "The file {file} is there already; name another one."
    ))
}

fn list(moved: Moved) -> String {
    let Moved {
        lives,
        effects,
        timers,
        agents,
        tokens,
        cells,
        deliveries,
    } = moved;
    let parts = [
        (lives, "pull request"),
        (effects, "effect"),
        (timers, "timer"),
        (cells, "session"),
        (deliveries, "delivery id"),
        (agents, "agent"),
        (tokens, "API token"),
    ];
    let parts =
        parts.map(|(count, what)| plural(usize::try_from(count).unwrap_or(usize::MAX), what));
    parts.join(", ")
}
