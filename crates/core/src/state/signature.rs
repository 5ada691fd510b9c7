//! Signatures of blocks and records. Anybody who may write to the pull request can write a block; only the
//! holder of the key can write one that is trusted.

use crate::domain::{CommentId, PrKey};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sha2::Sha256;

/// Below this a model key is too guessable to derive a signing key from.
const MIN_MODEL_KEY: usize = 20;

/// The keys of a repository: the first signs, all verify.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<Key>);

#[derive(Clone)]
struct Key {
    /// Names the key without revealing it, so that a rotated one is told from a forgery.
    kid: String,
    mac: [u8; 32],
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.kid)
    }
}

/// The result of checking a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureCheck {
    Ours,
    /// No signature, or one by a key that the reviewer does not have.
    Unknown,
    /// A signature by one of the reviewer's keys that does not fit.
    Forged,
}

/// The signed data: the place, so that a copy elsewhere does not verify, and the content.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    pub pr: &'a PrKey,
    /// The thread's first comment, for a reply.
    pub root: Option<CommentId>,
    pub visible: &'a Value,
    pub hidden: &'a Value,
}

impl Keys {
    /// From `state_key` where given, else from a model key that is long enough, else none: unsigned.
    #[must_use]
    pub fn derive(
        state_keys: &[SecretString],
        model_key: Option<&SecretString>,
        repo: &str,
    ) -> Self {
        let fallback = model_key.filter(|key| key.expose_secret().len() >= MIN_MODEL_KEY);
        let sources: Vec<&SecretString> = if state_keys.is_empty() {
            fallback.into_iter().collect()
        } else {
            state_keys.iter().collect()
        };
        Self(
            sources
                .into_iter()
                .filter_map(|secret| Key::derive(secret, repo))
                .collect(),
        )
    }

    #[must_use]
    pub fn can_sign(&self) -> bool {
        !self.0.is_empty()
    }

    /// `(kid, sig)`, or nothing where there is no key. `hidden` is what it will be without these two.
    #[must_use]
    pub(crate) fn sign(&self, content: &Signed<'_>) -> Option<(String, String)> {
        let key = self.0.first()?;
        let tag = key.tag(content)?;
        Some((key.kid.clone(), tag))
    }

    #[must_use]
    pub fn verify(
        &self,
        content: &Signed<'_>,
        kid: Option<&str>,
        sig: Option<&str>,
    ) -> SignatureCheck {
        let (Some(kid), Some(sig)) = (kid, sig) else {
            return SignatureCheck::Unknown;
        };
        let Some(key) = self.0.iter().find(|key| key.kid == kid) else {
            return SignatureCheck::Unknown;
        };
        if key.accepts(content, sig) {
            SignatureCheck::Ours
        } else {
            SignatureCheck::Forged
        }
    }
}

impl Key {
    fn derive(secret: &SecretString, repo: &str) -> Option<Self> {
        let hkdf = Hkdf::<Sha256>::new(Some(b"rmcoc-v1"), secret.expose_secret().as_bytes());
        let repo = repo.to_ascii_lowercase();
        let (mut mac, mut kid) = ([0; 32], [0; 4]);
        hkdf.expand_multi_info(&[b"sign:", repo.as_bytes()], &mut mac)
            .ok()?;
        hkdf.expand_multi_info(&[b"name:", repo.as_bytes()], &mut kid)
            .ok()?;
        Some(Self {
            kid: data_encoding::HEXLOWER.encode(&kid),
            mac,
        })
    }

    fn mac(&self, content: &Signed<'_>) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.mac).ok()?;
        mac.update(canonical(content).as_bytes());
        Some(mac)
    }

    fn tag(&self, content: &Signed<'_>) -> Option<String> {
        let tag = self.mac(content)?.finalize().into_bytes();
        Some(data_encoding::HEXLOWER.encode(&tag))
    }

    fn accepts(&self, content: &Signed<'_>, sig: &str) -> bool {
        let Ok(sig) = data_encoding::HEXLOWER.decode(sig.as_bytes()) else {
            return false;
        };
        self.mac(content)
            .is_some_and(|mac| mac.verify_slice(&sig).is_ok())
    }
}

fn canonical(content: &Signed<'_>) -> String {
    let mut hidden = content.hidden.clone();
    if let Value::Object(map) = &mut hidden {
        map.remove("kid");
        map.remove("sig");
    }
    let place = json!([
        "rmcoc:1",
        content.pr.repo.to_string().to_ascii_lowercase(),
        content.pr.number,
        content.root.map(|id| id.0),
    ]);
    let whole = Value::Array(vec![place, sorted(content.visible), sorted(&hidden)]);
    whole.to_string()
}

/// The same value with its keys in one order, whatever order a map keeps them in.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            Value::Array(
                pairs
                    .into_iter()
                    .map(|(key, value)| json!([key, sorted(value)]))
                    .collect(),
            )
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(secrets: &[&str]) -> Keys {
        let secrets: Vec<SecretString> = secrets.iter().map(|s| (*s).into()).collect();
        Keys::derive(&secrets, None, "acme/shop")
    }

    fn pr(number: u64) -> PrKey {
        PrKey {
            repo: "acme/shop".parse().unwrap(),
            number,
        }
    }

    #[test]
    fn what_we_sign_we_believe_and_nothing_else() {
        let keys = keys(&["one"]);
        let (visible, hidden) = (json!({"score": 9}), json!({"kind": "finding", "id": "a"}));
        let content = Signed {
            pr: &pr(1),
            root: None,
            visible: &visible,
            hidden: &hidden,
        };
        let (kid, sig) = keys.sign(&content).unwrap();
        let check = |content: &Signed<'_>| keys.verify(content, Some(&kid), Some(&sig));
        assert_eq!(check(&content), SignatureCheck::Ours);
        let lowered = json!({"score": 1});
        assert_eq!(
            check(&Signed {
                visible: &lowered,
                ..content
            }),
            SignatureCheck::Forged
        );
        assert_eq!(
            check(&Signed {
                pr: &pr(2),
                ..content
            }),
            SignatureCheck::Forged
        );
        assert_eq!(
            check(&Signed {
                root: Some(CommentId(5)),
                ..content
            }),
            SignatureCheck::Forged
        );
        assert_eq!(
            keys.verify(&content, Some(&kid), Some("zz")),
            SignatureCheck::Forged
        );
        assert_eq!(keys.verify(&content, None, None), SignatureCheck::Unknown);
    }

    #[test]
    fn a_rotated_key_still_verifies_while_it_is_listed() {
        let (visible, hidden) = (Value::Null, json!({"kind": "keep"}));
        let content = Signed {
            pr: &pr(1),
            root: None,
            visible: &visible,
            hidden: &hidden,
        };
        let (kid, sig) = keys(&["old"]).sign(&content).unwrap();
        let verdict = |secrets: &[&str]| keys(secrets).verify(&content, Some(&kid), Some(&sig));
        assert_eq!(verdict(&["new", "old"]), SignatureCheck::Ours);
        assert_eq!(verdict(&["new"]), SignatureCheck::Unknown);
    }

    #[test]
    fn a_short_model_key_signs_nothing() {
        let short: SecretString = "sk-123".into();
        let long: SecretString = "sk-12345678901234567890".into();
        assert!(!Keys::derive(&[], Some(&short), "a/b").can_sign());
        assert!(Keys::derive(&[], Some(&long), "a/b").can_sign());
        assert!(!format!("{:?}", Keys::derive(&[], Some(&long), "a/b")).contains("123456"));
    }
}
