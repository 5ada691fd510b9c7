//! `serve tokens`: tokens of the HTTP API. The store has their hashes, so a token is shown once.

use super::{Place, check_name, listed, no_such, now_ms, sentence};
use crate::host::Failure;
use reviewer_engine::tokens::{ApiToken, Role, TokenHash};
use reviewer_system::random;
use secrecy::SecretString;

/// The work that `serve tokens` is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokensOrder {
    Add { name: String, role: Role },
    List,
    Remove { name: String },
    Rotate { name: String },
}

pub(super) async fn tokens(place: &Place<'_>, order: &TokensOrder) -> Result<(), Failure> {
    let store = place.store().await?;
    let actions = &place.setup.actions;
    match order {
        TokensOrder::Add { name, role } => {
            check_name(name)?;
            let (shown, hash) = new_token()?;
            let token = ApiToken {
                name: name.clone(),
                hash,
                role: *role,
                created: now_ms(),
            };
            store.add_token(&token).await.map_err(sentence)?;
            actions.answer(&shown);
        }
        TokensOrder::Rotate { name } => {
            let (shown, hash) = new_token()?;
            if !store.rotate_token(name, &hash).await.map_err(sentence)? {
                return Err(no_such("token", name));
            }
            actions.answer(&shown);
        }
        TokensOrder::Remove { name } => {
            if !store.remove_token(name).await.map_err(sentence)? {
                return Err(no_such("token", name));
            }
        }
        TokensOrder::List => {
            let tokens = store.tokens().await.map_err(sentence)?;
            let rows = tokens.iter();
            let rows = rows.map(|token| format!("{:<24} {}", token.name, token.role.as_str()));
            let rows: Vec<String> = rows.collect();
            actions.answer(&listed(&rows, "No tokens."));
        }
    }
    store.close().await;
    Ok(())
}

/// A new token and its hash.
fn new_token() -> Result<(String, TokenHash), Failure> {
    let token = format!("ocr_{}", random::hex(32)?);
    let hash = TokenHash::new(&SecretString::from(token.as_str()));
    Ok((token, hash))
}
