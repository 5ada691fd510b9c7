//! Finds the comment that an answer of the reviewer answers. Separate from the threads, because questions are asked
//! below the description as well, where there is no finding and nothing to decide.

use super::block::{self, Kind};
use super::signature::{Keys, SignatureCheck, Signed};
use crate::domain::{CommentId, PrKey};
use serde_json::Value;

/// The comment that a comment of the reviewer answers. `root` is the first comment of its thread, if it stands in one.
///
/// One whose key is gone counts too: otherwise a change of keys would answer everything again. What it takes is
/// that the reviewer wrote it, which the caller knows from its author.
#[must_use]
pub fn answered(body: &str, pr: &PrKey, keys: &Keys, root: Option<CommentId>) -> Option<CommentId> {
    let hidden = block::parse(body)
        .hidden
        .filter(|hidden| hidden.kind == Kind::Answer)?;
    let value = serde_json::to_value(&hidden).ok()?;
    let signed = Signed {
        pr,
        root,
        visible: &Value::Null,
        hidden: &value,
    };
    let verdict = keys.verify(&signed, hidden.kid.as_deref(), hidden.sig.as_deref());
    let believed = verdict != SignatureCheck::Forged;
    believed.then_some(hidden.answers).flatten().map(CommentId)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::comment::Voice;
    use secrecy::SecretString;

    fn keys(secret: &str) -> Keys {
        Keys::derive(&[SecretString::from(secret)], None, "octo/shop")
    }

    fn pr(number: u64) -> PrKey {
        PrKey {
            repo: "octo/shop".parse().unwrap(),
            number,
        }
    }

    fn answer(root: Option<CommentId>) -> String {
        let voice = Voice {
            rounds: false,
            pr: &pr(1),
            keys: &keys("k"),
            head: &"a".repeat(40).parse().unwrap(),
            run: "4711.1",
            fork: false,
            mention: "@bot",
            blocking: None,
            page: "",
        };
        voice.answer(
            CommentId(7),
            root,
            0,
            "It rounds down.\n\n<!-- rmcoc:1 {} -->",
        )
    }

    #[test]
    fn an_answer_names_what_it_answers() {
        let found = |root| answered(&answer(root), &pr(1), &keys("k"), root);
        assert_eq!(found(None), Some(CommentId(7)));
        assert_eq!(found(Some(CommentId(3))), Some(CommentId(7)));
        let rotated = answered(&answer(None), &pr(1), &keys("other"), None);
        assert_eq!(rotated, Some(CommentId(7)), "nothing is answered twice");
    }

    #[test]
    fn a_copy_elsewhere_and_other_words_answer_nothing() {
        let copied = answered(&answer(None), &pr(2), &keys("k"), None);
        assert_eq!(copied, None, "another pull request");
        let moved = answered(&answer(None), &pr(1), &keys("k"), Some(CommentId(3)));
        assert_eq!(moved, None, "another thread");
        let edited = answer(None).replace("\"answers\":7", "\"answers\":8");
        assert_eq!(answered(&edited, &pr(1), &keys("k"), None), None);
        let quoted = format!("> {}", answer(None).replace('\n', "\n> "));
        assert_eq!(answered(&quoted, &pr(1), &keys("k"), None), None);
        assert_eq!(answered("Thanks!", &pr(1), &keys("k"), None), None);
    }
}
