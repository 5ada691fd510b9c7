//! The pages of the dashboard, and the order that an operator gives there.

use super::entry::{self, Visitor};
use super::{Refusing, not_found};
use crate::serve::backend::{Backend, PullParts, Rows};
use crate::serve::claims::SessionAccount;
use crate::serve::http::Shared;
use crate::serve::http::pulls::{At, at, delivery};
use crate::serve::http::webhook::is_word;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use reviewer_core::dashboard::{
    self, Around, Entry, Group, Listing, Ordered, PullPage, STATES, SessionRow, WaitingRow, Work,
};
use reviewer_core::lifecycle::{ENDS, Policy};
use reviewer_engine::{Recent, Waiting};
use reviewer_system::random;
use std::collections::HashMap;
use std::sync::Arc;

type Queries = Query<HashMap<String, String>>;
type Page = Result<Html<String>, Refusing>;

/// Pull requests of each state in the list of all.
const FEW: u32 = 10;
/// Pull requests on a page of one state.
const MANY: u32 = 50;
const USUAL_ENTRIES: u32 = 100;
const MOST_ENTRIES: u32 = 1_000;

fn around<'a, B: Backend>(
    shared: &'a Shared<B>,
    visitor: &'a Visitor,
    policy: &'a Policy,
) -> Around<'a> {
    Around {
        viewer: &visitor.viewer,
        policy,
        github: &shared.ui.settings.github,
        now: shared.backend.now(),
    }
}

/// The list: the first pull requests of each open state, or a page of one state.
pub(super) async fn list<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Queries,
) -> Page {
    let chosen = match query.get("state") {
        None => None,
        Some(given) => {
            let known = STATES.into_iter().find(|state| state == given);
            Some(known.ok_or_else(|| not_found(&visitor.viewer))?)
        }
    };
    let before = query.get("before").and_then(|text| cursor(text));
    let mark = shared.ui.pulse.look(&shared).await.mark.clone();
    let refused = entry::refusal(&visitor);
    let counts = shared.backend.phases().await.map_err(&refused)?;
    let is_there = |state: &&str| counts.iter().any(|(one, count)| one == state && *count > 0);
    let states: Vec<&'static str> = match chosen {
        Some(state) => vec![state],
        None => STATES
            .into_iter()
            .filter(|state| !ENDS.contains(state) && is_there(state))
            .collect(),
    };
    let wanted: Vec<Recent> = states
        .iter()
        .map(|state| Recent {
            phase: Some((*state).to_owned()),
            before: before.clone(),
            most: if chosen.is_some() { MANY } else { FEW },
        })
        .collect();
    let rows = shared.backend.rows(&wanted).await.map_err(&refused)?;
    let groups = states.into_iter().zip(rows);
    let listing = Listing {
        chosen,
        is_later: before.is_some(),
        groups: groups
            .map(|(state, rows)| group(state, rows, chosen.is_some()))
            .collect(),
        counts,
        mark,
    };
    let policy = shared.backend.policy();
    let around = around(&shared, &visitor, &policy);
    Ok(Html(dashboard::list(&around, &listing)))
}

fn group(state: &'static str, rows: Rows, is_chosen: bool) -> Group {
    let more = rows.more.map(|(changed, key)| {
        let key = key.replace('/', "-");
        if is_chosen {
            format!("/ui?state={state}&before={changed}-{key}")
        } else {
            format!("/ui?state={state}")
        }
    });
    Group {
        state,
        rows: rows.rows,
        more,
    }
}

/// The end of the page before: a time, and the ids of a pull request.
fn cursor(text: &str) -> Option<(i64, String)> {
    let (changed, key) = text.split_once('-')?;
    let (repository, number) = key.split_once('-')?;
    let (repository, number): (u64, u64) = (repository.parse().ok()?, number.parse().ok()?);
    Some((changed.parse().ok()?, format!("{repository}/{number}")))
}

