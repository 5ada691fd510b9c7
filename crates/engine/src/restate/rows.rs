//! The handlers of the registry: agents, API tokens and cells as values of one object. Apart from the handlers of pull requests,
//! because commands serve these alone.

use super::wire::{CellRow, CellSwap, Change, Row};
use restate_sdk::prelude::*;
use serde_json::Value;

/// Agents and API tokens, all in one object. They are read by the server's SQL, so that a service can start with them.
#[derive(Debug)]
pub(super) struct Registry;

#[restate_sdk::object(name = "opencode-reviewer.registry", client_visibility = "pub(super)")]
impl Registry {
    /// Adds a row. False: there is one with this key.
    #[handler]
    async fn add(&self, ctx: ObjectContext<'_>, row: Json<Row>) -> HandlerResult<Json<bool>> {
        let Json(row) = row;
        let is_new = ctx.get::<Json<Value>>(&row.key).await?.is_none();
        if is_new {
            ctx.set(&row.key, Json(row.fields));
        }
        Ok(Json(is_new))
    }

    /// Changes one field of a row. False: there is none with this key.
    #[handler]
    async fn change(
        &self,
        ctx: ObjectContext<'_>,
        change: Json<Change>,
    ) -> HandlerResult<Json<bool>> {
        let Json(Change { key, field, value }) = change;
        let Some(Json(mut fields)) = ctx.get::<Json<Value>>(&key).await? else {
            return Ok(Json(false));
        };
        if let Some(place) = fields.get_mut(&field) {
            *place = value;
        }
        ctx.set(&key, Json(fields));
        Ok(Json(true))
    }

    /// Removes a row. False: there is none with this key.
    #[handler]
    async fn remove(&self, ctx: ObjectContext<'_>, key: Json<String>) -> HandlerResult<Json<bool>> {
        let Json(key) = key;
        let is_there = ctx.get::<Json<Value>>(&key).await?.is_some();
        ctx.clear(&key);
        Ok(Json(is_there))
    }

    /// Changes a cell. False: it has another version than the one that was seen.
    #[handler]
    async fn swap(
        &self,
        ctx: ObjectContext<'_>,
        swap: Json<CellSwap>,
    ) -> HandlerResult<Json<bool>> {
        let Json(CellSwap { key, seen, text }) = swap;
        let found = ctx.get::<Json<CellRow>>(&key).await?;
        if found.map_or(0, |Json(cell)| cell.version) != seen {
            return Ok(Json(false));
        }
        match text {
            Some(text) => ctx.set(
                &key,
                Json(CellRow {
                    version: seen + 1,
                    text,
                }),
            ),
            None => ctx.clear(&key),
        }
        Ok(Json(true))
    }
}
