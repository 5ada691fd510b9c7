//! Gives a run its access to the web, if it was asked for, and tells the guard what the repository says.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: reads the snapshot, so that the guard recognises it"
)]

use super::change::Change;
use super::{Engine, Setup, Stop};
use crate::config::Config;
use crate::context::fence::Fence;
use crate::outbound;
use crate::web::Web;
use crate::web::fetch::Fetcher;
use crate::web::leak::{Guard, RepositoryText};
use crate::web::search::Search;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much of the repository beside the change is recognised in a question. The rest would cost memory, and a large
/// repository is mostly data.
const MOST_BYTES: usize = 16 << 20;

/// `None`: the web is not asked, and its tools do not exist.
pub fn access(setup: &Setup, config: &Config, fence: &Fence) -> Result<Option<Arc<Web>>, Stop> {
    let Some(choice) = &config.web else {
        return Ok(None);
    };
    let network = &setup.environment.network;
    let search = Search::new(
        choice.search_url.as_deref(),
        choice.search_key.clone(),
        network,
    )
    .map_err(Stop::fail)?;
    let fetcher = (!outbound::is_proxied(network)).then(Fetcher::public);
    if fetcher.is_none() {
        setup.actions.warning(
            "Behind a proxy the reviewer can search the web but not fetch pages: the proxy would choose the address \
             that is reached, and only public ones are.",
        );
    }
    Ok(Some(Arc::new(Web::new(search, fetcher, fence.clone()))))
}

/// From here on questions are judged, by the change, the files of the head and the run's secrets.
pub async fn open(engine: &Engine<'_>, change: &Change) -> Result<(), Stop> {
    let Some(web) = &engine.web else {
        return Ok(());
    };
    let diffs = change.diffs.clone();
    let root = change.snapshot.root().to_owned();
    let text = tokio::task::spawn_blocking(move || {
        let mut text = RepositoryText::default();
        for hunk in diffs.iter().flat_map(|diff| &diff.hunks) {
            let lines: Vec<&str> = hunk.lines.iter().map(|line| line.text.as_str()).collect();
            text.add(&lines.join("\n"));
        }
        add_files(&mut text, &root);
        text
    });
    let text = text.await.map_err(anyhow::Error::from)?;
    web.open(Guard::new(text, Arc::clone(&engine.secrets.redactor)));
    Ok(())
}

/// The files of the snapshot, as far as they are text. A file that cannot be read cannot be quoted either.
fn add_files(text: &mut RepositoryText, root: &Path) {
    let mut left = MOST_BYTES;
    let mut open: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        if bytes.contains(&0) {
            continue;
        }
        if bytes.len() > left {
            return;
        }
        left -= bytes.len();
        text.add(&String::from_utf8_lossy(&bytes));
    }
}