/// One pull request.
pub(super) async fn pull<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Extension(visitor): Extension<Visitor>,
    Path(given): At,
    Query(query): Queries,
) -> Page {
    let place = at(&given).ok_or_else(|| not_found(&visitor.viewer))?;
    let most = query.get("most").and_then(|most| most.parse().ok());
    let most = most.unwrap_or(USUAL_ENTRIES).clamp(1, MOST_ENTRIES);
    let parts = shared.backend.pull(&place, most).await;
    let parts = parts.map_err(entry::refusal(&visitor))?;
    let ordered = query.get("ordered").filter(|word| *word == "retry");
    let PullParts {
        state,
        entries,
        sessions,
        waiting,
        spent,
    } = parts;
    let has_more = most < MOST_ENTRIES && entries.first().is_some_and(|first| first.n > 1);
    let page = PullPage {
        repo: place.repo,
        number: place.number,
        state,
        has_more,
        entries: entries.into_iter().map(shown_entry).collect(),
        sessions: sessions.into_iter().map(session).collect(),
        waiting: waiting.into_iter().map(work).collect(),
        spent,
        ordered: ordered.map(|_| Ordered::Retry),
        once: random::hex(8).unwrap_or_default(),
    };
    let policy = shared.backend.policy();
    let around = around(&shared, &visitor, &policy);
    Ok(Html(dashboard::pull(&around, &page)))
}

fn shown_entry(entry: reviewer_engine::Entry) -> Entry {
    Entry {
        n: entry.n,
        at: entry.at,
        input: serde_json::from_str(&entry.input).ok(),
        log: entry.log,
        phase: entry.phase,
    }
}

fn session(account: SessionAccount) -> SessionRow {
    SessionRow {
        dispatch: account.dispatch,
        agent: account.agent,
        task: account.task,
        asked: account.asked,
        started: account.started,
        ended: account.ended,
        cost_usd: account.cost_usd,
        error: account.error,
        log: account.log,
    }
}

fn work(waiting: Waiting) -> WaitingRow {
    let work = if waiting.is_timer {
        serde_json::from_str(&waiting.work).map(Work::Timer)
    } else {
        serde_json::from_str(&waiting.work).map(Work::Effect)
    };
    WaitingRow {
        seq: waiting.seq,
        work: work.unwrap_or(Work::Unknown),
        since: waiting.created,
        due: waiting.due,
        attempts: waiting.attempts,
        error: waiting.error,
    }
}

/// An operator orders another attempt. A form that is sent twice is one order.
pub(super) async fn retry<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Extension(visitor): Extension<Visitor>,
    Path(given): At,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusing> {
    let fields = entry::ordered(&shared, &visitor, &headers, body).await?;
    entry::operates(&visitor)?;
    let place = at(&given).ok_or_else(|| not_found(&visitor.viewer))?;
    let name = &visitor.viewer.name;
    let once = fields.get("once").filter(|once| is_word(once));
    let delivery = match once {
        Some(once) => format!("api/{name}/page-{once}"),
        None => delivery(&HeaderMap::new(), name)?,
    };
    let state = shared.backend.retry(&place, &delivery, name).await;
    state.map_err(entry::refusal(&visitor))?;
    let page = dashboard::place(&place.repo, place.number);
    Ok(Redirect::to(&format!("{page}?ordered=retry")).into_response())
}

/// The answer to an address that is no page.
pub(super) async fn nothing(Extension(visitor): Extension<Visitor>) -> Refusing {
    not_found(&visitor.viewer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_on_where_the_one_before_ended() {
        let rows = Rows {
            rows: Vec::new(),
            more: Some((17, "1/7".to_owned())),
        };
        let more = group("error", rows, true).more.expect("a next page");
        assert_eq!(more, "/ui?state=error&before=17-1-7");
        let (_, text) = more.split_once("before=").expect("an end");
        assert_eq!(cursor(text), Some((17, "1/7".to_owned())));
        for odd in ["", "17", "17-1", "17-1-x", "x-1-7", "17-1-7'"] {
            assert_eq!(cursor(odd), None, "{odd}");
        }
    }
}
