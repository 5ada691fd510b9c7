//! Quotas in the store: a cell for each holds what the day has used, so it is the same for all processes, after a crash, and on every
//! store. The decision is `reviewer_core::lifecycle::quota`.

use super::sessions::SessionId;
use reviewer_core::lifecycle::{Facts, Millis, Quota, Quotas, Taken, Used, next_day};
use reviewer_engine::{CellChange, EngineError, Store};

const QUOTAS: &str = "quota/";

/// The reason why a session does not begin today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OverQuota {
    pub quota: String,
    pub until: Millis,
}

/// A session that is about to begin.
pub(crate) struct Asked<'a> {
    pub id: &'a SessionId,
    pub facts: &'a Facts,
    /// Somebody has asked for it: it counts, and begins in any case.
    pub beyond: bool,
}

/// Counts a session against the quotas of its author and of its repository, once however often this is called. If one of them is
/// used up, it counts against none.
pub(crate) async fn take(
    store: &Store,
    quotas: Quotas,
    asked: &Asked<'_>,
    now: Millis,
) -> Result<Option<OverQuota>, EngineError> {
    let session = format!("{}/{}", asked.id.key, asked.id.dispatch);
    let quotas = quotas.of(asked.facts, asked.id.key.repository);
    for (at, quota) in quotas.iter().enumerate() {
        let mut taken = Taken::Refused;
        let take = |used: &mut Used| {
            taken = used.take(&session, quota, asked.beyond, now);
            taken == Taken::Now
        };
        change(store, quota, take).await?;
        if taken != Taken::Refused {
            continue;
        }
        for earlier in &quotas[..at] {
            change(store, earlier, |used| used.give_back(&session)).await?;
        }
        return Ok(Some(OverQuota {
            quota: quota.to_string(),
            until: next_day(now),
        }));
    }
    Ok(None)
}

/// Removes what earlier days have used.
pub(crate) async fn forget(store: &Store, now: Millis) -> Result<(), EngineError> {
    for cell in store.cells(QUOTAS).await? {
        let seen = cell.version;
        if read(&cell.name, &cell.text)?.is_over(now) {
            // Somebody else may have begun the next day with it.
            store
                .change_cell(&cell.name, CellChange::Remove { seen })
                .await?;
        }
    }
    Ok(())
}

/// Changes what was used of a quota, whoever changes it meanwhile. The act says whether it has changed anything.
async fn change(
    store: &Store,
    quota: &Quota,
    mut act: impl FnMut(&mut Used) -> bool,
) -> Result<(), EngineError> {
    let name = format!("{QUOTAS}{}", quota.key);
    loop {
        let found = store.cell(&name).await?;
        let mut used = match &found {
            Some(cell) => read(&name, &cell.text)?,
            None => Used::default(),
        };
        if !act(&mut used) {
            return Ok(());
        }
        let text = serde_json::to_string(&used).unwrap_or_default();
        let change = CellChange::write(found.as_ref(), &text);
        if store.change_cell(&name, change).await? {
            return Ok(());
        }
    }
}

fn read(name: &str, text: &str) -> Result<Used, EngineError> {
    serde_json::from_str(text).map_err(|_| EngineError::Unreadable {
        what: "a quota",
        key: name.to_owned(),
        why: "it is of another version".to_owned(),
    })
}

#[cfg(test)]
#[path = "quotas_tests.rs"]
mod tests;
