//! Sessions of the dashboard. A cookie is a signed value, not the token: it names the hash of the token, which is looked up at each
//! request, so a token that is removed or rotated ends its sessions. Any process that has the keys can verify it.

use crate::lifecycle::Millis;
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use std::collections::HashMap;

/// The longest time of a session.
const LONGEST: Millis = 12 * 60 * 60 * 1_000;
/// The first word of a value: how the rest is to be read.
const FORMAT: &str = "1";
/// No value that was written here is longer.
const LONGEST_VALUE: usize = 1_024;

/// The keys that sign sessions, the first one, and that are accepted, all of them.
#[derive(Clone)]
pub struct SessionKeys(Vec<[u8; 32]>);

impl std::fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SessionKeys({})", self.0.len())
    }
}

impl SessionKeys {
    /// From the master keys of the service or, where it has none, from the secret of its webhook.
    #[must_use]
    pub fn new(sources: &[SecretString]) -> Self {
        let derived = sources.iter().filter_map(|source| {
            let secret = source.expose_secret().as_bytes();
            let hkdf = Hkdf::<Sha256>::new(Some(b"opencode-reviewer/dashboard/1"), secret);
            let mut key = [0; 32];
            hkdf.expand(b"session", &mut key).ok()?;
            Some(key)
        });
        Self(derived.collect())
    }

    fn tag(key: &[u8; 32], what: &str, text: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        mac.update(what.as_bytes());
        mac.update(b"\0");
        mac.update(text.as_bytes());
        Some(mac)
    }

    fn sign(&self, what: &str, text: &str) -> Option<Vec<u8>> {
        let mac = Self::tag(self.0.first()?, what, text)?;
        Some(mac.finalize().into_bytes().to_vec())
    }

    /// Compares in constant time.
    fn verify(&self, what: &str, text: &str, tag: &[u8]) -> bool {
        let fits = |key: &[u8; 32]| {
            let mac = Self::tag(key, what, text);
            mac.is_some_and(|mac| mac.verify_slice(tag).is_ok())
        };
        self.0.iter().any(fits)
    }
}

/// A session of somebody who has signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The hash of the token, as the store has it.
    pub hash: String,
    /// The role of the token at that time.
    pub role: String,
    /// A random name of its own.
    pub nonce: String,
    pub until: Millis,
}

impl Session {
    #[must_use]
    pub fn new(hash: String, role: &str, nonce: String, now: Millis) -> Self {
        Self {
            hash,
            role: role.to_owned(),
            nonce,
            until: now.saturating_add(LONGEST),
        }
    }

    /// The value of its cookie.
    #[must_use]
    pub fn write(&self, keys: &SessionKeys) -> Option<String> {
        let text = self.text();
        let tag = keys.sign("session", &text)?;
        let (text, tag) = (
            BASE64URL_NOPAD.encode(text.as_bytes()),
            BASE64URL_NOPAD.encode(&tag),
        );
        Some(format!("{text}.{tag}"))
    }

    fn text(&self) -> String {
        let until = self.until.to_string();
        [FORMAT, &self.hash, &self.role, &self.nonce, &until].join(" ")
    }

    /// The session of a cookie, unless that is nobody's or over.
    #[must_use]
    pub fn read(keys: &SessionKeys, cookie: &str, now: Millis) -> Option<Self> {
        if cookie.len() > LONGEST_VALUE {
            return None;
        }
        let (text, tag) = cookie.split_once('.')?;
        let text = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let text = String::from_utf8(text).ok()?;
        let tag = BASE64URL_NOPAD.decode(tag.as_bytes()).ok()?;
        if !keys.verify("session", &text, &tag) {
            return None;
        }
        let parts: Vec<&str> = text.split(' ').collect();
        let [FORMAT, hash, role, nonce, until] = parts[..] else {
            return None;
        };
        let session = Self {
            hash: hash.to_owned(),
            role: role.to_owned(),
            nonce: nonce.to_owned(),
            until: until.parse().ok()?,
        };
        let is_young = now < session.until && session.until <= now.saturating_add(LONGEST);
        is_young.then_some(session)
    }

