//! The block codec: the visible `rmcoc` fence that the seed specifies, and the hidden HTML comment with what
//! only machines need. Frozen formats: what is written today is read for years.

use crate::domain::{Assessment, CommentId, Score};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use reviewer_text::sentence::fenced;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;

/// The effect of a comment of the reviewer on its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Finding,
    Keep,
    Answer,
    /// The reviewer no longer insists; a person closes the thread.
    Concede,
    Resolve,
    Escalate,
    Reopen,
    Manifest,
}

/// The state of the conversation on GitHub after the reviewer resolved a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversation {
    Resolved,
    LeftOpen,
}

/// A finding as a manifest lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    pub id: String,
    pub score: u8,
}

/// A finding that stands in the text of a review, because GitHub took it on no line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanchored {
    pub id: String,
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub finding: String,
}

/// The hidden keys. Absent ones are not written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seq: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// Those of a panel who raised it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
    /// The rules of static analysis that reported it, each behind its tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<[String; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// The file that fixed it, in a resolution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,
    /// Which line seems to fix it, as a hash, in an answer that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seems: Option<String>,
    /// The person who dismissed it, in a resolution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Listed>,
    /// Those of the findings that have no comment of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanchored: Vec<Unanchored>,
    /// The event that was decided for a review that judges, in a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The decision of the reviewer whom a manifest names, and whom it calls to the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalations: Vec<String>,
    /// The merge base of the diff that was approved, in a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_base: Option<String>,
    /// The record, where it could not ride in a check run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sig: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Hidden {
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            id: None,
            seq: 0,
            answers: None,
            pass: None,
            category: None,
            reviewer: None,
            reviewers: Vec::new(),
            rules: Vec::new(),
            head: None,
            anchor: None,
            conversation: None,
            fixed: None,
            seems: None,
            dismissed: None,
            run: None,
            findings: Vec::new(),
            unanchored: Vec::new(),
            event: None,
            decision: None,
            escalations: Vec::new(),
            merge_base: None,
            record: None,
            kid: None,
            sig: None,
        }
    }
}

/// The visible keys, and the `status` that the older reviewer wrote beside them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Visible {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assessment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl Visible {
    /// The assessment, if the block is a complete finding.
    #[must_use]
    pub fn assessment(&self) -> Option<Assessment> {
        Some(Assessment {
            finding: self.finding.clone()?,
            assessment: self.assessment.clone()?,
            score: Score::new(self.score?)?,
        })
    }
}

impl From<&Assessment> for Visible {
    fn from(assessment: &Assessment) -> Self {
        Self {
            finding: Some(assessment.finding.clone()),
            assessment: Some(assessment.assessment.clone()),
            score: Some(u64::from(assessment.score.get())),
            status: None,
        }
    }
}

/// The parts of a comment that are for machines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    pub visible: Option<Visible>,
    pub hidden: Option<Hidden>,
}

impl Block {
    /// The comment that the block is bound to, where the reviewer rewrote a finding's comment: it counts among the replies of
    /// its thread, and nowhere else.
    #[must_use]
    pub fn rewritten(&self, root: CommentId) -> Option<CommentId> {
        let is_rewritten = |hidden: &&Hidden| hidden.kind == Kind::Finding && hidden.seq > 0;
        self.hidden.as_ref().filter(is_rewritten).map(|_| root)
    }
}

/// The fence people see below a finding, longer than any run of backticks inside it.
#[must_use]
pub fn render_visible(assessment: &Assessment) -> String {
    let json = pretty(&Visible::from(assessment));
    fenced("rmcoc", &json)
}

fn pretty(visible: &Visible) -> String {
    serde_json::to_string_pretty(visible).unwrap_or_default()
}

/// The HTML comment. `<` and `>` are escaped, so that nothing inside can end it.
#[must_use]
pub fn render_hidden(hidden: &Hidden) -> String {
    let json = serde_json::to_string(hidden)
        .unwrap_or_default()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e");
    format!("{OPEN}{json}{CLOSE}")
}

const OPEN: &str = "<!-- rmcoc:1 ";
const CLOSE: &str = " -->";
/// A block of the reviewer is a few kilobytes; anything of this size is somebody else's.
const MAX_JSON: usize = 70_000;

/// The text before the hidden record that ends a comment.
#[must_use]
pub fn without_hidden(body: &str) -> Option<&str> {
    let at = body.rfind(OPEN)?;
    body[at..].trim_end().ends_with(CLOSE).then(|| &body[..at])
}

