//! Agents and API tokens in an object of the server, shared by all processes. As in the tables: tokens are sealed or hashes.

use super::address::Address;
use super::client::{Call, Client};
use super::endpoint::{Bound, Endpoint, Others};
use super::lists::{literal, of_objects};
use super::registration::{Handlers, is_registered, query, register};
use super::wire::{
    AgentRow, CellRow, CellSwap, Change, ImportRow, REGISTRY, Row, StateRow, StoreRow, TokenRow,
};
use crate::agents::Agent;
use crate::cells::{Cell, CellChange};
use crate::error::{EngineError, Result};
use crate::limits::Limits;
use crate::restate_error::RestateError;
use crate::sealed::Sealed;
use crate::tokens::{ApiToken, Role, TokenHash};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::io;
use tokio::sync::Mutex;

pub(super) const AGENTS: &str = "agent/";
pub(super) const TOKENS: &str = "token/";
pub(super) const STORE: &str = "store/";
pub(super) const CELLS: &str = "cell/";
/// The import that filled the store, until a process has sent again what waits.
pub(super) const IMPORT: &str = "import/file";
/// The only key of the object.
pub(super) const ALL: &str = "all";

/// The agents and tokens of a store in Restate.
#[derive(Debug)]
pub(crate) struct Registry {
    client: Client,
    /// Answers the server from the first change on, where no service does.
    endpoint: Mutex<Option<Endpoint>>,
}

impl Registry {
    /// For a command or a service that is about to start. Reads need no process that answers.
    pub(crate) fn open(store: &str) -> Result<Self> {
        Ok(Self::of(Client::new(Address::parse(store)?)?))
    }

    pub(super) fn of(client: Client) -> Self {
        Self {
            client,
            endpoint: Mutex::default(),
        }
    }

    pub(crate) async fn close(self) {
        if let Some(endpoint) = self.endpoint.into_inner() {
            endpoint.close().await;
        }
    }

    /// The random name of this store. The numbers of effects begin anew in another one.
    pub(crate) async fn id(&self) -> Result<String> {
        if let Some(known) = self.rows::<StoreRow>(STORE).await?.pop() {
            return Ok(known.id);
        }
        let id = random()?;
        let row = Row {
            key: format!("{STORE}id"),
            fields: json!(StoreRow { id: id.clone() }),
        };
        if self.change("add", &row).await? {
            return Ok(id);
        }
        // Another process was first.
        let known = self.rows::<StoreRow>(STORE).await?.pop();
        known
            .map(|row| row.id)
            .ok_or_else(|| EngineError::Unreadable {
                what: "the store's name",
                key: STORE.to_owned(),
                why: "it is not there".to_owned(),
            })
    }

    /// The import that filled the store, if nobody has worked on it since.
    pub(super) async fn import(&self) -> Result<Option<ImportRow>> {
        Ok(self.rows::<ImportRow>(IMPORT).await?.pop())
    }

    /// Everything that an import has brought was sent again.
    pub(super) async fn forget_import(&self) -> Result<()> {
        let _was_there = self.change("remove", &IMPORT).await?;
        Ok(())
    }

    pub(crate) async fn add_agent(&self, agent: &Agent) -> Result<()> {
        let row = AgentRow {
            name: agent.name.clone(),
            login: agent.login.clone(),
            sealed: agent.token.as_ref().map(Sealed::encode),
            persona: agent.persona.clone(),
            created: agent.created,
        };
        self.add("an agent", AGENTS, &agent.name, &row).await
    }

    pub(crate) async fn agents(&self) -> Result<Vec<Agent>> {
        let rows: Vec<AgentRow> = self.rows(AGENTS).await?;
        let agents = rows.into_iter().map(|row| {
            let sealed = row.sealed.as_deref();
            let token = sealed.map(|text| Sealed::decode(&row.name, text));
            Ok(Agent {
                token: token.transpose()?,
                name: row.name,
                login: row.login,
                persona: row.persona,
                created: row.created,
            })
        });
        agents.collect()
    }

    pub(crate) async fn remove_agent(&self, name: &str) -> Result<bool> {
        self.change("remove", &format!("{AGENTS}{name}")).await
    }

    pub(crate) async fn rotate_agent(&self, name: &str, token: &Sealed) -> Result<bool> {
        let change = Change {
            key: format!("{AGENTS}{name}"),
            field: "sealed".to_owned(),
            value: json!(token.encode()),
        };
        self.change("change", &change).await
    }

    pub(crate) async fn add_token(&self, token: &ApiToken) -> Result<()> {
        let row = TokenRow {
            name: token.name.clone(),
            hash: token.hash.as_str().to_owned(),
            role: token.role.as_str().to_owned(),
            created: token.created,
        };
        self.add("a token", TOKENS, &token.name, &row).await
    }

    pub(crate) async fn tokens(&self) -> Result<Vec<ApiToken>> {
        let rows: Vec<TokenRow> = self.rows(TOKENS).await?;
        let tokens = rows.into_iter().map(|row| {
            let role = Role::parse(&row.role).ok_or_else(|| EngineError::Unreadable {
                what: "the role",
                key: row.name.clone(),
                why: format!("{} is no role", row.role),
            })?;
            Ok(ApiToken {
                hash: TokenHash::from_text(row.hash),
                role,
                created: row.created,
                name: row.name,
            })
        });
        tokens.collect()
    }

    pub(crate) async fn token(&self, hash: &TokenHash) -> Result<Option<ApiToken>> {
        let mut tokens = self.tokens().await?.into_iter();
        Ok(tokens.find(|token| token.hash == *hash))
    }

