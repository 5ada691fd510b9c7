//! The content of the dashboard's pages, out of the store: a few questions for a page, however many pull requests it has.

use super::Front;
use crate::serve::backend::{PullParts, Rows};
use crate::serve::world::pull_key;
use reviewer_core::dashboard::{Row, Spent};
use reviewer_core::domain::RepoName;
use reviewer_core::lifecycle::{PullKey, State};
use reviewer_engine::{EngineError, Listed, Recent};
use std::collections::HashMap;

/// Effects and timers that a page shows.
const MOST_WAITING: u32 = 20;

/// States and costs by their pull requests.
struct Known {
    states: HashMap<String, State>,
    spent: HashMap<PullKey, Spent>,
}

impl Front {
    /// Pull requests by these choices: a question for each choice, one for all states, one for all costs.
    pub(super) async fn rows_of(&self, wanted: &[Recent]) -> Result<Vec<Rows>, EngineError> {
        let engine = &self.service.engine;
        let mut pages = Vec::new();
        for one in wanted {
            pages.push(engine.recent(one).await?);
        }
        let keys: Vec<String> = pages.iter().flatten().map(|one| one.key.clone()).collect();
        let ids: Vec<PullKey> = keys.iter().filter_map(|key| pull_key(key)).collect();
        let states = engine.states(&keys).await?.into_iter();
        let known = Known {
            states: states.map(|(key, status)| (key, status.state)).collect(),
            spent: self.service.world.claims.spent(&ids).await?,
        };
        let rows = wanted.iter().zip(pages);
        Ok(rows
            .map(|(wanted, page)| self.page(wanted, &page, &known))
            .collect())
    }

    fn page(&self, wanted: &Recent, page: &[Listed], known: &Known) -> Rows {
        let is_full = page.len() >= wanted.most as usize;
        let last = page.last().filter(|_| is_full);
        let rows = page.iter().filter_map(|one| {
            let key = pull_key(&one.key)?;
            let state = known.states.get(&one.key)?.clone();
            let repo = self.name_of(key, &state)?;
            Some(Row {
                key,
                repo,
                state,
                spent: known.spent.get(&key).copied(),
            })
        });
        Rows {
            rows: rows.collect(),
            more: last.map(|last| (last.changed, last.key.clone())),
        }
    }

    /// The name of a pull request's repository, if it is known; `None`: it is out of scope.
    #[expect(
        clippy::option_option,
        reason = "out of scope is not the same as without a name"
    )]
    fn name_of(&self, key: PullKey, state: &State) -> Option<Option<RepoName>> {
        let directory = &self.service.directory;
        if let Some(place) = directory.place(key.repository) {
            return Some(Some(place.name));
        }
        match &state.facts {
            // Its name is the last one that was read.
            Some(facts) if directory.is_in_scope(&facts.repo) => Some(Some(facts.repo.clone())),
            Some(_) => None,
            None => Some(None),
        }
    }

    /// Everything about one pull request; `None`: there is none of this key. The inputs are read first, so the state is not older.
    pub(super) async fn parts_of(
        &self,
        key: PullKey,
        most: u32,
    ) -> Result<Option<PullParts>, EngineError> {
        let (engine, name) = (&self.service.engine, key.to_string());
        let entries = engine.history(&name, most).await?;
        let Some(state) = self.service.state(key).await? else {
            return Ok(None);
        };
        let claims = &self.service.world.claims;
        Ok(Some(PullParts {
            state,
            entries,
            sessions: claims.accounts(key).await?,
            waiting: engine.waiting(&name, MOST_WAITING).await?,
            spent: claims.spent(&[key]).await?.remove(&key),
        }))
    }
}
