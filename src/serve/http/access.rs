//! Admission by API token. Whoever has none learns nothing, not even which pull requests there are.

use super::{Shared, answer, count};
use crate::serve::backend::Backend;
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use reviewer_engine::tokens::{Role, TokenHash};
use secrecy::SecretString;
use std::sync::Arc;

/// No token of the service is longer.
const LONGEST_TOKEN: usize = 256;

/// The name of the token by which a request came.
#[derive(Debug, Clone)]
pub(super) struct Caller(pub(super) String);

/// The token of a request.
pub(super) fn bearer(headers: &HeaderMap) -> Option<SecretString> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    let is_plain = !token.is_empty() && token.len() <= LONGEST_TOKEN;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer") && is_plain;
    is_bearer.then(|| SecretString::from(token))
}

/// Lets a request through whose token has the role. Tokens are found by their hashes, so the time of the search tells nothing about
/// them.
pub(super) async fn authorize<B: Backend>(
    State((shared, needed)): State<(Arc<Shared<B>>, Role)>,
    mut request: Request,
    next: Next,
) -> Response {
    let unauthorized = || {
        count(&shared.counts.unauthorized);
        answer::unauthorized().into_response()
    };
    let Some(token) = bearer(request.headers()) else {
        return unauthorized();
    };
    let token = match shared.backend.token(&TokenHash::new(&token)).await {
        Ok(Some(token)) => token,
        Ok(None) => return unauthorized(),
        Err(refusal) => return answer::refused(refusal).into_response(),
    };
    if let Err(refusal) = shared.admit(&shared.by_token, token.name.clone()) {
        return refusal.into_response();
    }
    if token.role < needed {
        count(&shared.counts.unauthorized);
        let sentence = format!("this needs a token with the role {}", needed.as_str());
        return answer::error(StatusCode::FORBIDDEN, &sentence).into_response();
    }
    request.extensions_mut().insert(Caller(token.name));
    next.run(request).await
}
