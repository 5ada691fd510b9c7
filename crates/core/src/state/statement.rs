//! The statement of a reviewer in its review: who decided what about which head, and whom it calls. A session of a service signs
//! it in the block of each review, because the account of the review may be the author's, or that of several reviewers; the
//! tag for each called name is there for everybody who reads reviews.

use super::block::{self, Hidden, Kind};
use super::signature::{Keys, SignatureCheck, Signed};
use crate::config::is_reviewer_name;
use crate::domain::{CommitSha, PrKey, ReviewDecision};
use pulldown_cmark::{Event, Parser, TagEnd};
use serde_json::Value;

/// The decision of a reviewer about a head, as its review states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub reviewer: String,
    pub decision: ReviewDecision,
    pub escalations: Vec<String>,
    pub head: CommitSha,
}

impl Statement {
    /// From the body of a review; `None` unless one of the keys signed it for this pull request.
    #[must_use]
    pub fn read(body: &str, pr: &PrKey, keys: &Keys) -> Option<Self> {
        let hidden = signed_manifest(body, pr, keys)?;
        Some(Self {
            reviewer: hidden.reviewer?,
            decision: ReviewDecision::parse(&hidden.decision?)?,
            escalations: hidden.escalations,
            head: hidden.head?.parse().ok()?,
        })
    }
}

/// The block of a review that one of the keys signed for this pull request.
pub(super) fn signed_manifest(body: &str, pr: &PrKey, keys: &Keys) -> Option<Hidden> {
    let hidden = block::parse(body).hidden?;
    let value = serde_json::to_value(&hidden).ok()?;
    let signed = Signed {
        pr,
        root: None,
        visible: &Value::Null,
        hidden: &value,
    };
    let check = keys.verify(&signed, hidden.kid.as_deref(), hidden.sig.as_deref());
    let ours = hidden.kind == Kind::Manifest && check == SignatureCheck::Ours;
    ours.then_some(hidden)
}

pub(crate) const TAG_OPEN: &str = "<!-- escalate: ";
pub(crate) const TAG_CLOSE: &str = " -->";
/// More of them in a review are no calls.
const MOST_TAGS: usize = 10;

/// The names in the tags `<!-- escalate: name -->` of a review, each once. Whoever reads them decides which names count, and
/// from whom: anybody can write a tag. A tag in a line with other words, in a quotation, in a list or in code is none.
#[must_use]
pub fn tagged_names(body: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in top_level_html(body).lines() {
        let line = line.trim();
        let inside = line
            .strip_prefix(TAG_OPEN)
            .and_then(|rest| rest.strip_suffix(TAG_CLOSE));
        let Some(name) = inside.map(str::trim).filter(|name| is_reviewer_name(name)) else {
            continue;
        };
        if names.len() < MOST_TAGS && !names.iter().any(|one| one == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The blocks of HTML in a text that stand in nothing else.
fn top_level_html(body: &str) -> String {
    let mut html = String::new();
    let mut depth = 0_usize;
    for event in Parser::new(body) {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                if end == TagEnd::HtmlBlock {
                    html.push('\n');
                }
            }
            Event::Html(text) if depth == 1 => html.push_str(&text),
            _ => {}
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use reviewer_text::sanitize::clean;

    #[test]
    fn each_tagged_name_is_read_once_and_other_text_is_none() {
        let tag = |name: &str| format!("{TAG_OPEN}{name}{TAG_CLOSE}");
        let body = format!(
            "Words.\n\n{}\r\n  {}\n{}\n\n> {}\n\n{} and more\n\n{}\n\n```\n{}\n```\n- {}\n",
            tag("security"),
            tag("octo-cat"),
            tag("security"),
            tag("quoted"),
            tag("inline"),
            tag("two words"),
            tag("code"),
            tag("item"),
        );
        assert_eq!(tagged_names(&body), ["security", "octo-cat"]);
        let many: Vec<String> = (0..30).map(|n| tag(&format!("n{n}"))).collect();
        assert_eq!(tagged_names(&many.join("\n")).len(), MOST_TAGS);
    }

    #[test]
    fn a_model_cannot_write_a_tag() {
        for text in [
            "<!-- escalate: security -->",
            "Fine.\n\n<!-- escalate: security -->\n",
            "<!--escalate: security-->\n<!-- escalate: security -->",
            "- a\n\n      <!-- escalate: security -->",
            "```\n<!-- escalate: security -->\n```",
            "```\n\n<!-- escalate: security -->",
            "~~~\n~~~\n<!-- escalate: security -->",
        ] {
            assert_eq!(tagged_names(&clean(text)), [""; 0], "{}", clean(text));
        }
    }
}
