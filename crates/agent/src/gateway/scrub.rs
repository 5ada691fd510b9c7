//! Takes the key out of what a provider answers. Pure, because it works on chunks as they come: it holds back only
//! what may be the beginning of the key, so an event of a stream is not kept waiting.

use secrecy::{ExposeSecret, SecretString};

/// Shorter keys are not searched for: no provider issues one, and the dummies that local servers are given
/// ("none", "lm-studio") are words that a review may contain.
const SHORTEST: usize = 16;
const IN_ITS_PLACE: &[u8] = b"***";

/// The spellings of one key.
#[derive(Clone, Default)]
pub(super) struct Spellings(Vec<SecretString>);

impl Spellings {
    /// As it is, and as JSON writes it, with the slash escaped or not.
    pub(super) fn new(key: Option<&SecretString>) -> Self {
        let Some(key) = key.map(ExposeSecret::expose_secret) else {
            return Self::default();
        };
        let quoted = serde_json::Value::from(key).to_string();
        let json = quoted.trim_matches('"').to_owned();
        let mut all = vec![key.to_owned(), json.replace('/', "\\/"), json];
        // The longest first, as one may begin with another.
        all.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
        all.dedup();
        all.retain(|spelling| spelling.len() >= SHORTEST);
        Self(all.into_iter().map(SecretString::from).collect())
    }

    /// A text without the key, at once.
    pub(super) fn out_of(&self, text: &[u8]) -> Vec<u8> {
        let mut scrubber = Scrubber::new(self.clone());
        let mut clean = scrubber.push(text);
        clean.extend(scrubber.finish());
        clean
    }
}

/// A stream without the key.
pub(super) struct Scrubber {
    spellings: Spellings,
    held: Vec<u8>,
}

impl Scrubber {
    pub(super) fn new(spellings: Spellings) -> Self {
        Self {
            spellings,
            held: Vec::new(),
        }
    }

    /// Takes in a chunk and returns the bytes that may be passed on now.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(chunk);
        let mut clean = Vec::with_capacity(text.len());
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let spellings = self
                .spellings
                .0
                .iter()
                .map(|spelling| spelling.expose_secret().as_bytes());
            if let Some(found) = spellings.clone().find(|key| rest.starts_with(key)) {
                clean.extend_from_slice(IN_ITS_PLACE);
                at += found.len();
            } else if spellings.clone().any(|key| key.starts_with(rest)) {
                self.held = rest.to_vec();
                break;
            } else {
                clean.push(rest[0]);
                at += 1;
            }
        }
        clean
    }

    /// Returns the bytes that were held back and turned out to be no placeholder.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &str = "sk-standin-0123456789";

    fn scrubber(key: &str) -> Scrubber {
        Scrubber::new(Spellings::new(Some(&key.into())))
    }

    fn passed(scrubber: &mut Scrubber, chunk: &str) -> String {
        String::from_utf8(scrubber.push(chunk.as_bytes())).unwrap()
    }

    #[test]
    fn the_key_is_taken_out_wherever_the_chunks_are_cut() {
        let text = format!("a {KEY} b {KEY}{KEY} sk-standin-0123 sk-");
        for cut in 0..=text.len() {
            let mut scrubber = scrubber(KEY);
            let mut clean = passed(&mut scrubber, &text[..cut]);
            clean += &passed(&mut scrubber, &text[cut..]);
            clean += &String::from_utf8(scrubber.finish()).unwrap();
            assert_eq!(clean, "a *** b ****** sk-standin-0123 sk-", "cut at {cut}");
        }
    }

    #[test]
    fn an_event_is_passed_on_whole_unless_it_ends_like_the_key_begins() {
        let mut scrubber = scrubber(KEY);
        assert_eq!(passed(&mut scrubber, "data: one\n\n"), "data: one\n\n");
        assert_eq!(passed(&mut scrubber, "data: sk-stand"), "data: ");
        assert_eq!(passed(&mut scrubber, "ard\n\n"), "sk-standard\n\n");
    }

    #[test]
    fn json_escapes_do_not_hide_it() {
        let key = "key/with\"quote/and/slashes";
        for echoed in [
            key.to_owned(),
            r#"key/with\"quote/and/slashes"#.to_owned(),
            r#"key\/with\"quote\/and\/slashes"#.to_owned(),
        ] {
            let clean = Spellings::new(Some(&key.into())).out_of(echoed.as_bytes());
            assert_eq!(clean, b"***", "{echoed}");
        }
    }

    #[test]
    fn a_dummy_key_is_no_word_to_search_for() {
        let spellings = Spellings::new(Some(&"lm-studio".into()));
        assert_eq!(spellings.out_of(b"use lm-studio"), b"use lm-studio");
        assert_eq!(Spellings::new(None).out_of(b"text"), b"text");
    }

    proptest! {
        #[test]
        fn no_way_of_cutting_lets_it_through_or_loses_anything_else(
            parts in prop::collection::vec(
                prop_oneof![Just(KEY.to_owned()), Just(KEY[..9].to_owned()), "[sk\\-a-c]{0,5}"], 0..8),
            size in 1_usize..9,
        ) {
            let text = parts.concat();
            let mut scrubber = scrubber(KEY);
            let mut clean = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                clean.extend(scrubber.push(chunk));
            }
            clean.extend(scrubber.finish());
            prop_assert_eq!(String::from_utf8(clean).unwrap(), text.replace(KEY, "***"));
        }
    }
}
