//! Tokens at rest: XChaCha20-Poly1305 under a key that is derived from the operator's master key, which is never in the
//! store. A sealed token is bound to its agent's name, and says which master key opens it.

use crate::error::{EngineError, Result as EngineResult};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use data_encoding::{BASE64, HEXLOWER, HEXLOWER_PERMISSIVE};
use hkdf::Hkdf;
use secrecy::{ExposeSecret, SecretBox, SecretString};
use sha2::Sha256;
use std::fmt;

/// The first byte of a sealed token: how the rest is to be read.
const FORMAT: u8 = 1;
const ID: usize = 4;
const NONCE: usize = 24;

/// The reason why a token could not be sealed or opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("the master key has to be 32 bytes, as 64 hexadecimal digits or as base64")]
    BadMasterKey,
    #[error(
        "the token of the agent {agent} was sealed with the master key {needed}, and this one is {given}; give that master key, or rotate the token"
    )]
    WrongMasterKey {
        agent: String,
        needed: String,
        given: String,
    },
    #[error(
        "the token of the agent {agent} was sealed by another version; start that version, or rotate the token"
    )]
    OtherFormat { agent: String },
    #[error("the token of the agent {agent} is damaged or of another agent; rotate it")]
    Damaged { agent: String },
}

/// A token that only the master key opens.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl Sealed {
    /// As text for the store.
    pub(crate) fn encode(&self) -> String {
        BASE64.encode(&self.0)
    }

    pub(crate) fn decode(agent: &str, text: &str) -> EngineResult<Self> {
        let bytes = BASE64.decode(text.as_bytes());
        bytes.map(Self).map_err(|error| EngineError::Unreadable {
            what: "the sealed token",
            key: agent.to_owned(),
            why: error.to_string(),
        })
    }

    /// The id of the master key that opens it.
    #[must_use]
    pub fn key_id(&self) -> String {
        HEXLOWER.encode(self.0.get(1..=ID).unwrap_or_default())
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed(by {})", self.key_id())
    }
}

/// The values derived from a master key: its id and the key that seals tokens.
pub struct MasterKey {
    id: [u8; ID],
    token_key: SecretBox<[u8; 32]>,
}

impl MasterKey {
    /// Reads 64 hexadecimal digits, or 32 bytes in base64.
    pub fn parse(text: &SecretString) -> Result<Self, SealError> {
        let text = text.expose_secret().trim().as_bytes();
        let bytes = HEXLOWER_PERMISSIVE
            .decode(text)
            .or_else(|_| BASE64.decode(text))
            .map_err(|_| SealError::BadMasterKey)?;
        let bytes = SecretBox::new(Box::new(bytes));
        if bytes.expose_secret().len() != 32 {
            return Err(SealError::BadMasterKey);
        }
        let hkdf = Hkdf::<Sha256>::new(Some(b"opencode-reviewer/sealed/1"), bytes.expose_secret());
        let (mut id, mut token_key) = ([0; ID], Box::new([0; 32]));
        hkdf.expand(b"id", &mut id)
            .and_then(|()| hkdf.expand(b"agent token", &mut *token_key))
            .map_err(|_| SealError::BadMasterKey)?;
        Ok(Self {
            id,
            token_key: SecretBox::new(token_key),
        })
    }

    /// Names the key without telling anything about it.
    #[must_use]
    pub fn id(&self) -> String {
        HEXLOWER.encode(&self.id)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.token_key.expose_secret().into())
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({}, ***)", self.id())
    }
}

/// The master key that seals, and earlier ones that still open.
#[derive(Debug)]
pub struct KeyRing {
    current: MasterKey,
    earlier: Vec<MasterKey>,
}

impl KeyRing {
    #[must_use]
    pub fn new(current: MasterKey, earlier: Vec<MasterKey>) -> Self {
        Self { current, earlier }
    }

    /// Encrypts the token of an agent.
    pub fn seal(&self, agent: &str, token: &SecretString) -> EngineResult<Sealed> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce)
            .map_err(|error| EngineError::NoRandomness(error.to_string()))?;
        let aad = associated(agent);
        let payload = Payload {
            msg: token.expose_secret().as_bytes(),
            aad: aad.as_bytes(),
        };
        let encrypted = self
            .current
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| EngineError::NoRandomness("the token was not encrypted".to_owned()))?;
        let mut bytes = vec![FORMAT];
        bytes.extend(self.current.id);
        bytes.extend(nonce);
        bytes.extend(encrypted);
        Ok(Sealed(bytes))
    }

    /// Decrypts the token of an agent.
    pub fn open(&self, agent: &str, sealed: &Sealed) -> Result<SecretString, SealError> {
        let damaged = || SealError::Damaged {
            agent: agent.to_owned(),
        };
        let (format, rest) = sealed.0.split_first().ok_or_else(damaged)?;
        if *format != FORMAT {
            return Err(SealError::OtherFormat {
                agent: agent.to_owned(),
            });
        }
        let (id, rest) = rest.split_first_chunk::<ID>().ok_or_else(damaged)?;
        let (nonce, encrypted) = rest.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
        let mut keys = std::iter::once(&self.current).chain(&self.earlier);
        let key = keys.find(|key| key.id == *id);
        let key = key.ok_or_else(|| SealError::WrongMasterKey {
            agent: agent.to_owned(),
            needed: sealed.key_id(),
            given: self.current.id(),
        })?;
        let aad = associated(agent);
        let payload = Payload {
            msg: encrypted,
            aad: aad.as_bytes(),
        };
        let token = key.cipher().decrypt(&XNonce::from(*nonce), payload);
        let token = String::from_utf8(token.map_err(|_| damaged())?).map_err(|_| damaged())?;
        Ok(SecretString::from(token))
    }

    /// True if the token should be sealed anew, because an earlier master key sealed it.
    #[must_use]
    pub fn is_outdated(&self, sealed: &Sealed) -> bool {
        sealed.key_id() != self.current.id()
    }
}

fn associated(agent: &str) -> String {
    format!("agent/{agent}")
}

#[cfg(test)]
#[path = "sealed_tests.rs"]
mod tests;
