//! Sessions as cells of the store: their names, their content, and what is kept of those that have ended.

use crate::serve::sessions::SessionId;
use reviewer_core::dashboard::Spent;
use reviewer_core::lifecycle::{Effect, PullKey, Task};
use reviewer_engine::tokens::TokenHash;
use reviewer_engine::{Cell, CellChange, EngineError, Store};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

const SESSIONS: &str = "session/";
/// Begins the names of ended sessions.
pub(in crate::serve) const ENDED: &str = "ended/";
/// Begins the names of what the sessions of a pull request have cost so far.
pub(in crate::serve) const SPENT: &str = "spent/";
/// Sessions that are remembered as counted.
const COUNTED: usize = 20;
/// Ended sessions that are kept for each pull request.
const KEPT: usize = 10;

/// A session that a life wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Session {
    pub effect: Effect,
    /// The author of the pull request.
    #[serde(default)]
    pub author: Option<String>,
    pub asked: i64,
    pub starts: u32,
    pub claim: Option<Claim>,
}

/// The process that runs a session, and the token by which the session's reports are believed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Claim {
    pub worker: String,
    pub token: TokenHash,
    pub since: i64,
}

impl Session {
    pub(super) fn is_of(&self, worker: &str) -> bool {
        self.claim.as_ref().is_some_and(|one| one.worker == worker)
    }
}

/// A session as people see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionAccount {
    pub dispatch: u64,
    pub agent: String,
    /// `review` or `fix`.
    pub task: String,
    /// When the life wanted it, in milliseconds since 1970.
    pub asked: i64,
    pub started: Option<i64>,
    pub ended: Option<i64>,
    pub cost_usd: f64,
    pub error: Option<String>,
    /// The end of its log.
    pub log: String,
}

impl SessionAccount {
    pub(super) fn of(session: &Session) -> Option<Self> {
        let Effect::Dispatch {
            dispatch,
            task,
            agent,
            ..
        } = &session.effect
        else {
            return None;
        };
        let task = match task {
            Task::Review { .. } => "review",
            Task::Fix { .. } => "fix",
        };
        Some(Self {
            dispatch: *dispatch,
            agent: agent.clone(),
            task: task.to_owned(),
            asked: session.asked,
            started: session.claim.as_ref().map(|claim| claim.since),
            ended: None,
            cost_usd: 0.0,
            error: None,
            log: String::new(),
        })
    }
}

/// The cost so far of the sessions of a pull request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sum {
    sessions: u32,
    cost_usd: f64,
    /// The last sessions that it has, so that one whose end is told twice counts once.
    counted: Vec<u64>,
}

/// A session in the store.
pub(super) struct Found {
    pub id: SessionId,
    pub version: i64,
    pub session: Session,
}

/// The name of a session's cell: in the order of dispatches within a pull request.
pub(super) fn name(id: &SessionId) -> String {
    format!("{SESSIONS}{}/{:012}", id.key, id.dispatch)
}

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, EngineError> {
    serde_json::from_str(text).map_err(|_| EngineError::Unreadable {
        what: "a session",
        key: name.to_owned(),
        why: "it is of another version".to_owned(),
    })
}

/// The session of a cell; `None` for one that another version of the program wrote: that version cares for it.
fn found(cell: &Cell) -> Option<Found> {
    let mut parts = cell.name.strip_prefix(SESSIONS)?.split('/');
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (repository, pull, dispatch) = (number()?, number()?, number()?);
    let key = PullKey {
        repository,
        number: pull,
    };
    let session = read(&cell.name, &cell.text);
    if let Err(error) = &session {
        tracing::debug!("{error}");
    }
    Some(Found {
        id: SessionId { key, dispatch },
        version: cell.version,
        session: session.ok()?,
    })
}

/// All sessions that run or wait.
pub(super) async fn sessions(store: &Store) -> Result<Vec<Found>, EngineError> {
    let cells = store.cells(SESSIONS).await?;
    Ok(cells.iter().filter_map(found).collect())
}

/// The number of sessions that run or wait.
pub(super) async fn count(store: &Store) -> Result<usize, EngineError> {
    Ok(store.cells(SESSIONS).await?.len())
}

pub(super) async fn session(store: &Store, id: &SessionId) -> Result<Option<Session>, EngineError> {
    match store.cell(&name(id)).await? {
        Some(found) => read(&found.name, &found.text).map(Some),
        None => Ok(None),
    }
}

/// The last sessions of a pull request, the oldest first.
pub(super) async fn accounts(
    store: &Store,
    key: PullKey,
) -> Result<Vec<SessionAccount>, EngineError> {
    let mut accounts = ended(store, key).await?;
    let at_work = store.cells(&format!("{SESSIONS}{key}/")).await?;
    let at_work = at_work.iter().filter_map(found);
    for account in at_work.filter_map(|one| SessionAccount::of(&one.session)) {
        // One that is ending has both cells for a moment.
        if !accounts.iter().any(|one| one.dispatch == account.dispatch) {
            accounts.push(account);
        }
    }
    accounts.sort_by_key(|one| one.dispatch);
    Ok(accounts)
}