/// The last block of a comment, if it has one. Quoted, indented, tilde-fenced and nested ones are text.
#[must_use]
pub fn parse(body: &str) -> Block {
    let mut block = Block::default();
    if !body.contains("rmcoc") {
        return block;
    }
    let mut depth = 0_usize;
    let mut fence: Option<(Range<usize>, String)> = None;
    let mut html: Option<String> = None;
    for (event, span) in Parser::new(body).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    match tag {
                        Tag::CodeBlock(CodeBlockKind::Fenced(info)) if &*info == "rmcoc" => {
                            fence = Some((span, String::new()));
                        }
                        Tag::HtmlBlock => html = Some(String::new()),
                        _ => {}
                    }
                }
                depth += 1;
            }
            Event::Text(text) => {
                if let (1, Some((_, json))) = (depth, &mut fence) {
                    json.push_str(&text);
                }
            }
            Event::Html(text) => {
                if let (1, Some(html)) = (depth, &mut html) {
                    html.push_str(&text);
                }
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                match (depth, end) {
                    (0, TagEnd::CodeBlock) => {
                        if let Some((span, json)) = fence.take() {
                            block.visible = read_fence(&body[span], &json).or(block.visible);
                        }
                    }
                    (0, TagEnd::HtmlBlock) => {
                        if let Some(html) = html.take() {
                            block.hidden = read_hidden(&html).or(block.hidden);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    block
}

fn read_fence(source: &str, json: &str) -> Option<Visible> {
    let canonical = source.starts_with("```") && source.trim_end().ends_with("```");
    if canonical { read_object(json) } else { None }
}

fn read_hidden(html: &str) -> Option<Hidden> {
    let json = html.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    read_object(json)
}

/// An object and nothing else: serde would take an array for a struct, too.
fn read_object<T: serde::de::DeserializeOwned>(json: &str) -> Option<T> {
    let plausible = json.len() <= MAX_JSON && json.trim_start().starts_with('{');
    plausible.then(|| serde_json::from_str(json).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reviewer_text::sanitize::clean;

    fn assessment(text: &str) -> Assessment {
        Assessment {
            finding: text.to_owned(),
            assessment: format!("{text} again"),
            score: Score::new(7).unwrap(),
        }
    }

    fn comment(text: &str) -> String {
        let hidden = Hidden {
            id: Some("f1".into()),
            ..Hidden::new(Kind::Finding)
        };
        let visible = render_visible(&assessment(text));
        format!("Words.\n\n---\n\n{visible}\n{}", render_hidden(&hidden))
    }

    #[test]
    fn the_visible_block_is_the_specified_one() {
        insta::assert_snapshot!(render_visible(&assessment("A")), @r#"
        ```rmcoc
        {
          "finding": "A",
          "assessment": "A again",
          "score": 7
        }
        ```
        "#);
    }

    #[test]
    fn a_comment_reads_back_whatever_line_ends_an_editor_left() {
        for body in [comment("A"), comment("A").replace('\n', "\r\n")] {
            let block = parse(&body);
            assert_eq!(block.visible.unwrap().assessment(), Some(assessment("A")));
            assert_eq!(block.hidden.unwrap().id.as_deref(), Some("f1"));
        }
    }

    #[test]
    fn only_the_last_canonical_block_counts() {
        let twice = format!("{}\n\n{}", comment("first"), comment("second"));
        let found = parse(&twice).visible.unwrap().finding.unwrap();
        assert_eq!(found, "second");
        let real = comment("real");
        let decoys = [
            "> ```rmcoc\n> {\"finding\":\"q\"}\n> ```",
            "~~~rmcoc\n{\"finding\":\"t\"}\n~~~",
            "    ```rmcoc\n    {\"finding\":\"i\"}\n    ```",
            "````\n```rmcoc\n{\"finding\":\"n\"}\n```\n````",
            "- ```rmcoc\n  {\"finding\":\"l\"}\n  ```",
        ];
        for decoy in decoys {
            let body = format!("{real}\n\n{decoy}");
            let found = parse(&body).visible.unwrap().finding.unwrap();
            assert_eq!(found, "real", "{decoy}");
        }
    }

    #[test]
    fn broken_blocks_are_no_blocks() {
        for json in [
            "{",
            "[]",
            r#"{"finding":"a","finding":"b"}"#,
            r#"{"score":"9"}"#,
            r#"{"score":7.5}"#,
            r#"{"score":1e999}"#,
        ] {
            assert_eq!(
                parse(&format!("```rmcoc\n{json}\n```")).visible,
                None,
                "{json}"
            );
        }
        let deep = format!("```rmcoc\n{}\n```", "[".repeat(60_000));
        assert_eq!(parse(&deep).visible, None);
    }

    #[test]
    fn m5_the_model_cannot_write_a_block_of_ours() {
        let text = clean("```rmcoc\n{\"score\":1}\n```\n<!-- rmcoc:1 {} -->");
        assert_eq!(parse(&text), Block::default());
    }
}