    pub(crate) async fn remove_token(&self, name: &str) -> Result<bool> {
        self.change("remove", &format!("{TOKENS}{name}")).await
    }

    pub(crate) async fn rotate_token(&self, name: &str, hash: &TokenHash) -> Result<bool> {
        let change = Change {
            key: format!("{TOKENS}{name}"),
            field: "hash".to_owned(),
            value: json!(hash.as_str()),
        };
        self.change("change", &change).await
    }

    pub(crate) async fn cells(&self, prefix: &str) -> Result<Vec<Cell>> {
        let prefix = literal(&format!("{CELLS}{prefix}"));
        self.chosen(&format!("starts_with(key, {prefix})")).await
    }

    /// The cells of which this holds.
    async fn chosen(&self, condition: &str) -> Result<Vec<Cell>> {
        let rows: Vec<(String, CellRow)> = self.select(condition).await?;
        let cells = rows.into_iter().map(|(key, row)| Cell {
            name: key.strip_prefix(CELLS).unwrap_or(&key).to_owned(),
            version: row.version,
            text: row.text,
        });
        Ok(cells.collect())
    }

    pub(crate) async fn cell(&self, name: &str) -> Result<Option<Cell>> {
        let named = format!("key = {}", literal(&format!("{CELLS}{name}")));
        let rows: Vec<(String, CellRow)> = self.select(&named).await?;
        let cell = rows.into_iter().next().map(|(_, row)| Cell {
            name: name.to_owned(),
            version: row.version,
            text: row.text,
        });
        Ok(cell)
    }

    pub(crate) async fn cells_named(&self, names: &[String]) -> Result<Vec<Cell>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let keys = names.iter().map(|name| literal(&format!("{CELLS}{name}")));
        let keys: Vec<String> = keys.collect();
        self.chosen(&format!("key IN ({})", keys.join(", "))).await
    }

    pub(crate) async fn change_cell(&self, name: &str, change: CellChange<'_>) -> Result<bool> {
        let (seen, text) = match change {
            CellChange::Add(text) => (0, Some(text.to_owned())),
            CellChange::Replace { seen, text } => (seen, Some(text.to_owned())),
            CellChange::Remove { seen } => (seen, None),
        };
        let key = format!("{CELLS}{name}");
        self.change("swap", &CellSwap { key, seen, text }).await
    }

    /// A server is there for several processes.
    #[expect(clippy::unused_self, reason = "asked of every store")]
    pub(crate) fn is_shared(&self) -> bool {
        true
    }

    async fn add(
        &self,
        what: &'static str,
        table: &str,
        name: &str,
        fields: &(impl Serialize + Sync),
    ) -> Result<()> {
        let fields = serde_json::to_value(fields).map_err(|error| EngineError::Unreadable {
            what,
            key: name.to_owned(),
            why: error.to_string(),
        })?;
        let key = format!("{table}{name}");
        if self.change("add", &Row { key, fields }).await? {
            return Ok(());
        }
        Err(EngineError::Exists {
            what,
            name: name.to_owned(),
        })
    }

    /// A change is made once, however often it is sent.
    async fn change(&self, handler: &str, body: &(impl Serialize + Sync)) -> Result<bool> {
        let id = random()?;
        let call = Call {
            what: "a change of agents, tokens or sessions",
            service: REGISTRY,
            key: ALL,
            handler,
            idempotency: Some(&id),
            body: Some(body),
        };
        self.answer().await?;
        Ok(self.client.call(&call).await?)
    }

    /// Answers the server where no service does: if the address is free, the service is down, or was never
    /// started. So agents can be added before the first start.
    async fn answer(&self) -> Result<()> {
        let client = &self.client;
        let mut endpoint = self.endpoint.lock().await;
        if endpoint.is_some() {
            return Ok(());
        }
        let bound = match Bound::new(&client.address, Others::Nobody) {
            Err(RestateError::NotListening { .. }) => None,
            bound => bound?,
        };
        let Some(bound) = bound else { return Ok(()) };
        let handlers = Handlers {
            service: None,
            limits: &Limits::default(),
            identity: client.address.identity.as_deref(),
        };
        let built = handlers.build()?;
        *endpoint = Some(bound.serve(built.endpoint));
        // To register it anew would hide the handlers of the service.
        if !is_registered(client, REGISTRY).await? {
            register(client, &client.address.advertise, &built.manifest).await?;
        }
        Ok(())
    }

    /// The rows of a table, in the order of their names, by the server's SQL.
    async fn rows<T: DeserializeOwned>(&self, table: &str) -> Result<Vec<T>> {
        let rows = self.select(&format!("starts_with(key, '{table}')")).await?;
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// The rows of which this holds, with their keys.
    async fn select<T: DeserializeOwned>(&self, condition: &str) -> Result<Vec<(String, T)>> {
        let question = format!(
            "SELECT key, value_utf8 FROM state WHERE {} AND {condition} ORDER BY key",
            of_objects(REGISTRY, &[ALL])
        );
        let rows: Vec<StateRow> = query(&self.client, &question).await?;
        let rows =
            rows.into_iter().map(|StateRow { key, value_utf8 }| {
                match serde_json::from_str(&value_utf8) {
                    Ok(row) => Ok((key, row)),
                    Err(error) => Err(EngineError::Unreadable {
                        what: "the row",
                        key,
                        why: error.to_string(),
                    }),
                }
            });
        rows.collect()
    }
}

/// A name that nobody else gives.
pub(super) fn random() -> Result<String> {
    let random: io::Result<String> = reviewer_system::random::hex(16).map_err(io::Error::other);
    random.map_err(|error| EngineError::NoRandomness(error.to_string()))
}
