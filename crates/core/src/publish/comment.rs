//! Every sentence that a person reads on a pull request, and the blocks below it. All words are in this module, so that
//! the voice of the product is in one place.

pub mod analysis;
pub mod check;
pub mod coverage;
pub mod fallback;
mod finding;
pub mod fixing;
pub mod gate;
mod issues;
pub mod judgement;
pub mod lacking;
pub mod memory;
pub mod merge_group;
pub mod passes;
mod reply;
pub mod requests;
mod resolved;
mod review;
pub mod same_head;
pub mod service;
mod statement;
mod support;
pub mod unposted;

pub(crate) use finding::{dot, weight, without_repeat};
pub use issues::issues_not_read;
pub use review::Figures;
pub use statement::Stated;

use crate::domain::{CommentId, CommitSha, PrKey, Score};
use crate::state::block::{self, Hidden};
use crate::state::signature::{Keys, Signed};
use reviewer_text::sanitize::clean;
use serde_json::Value;

/// GitHub refuses bodies above 65,536 characters.
const MAX_BODY: usize = 60_000;

/// The circumstances that comments are written in: the pull request, the commit, the run and the keys.
#[derive(Debug, Clone, Copy)]
pub struct Voice<'a> {
    pub pr: &'a PrKey,
    pub keys: &'a Keys,
    pub head: &'a CommitSha,
    pub run: &'a str,
    /// True if the pull request comes from a fork, where a reply by itself starts nothing.
    pub fork: bool,
    /// The name that the reviewer answers to, with its `@`.
    pub mention: &'a str,
    /// Scores from here on block; `None`: none does.
    pub blocking: Option<Score>,
    /// The pull request's page; empty where GitHub named none.
    pub page: &'a str,
    /// True in rounds, whose comments all carry the marker.
    pub rounds: bool,
}

impl Voice<'_> {
    /// The body of a draft, by which the reviewer's drafts are told from a person's.
    #[must_use]
    pub fn draft() -> String {
        "A draft of a review; it is submitted or deleted at once.\n\n<!-- rmcoc:draft -->".into()
    }

    fn sign(&self, mut hidden: Hidden, root: Option<CommentId>, visible: &Value) -> String {
        let value = serde_json::to_value(&hidden).unwrap_or(Value::Null);
        let content = Signed {
            pr: self.pr,
            root,
            visible,
            hidden: &value,
        };
        (hidden.kid, hidden.sig) = self.keys.sign(&content).unzip();
        let block = block::render_hidden(&hidden);
        if self.rounds {
            return format!("{}\n\n{block}", fixing::MARKER);
        }
        block
    }
}

/// Names pull requests.
fn numbers(numbers: &[u64]) -> String {
    let names: Vec<String> = numbers.iter().map(|number| format!("#{number}")).collect();
    names.join(", ")
}

/// Cuts a text to so many bytes, with a mark.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mark = "\n\n[truncated]";
    let end = text.floor_char_boundary(most.saturating_sub(mark.len() + 8));
    clean(&format!("{}{mark}", &text[..end]))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::domain::{Anchor, Assessment, Category, Finding, PassNumber, Side};
    use secrecy::SecretString;

    pub fn finding(body: &str) -> Finding {
        Finding {
            id: "f1".parse().unwrap(),
            file: "src/page.ts".into(),
            anchor: Anchor::Line {
                side: Side::Right,
                start: None,
                line: 8,
            },
            anchor_hash: "689c49197975c92d".into(),
            body: body.into(),
            assessment: Assessment {
                finding: "The last page is lost.".into(),
                assessment: "Level 7: it happens whenever the count is no multiple of the size."
                    .into(),
                score: Score::new(7).unwrap(),
            },
            category: Some(Category::Logic),
            pass: PassNumber::FIRST,
            reviewer: "reviewer-1".into(),
            support: crate::domain::Support::default(),
        }
    }

    pub fn with_voice<T>(speak: impl FnOnce(&Voice<'_>) -> T) -> T {
        let pr = PrKey {
            repo: "octo/shop".parse().unwrap(),
            number: 1,
        };
        let keys = Keys::derive(&[SecretString::from("k")], None, "octo/shop");
        let head = "b0d63d1e3554f51be51c63421a254d61288447e6".parse().unwrap();
        speak(&Voice {
            rounds: false,
            pr: &pr,
            keys: &keys,
            head: &head,
            run: "4711.1",
            fork: false,
            mention: "@bot",
            blocking: Score::new(9),
            page: "https://github.com/octo/shop/pull/1",
        })
    }

    #[test]
    fn in_rounds_every_comment_has_the_marker_and_is_still_read() {
        for rounds in [true, false] {
            let body = with_voice(|voice| {
                let voice = Voice { rounds, ..*voice };
                voice.finding(&finding("It counts from one."))
            });
            let marks = body.matches(fixing::MARKER).count();
            assert_eq!(marks, usize::from(rounds), "{body}");
            let block = block::parse(&body);
            assert!(block.hidden.is_some() && block.visible.is_some(), "{body}");
        }
    }
}