/// Removes the cell of a session, whoever changes it meanwhile.
pub(super) async fn remove(store: &Store, id: &SessionId) -> Result<(), EngineError> {
    let name = name(id);
    while let Some(found) = store.cell(&name).await? {
        let seen = found.version;
        if store
            .change_cell(&name, CellChange::Remove { seen })
            .await?
        {
            break;
        }
    }
    Ok(())
}

/// Adds an ended session to what its pull request has cost.
pub(super) async fn spend(
    store: &Store,
    key: PullKey,
    account: &SessionAccount,
) -> Result<(), EngineError> {
    let name = format!("{SPENT}{key}");
    loop {
        let found = store.cell(&name).await?;
        let mut sum: Sum = match &found {
            Some(cell) => read(&cell.name, &cell.text)?,
            // Of an earlier version: what is kept of the sessions before.
            None => sum_of(&ended(store, key).await?),
        };
        if sum.counted.contains(&account.dispatch) {
            return Ok(());
        }
        add(&mut sum, account);
        let text = json(&sum);
        let change = CellChange::write(found.as_ref(), &text);
        if store.change_cell(&name, change).await? {
            return Ok(());
        }
    }
}

fn add(sum: &mut Sum, account: &SessionAccount) {
    sum.sessions = sum.sessions.saturating_add(1);
    sum.cost_usd += account.cost_usd.max(0.0);
    sum.counted.push(account.dispatch);
    let old = sum.counted.len().saturating_sub(COUNTED);
    sum.counted.drain(..old);
}

fn sum_of(accounts: &[SessionAccount]) -> Sum {
    let mut sum = Sum::default();
    for account in accounts {
        add(&mut sum, account);
    }
    sum
}

async fn ended(store: &Store, key: PullKey) -> Result<Vec<SessionAccount>, EngineError> {
    let cells = store.cells(&format!("{ENDED}{key}/")).await?;
    cells
        .iter()
        .map(|cell| read(&cell.name, &cell.text))
        .collect()
}

/// The cost so far of the sessions of these pull requests.
pub(super) async fn spent(
    store: &Store,
    keys: &[PullKey],
) -> Result<HashMap<PullKey, Spent>, EngineError> {
    let names: HashMap<String, PullKey> = keys
        .iter()
        .map(|key| (format!("{SPENT}{key}"), *key))
        .collect();
    let wanted: Vec<String> = names.keys().cloned().collect();
    let mut spent = HashMap::new();
    for cell in store.cells_named(&wanted).await? {
        let sum: Sum = read(&cell.name, &cell.text)?;
        if let Some(key) = names.get(&cell.name) {
            let (sessions, cost_usd) = (sum.sessions, sum.cost_usd);
            spent.insert(*key, Spent { sessions, cost_usd });
        }
    }
    Ok(spent)
}

/// Keeps what an ended session has come to, and forgets the oldest ones of its pull request.
pub(super) async fn keep(
    store: &Store,
    key: PullKey,
    account: &SessionAccount,
) -> Result<(), EngineError> {
    let name = format!("{ENDED}{key}/{:012}", account.dispatch);
    let text = json(account);
    store.change_cell(&name, CellChange::Add(&text)).await?;
    let kept = store.cells(&format!("{ENDED}{key}/")).await?;
    let old = kept.len().saturating_sub(KEPT);
    for cell in kept.into_iter().take(old) {
        let seen = cell.version;
        store
            .change_cell(&cell.name, CellChange::Remove { seen })
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(dispatch: u64, cost_usd: f64) -> SessionAccount {
        SessionAccount {
            dispatch,
            agent: "quality".into(),
            task: "review".into(),
            asked: 0,
            started: None,
            ended: Some(1),
            cost_usd,
            error: None,
            log: String::new(),
        }
    }

    #[tokio::test]
    async fn the_cost_of_a_pull_request_counts_each_session_once_and_outlives_their_accounts() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("service.db");
        let store = Store::open(file.to_str().expect("a text")).await;
        let store = store.expect("a store");
        let key = PullKey {
            repository: 1,
            number: 7,
        };
        let other = PullKey { number: 8, ..key };
        // An earlier version has kept it, and summed nothing.
        keep(&store, key, &account(1, 0.5))
            .await
            .expect("an answer");
        for dispatch in 2..=30 {
            for _told_twice in 0..2 {
                let ended = account(dispatch, 0.5);
                spend(&store, key, &ended).await.expect("an answer");
                keep(&store, key, &ended).await.expect("an answer");
            }
        }
        let kept = accounts(&store, key).await.expect("an answer");
        assert_eq!(kept.len(), KEPT);
        let spent = spent(&store, &[key, other]).await.expect("an answer");
        let sum = Spent {
            sessions: 30,
            cost_usd: 15.0,
        };
        assert_eq!(spent, HashMap::from([(key, sum)]));
    }
}
