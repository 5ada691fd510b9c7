//! Tokens of the HTTP API as rows. The store has their hashes only; a token is random, so a plain hash is enough.

use crate::error::{EngineError, Result};
use crate::store::Store;
use data_encoding::HEXLOWER;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sqlx::Row;
use sqlx::any::AnyRow;

/// The rights of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Read,
    /// Reads, too.
    Operate,
}

impl Role {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Read, Self::Operate]
            .into_iter()
            .find(|role| role.as_str() == text)
    }
}

/// A token of the API, by its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    pub name: String,
    pub hash: TokenHash,
    pub role: Role,
    pub created: i64,
}

/// The hash by which a token is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenHash(String);

impl TokenHash {
    #[must_use]
    pub fn new(token: &SecretString) -> Self {
        Self(HEXLOWER.encode(&Sha256::digest(token.expose_secret().as_bytes())))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The hash that was written as this text.
    #[must_use]
    pub fn from_text(text: String) -> Self {
        Self(text)
    }
}

impl Store {
    pub async fn add_token(&self, token: &ApiToken) -> Result<()> {
        let query = sqlx::query(
            "INSERT INTO token (name, hash, role, created) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        );
        let query = query.bind(&token.name).bind(&token.hash.0);
        let query = query.bind(token.role.as_str()).bind(token.created);
        match self.session().await?.execute(query).await? {
            0 => Err(EngineError::Exists {
                what: "a token",
                name: token.name.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// All tokens, in the order of their names.
    pub async fn tokens(&self) -> Result<Vec<ApiToken>> {
        let query = sqlx::query("SELECT name, hash, role, created FROM token ORDER BY name");
        let rows = self.session().await?.all(query).await?;
        rows.iter().map(read).collect()
    }

    /// The token with this hash. The hash tells nothing about the token, so the time of the search tells nothing either.
    pub async fn token(&self, hash: &TokenHash) -> Result<Option<ApiToken>> {
        let query = sqlx::query("SELECT name, hash, role, created FROM token WHERE hash = $1");
        let row = self.session().await?.optional(query.bind(&hash.0)).await?;
        row.as_ref().map(read).transpose()
    }

    /// Removes a token. False: there is none of this name.
    pub async fn remove_token(&self, name: &str) -> Result<bool> {
        let query = sqlx::query("DELETE FROM token WHERE name = $1").bind(name);
        Ok(self.session().await?.execute(query).await? == 1)
    }

    /// Puts another token in the place of one. False: there is none of this name.
    pub async fn rotate_token(&self, name: &str, hash: &TokenHash) -> Result<bool> {
        let query = sqlx::query("UPDATE token SET hash = $2 WHERE name = $1");
        let query = query.bind(name).bind(&hash.0);
        Ok(self.session().await?.execute(query).await? == 1)
    }
}

fn read(row: &AnyRow) -> Result<ApiToken> {
    let (name, role): (String, String) = (row.try_get("name")?, row.try_get("role")?);
    let role = Role::parse(&role).ok_or_else(|| EngineError::Unreadable {
        what: "the role",
        key: name.clone(),
        why: format!("{role} is no role"),
    })?;
    Ok(ApiToken {
        hash: TokenHash(row.try_get("hash")?),
        role,
        created: row.try_get("created")?,
        name,
    })
}