    /// The word that stands in each form of this session.
    #[must_use]
    pub fn form_token(&self, keys: &SessionKeys) -> Option<String> {
        let tag = keys.sign("form", &self.nonce)?;
        Some(HEXLOWER.encode(&tag))
    }

    /// True for a form of this session.
    #[must_use]
    pub fn owns(&self, keys: &SessionKeys, form: &str) -> bool {
        let tag = HEXLOWER.decode(form.as_bytes());
        tag.is_ok_and(|tag| keys.verify("form", &self.nonce, &tag))
    }
}

/// The fields of a form that was sent. The first one of a name counts.
#[must_use]
pub fn fields(body: &[u8]) -> HashMap<String, String> {
    let mut fields = HashMap::new();
    for (name, value) in url::form_urlencoded::parse(body) {
        fields
            .entry(name.into_owned())
            .or_insert_with(|| value.into_owned());
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(secrets: &[&str]) -> SessionKeys {
        let secrets: Vec<SecretString> = secrets.iter().map(|one| (*one).into()).collect();
        SessionKeys::new(&secrets)
    }

    fn session() -> Session {
        Session::new("ab".repeat(32), "read", "nonce".into(), 1_000)
    }

    #[test]
    fn a_session_is_read_by_any_process_with_the_key_until_it_is_over() {
        let cookie = session().write(&keys(&["secret"])).expect("a cookie");
        let read = |now| Session::read(&keys(&["secret"]), &cookie, now);
        assert_eq!(read(1_000), Some(session()));
        assert_eq!(read(1_000 + LONGEST - 1), Some(session()));
        assert_eq!(read(1_000 + LONGEST), None);
        // A clock that was set back makes none longer.
        assert_eq!(read(999), None);
    }

    #[test]
    fn after_a_new_key_the_sessions_of_the_earlier_one_go_on() {
        let cookie = session().write(&keys(&["old"])).expect("a cookie");
        assert_eq!(
            Session::read(&keys(&["new", "old"]), &cookie, 1_000),
            Some(session())
        );
        assert_eq!(Session::read(&keys(&["new"]), &cookie, 1_000), None);
        assert_eq!(session().write(&keys(&[])), None);
        assert_eq!(Session::read(&keys(&[]), &cookie, 1_000), None);
    }

    #[test]
    fn no_changed_character_of_a_cookie_is_read() {
        let cookie = session().write(&keys(&["secret"])).expect("a cookie");
        for index in 0..cookie.len() {
            let other = if cookie.as_bytes()[index] == b'A' {
                "B"
            } else {
                "A"
            };
            let mut changed = cookie.clone();
            changed.replace_range(index..=index, other);
            let read = Session::read(&keys(&["secret"]), &changed, 1_000);
            assert_eq!(read, None, "{changed}");
        }
        for odd in [
            "",
            ".",
            "a",
            "a.b",
            &format!("{cookie}x"),
            &"a.".repeat(2_000),
        ] {
            assert_eq!(Session::read(&keys(&["secret"]), odd, 1_000), None, "{odd}");
        }
    }

    #[test]
    fn a_form_belongs_to_its_session_and_its_key() {
        let (one, keys_of) = (session(), keys(&["secret"]));
        let form = one.form_token(&keys_of).expect("a token");
        assert!(one.owns(&keys_of, &form));
        let other = Session {
            nonce: "other".into(),
            ..session()
        };
        assert!(!other.owns(&keys_of, &form));
        assert!(!one.owns(&keys(&["another"]), &form));
        assert!(!one.owns(&keys_of, "") && !one.owns(&keys_of, &form[..form.len() - 2]));
        // The signature of a cookie is none of a form.
        let cookie = one.write(&keys_of).expect("a cookie");
        let tag = cookie.split_once('.').expect("a tag").1;
        let tag = BASE64URL_NOPAD.decode(tag.as_bytes()).expect("bytes");
        assert!(!one.owns(&keys_of, &HEXLOWER.encode(&tag)));
    }

    #[test]
    fn fields_of_a_form_are_decoded_and_the_first_of_a_name_counts() {
        let read = fields(b"token=a%2Bb+c&next=%2Fui&token=other&%ff=1");
        assert_eq!(read["token"], "a+b c");
        assert_eq!(read["next"], "/ui");
    }
}
