//! Agents as rows: names, logins, sealed tokens, personas. Nothing here can open a token.

use crate::error::{EngineError, Result};
use crate::sealed::Sealed;
use crate::store::Store;
use sqlx::Row;

/// An agent: an account that reviews and fixes, or a persona of the GitHub App.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub name: String,
    /// The account on GitHub; none with a GitHub App.
    pub login: Option<String>,
    /// The account's token; none with a GitHub App.
    pub token: Option<Sealed>,
    pub persona: String,
    pub created: i64,
}

impl Store {
    pub async fn add_agent(&self, agent: &Agent) -> Result<()> {
        let query = sqlx::query(
            "INSERT INTO agent (name, login, sealed, persona, created) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (name) DO NOTHING",
        );
        let query = query.bind(&agent.name).bind(agent.login.as_deref());
        let query = query.bind(agent.token.as_ref().map(Sealed::encode));
        let query = query.bind(&agent.persona).bind(agent.created);
        match self.session().await?.execute(query).await? {
            0 => Err(EngineError::Exists {
                what: "an agent",
                name: agent.name.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// All agents, in the order of their names.
    pub async fn agents(&self) -> Result<Vec<Agent>> {
        let query =
            sqlx::query("SELECT name, login, sealed, persona, created FROM agent ORDER BY name");
        let rows = self.session().await?.all(query).await?;
        let agents = rows.iter().map(|row| {
            let name: String = row.try_get("name")?;
            let sealed: Option<String> = row.try_get("sealed")?;
            let token = sealed
                .map(|text| Sealed::decode(&name, &text))
                .transpose()?;
            Ok(Agent {
                login: row.try_get("login")?,
                token,
                persona: row.try_get("persona")?,
                created: row.try_get("created")?,
                name,
            })
        });
        agents.collect()
    }

    /// Removes an agent. False: there is none of this name.
    pub async fn remove_agent(&self, name: &str) -> Result<bool> {
        let query = sqlx::query("DELETE FROM agent WHERE name = $1").bind(name);
        Ok(self.session().await?.execute(query).await? == 1)
    }

    /// Gives an agent another token, or the same one sealed anew. False: there is none of this name.
    pub async fn rotate_agent(&self, name: &str, token: &Sealed) -> Result<bool> {
        let query = sqlx::query("UPDATE agent SET sealed = $2 WHERE name = $1");
        let query = query.bind(name).bind(token.encode());
        Ok(self.session().await?.execute(query).await? == 1)
    }
}
