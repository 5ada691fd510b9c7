//! GitHub's JSON, as it comes and as it is sent. What GitHub may leave out or null is optional here, also where
//! its own description says otherwise (`line` of an outdated comment); what must be there is judged where the
//! domain's types are made.

use reviewer_core::domain::Login;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

mod checks;
mod closed;
mod discussion;
mod errors;
mod heads;
mod publishing;
mod pulls;
mod service;
mod surroundings;
mod threads;
pub(crate) use checks::*;
pub(crate) use closed::*;
pub(crate) use discussion::*;
pub(crate) use errors::*;
pub(crate) use heads::*;
pub(crate) use publishing::*;
pub(crate) use pulls::*;
pub(crate) use service::*;
pub(crate) use surroundings::*;
pub(crate) use threads::*;

#[derive(Debug, Deserialize)]
pub(crate) struct User {
    pub login: String,
    pub id: Option<u64>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Actor {
    pub login: String,
    #[serde(rename = "__typename")]
    pub typename: Option<String>,
}

impl Actor {
    /// The account as REST names it.
    pub(crate) fn account(&self) -> Login {
        Login::from_graphql(&self.login, self.typename.as_deref().unwrap_or_default())
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Created {
    pub id: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Viewer {
    pub viewer: User,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileData {
    pub repository: Option<FileRepository>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileRepository {
    pub object: Option<Blob>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Blob {
    pub text: Option<String>,
    pub is_truncated: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Oid {
    pub oid: String,
}

/// A list of which one page is enough.
#[derive(Debug, Deserialize)]
pub(crate) struct Nodes<T> {
    #[serde(default = "Option::default")]
    nodes: Option<Vec<Option<T>>>,
}

impl<T> Nodes<T> {
    pub(crate) fn all(self) -> impl DoubleEndedIterator<Item = T> {
        self.nodes.unwrap_or_default().into_iter().flatten()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Connection<T> {
    pub page_info: PageInfo,
    /// GitHub's schema allows null in the list and for it.
    #[serde(default = "Option::default")]
    pub nodes: Option<Vec<Option<T>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageInfo {
    pub has_next_page: bool,
    pub end_cursor: Option<String>,
}

/// A BigInt, which GitHub sends as text.
fn number_of(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
