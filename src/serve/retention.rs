//! Removal of rows that nobody needs any more: states, histories and sessions of pull requests that ended long ago, and what earlier
//! days have used of their quotas. The decision is `reviewer_core::lifecycle::retention`.

use super::claims::{ENDED, SPENT};
use super::quotas;
use super::service::Service;
use reviewer_core::lifecycle::{ENDS, may_forget};
use reviewer_engine::{CellChange, EngineError, Filter, Listed};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The time between two looks.
const EVERY: Duration = Duration::from_hours(1);
const PAGE: u32 = 500;

impl Service {
    /// Forgets again and again, until the end.
    pub(crate) async fn forget_until(self: Arc<Self>, mut ends: watch::Receiver<bool>) {
        loop {
            match self.forget().await {
                Ok(0) => {}
                Ok(forgotten) => {
                    tracing::info!("Ended pull requests that were forgotten: {forgotten}.");
                }
                Err(error) => {
                    tracing::warn!("what is over could not be removed from the store: {error}");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                _ = ends.wait_for(|ended| *ended) => return,
            }
        }
    }

    /// Removes what nobody needs any more. Returns the number of pull requests.
    pub(crate) async fn forget(&self) -> Result<usize, EngineError> {
        quotas::forget(self.engine.store(), self.clock.now_ms()).await?;
        let mut forgotten = 0;
        for phase in ENDS {
            let mut after = String::new();
            loop {
                let filter = Filter {
                    phase: Some(phase.to_owned()),
                    after: after.clone(),
                    most: PAGE,
                };
                let page = self.engine.list(&filter).await?;
                for one in &page {
                    let is_due = may_forget(&one.phase, one.changed, self.clock.now_ms());
                    forgotten += usize::from(is_due && self.forget_pull(one).await?);
                }
                match page.last() {
                    Some(last) if page.len() == PAGE as usize => after.clone_from(&last.key),
                    _ => break,
                }
            }
        }
        Ok(forgotten)
    }

    /// Removes a pull request, unless something waits for it or has happened meanwhile. Its ended sessions go first: without a state,
    /// nobody would find them again.
    async fn forget_pull(&self, listed: &Listed) -> Result<bool, EngineError> {
        let store = self.engine.store();
        let mut cells = store.cells(&format!("{ENDED}{}/", listed.key)).await?;
        cells.extend(store.cell(&format!("{SPENT}{}", listed.key)).await?);
        for cell in cells {
            let seen = cell.version;
            store
                .change_cell(&cell.name, CellChange::Remove { seen })
                .await?;
        }
        self.engine.forget(&listed.key, listed.version).await
    }
}
