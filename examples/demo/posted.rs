//! What stands on the pull request after each write, in a few words.

use super::page::visible;
use super::standin::github::{State, Write};
use reviewer_text::count::plural;
use serde_json::Value;

/// One write, and the account that made it.
#[derive(Debug)]
pub struct Posted {
    pub by: String,
    pub what: String,
    pub is_merge: bool,
}

impl Posted {
    /// The write as people see it; none if they do not.
    pub fn of(state: &State, write: &Write) -> Option<Self> {
        let (by, what) = match write {
            Write::Review { id, json, .. } => (reviewer(state, *id), review(json)),
            Write::Dismissal { id, .. } => {
                (reviewer(state, *id), "dismisses the earlier review".into())
            }
            Write::Commit { by, json, .. } => {
                let title = &json["message"]["headline"];
                (by.clone(), format!("pushes \"{}\"", text(title)))
            }
            Write::Resolve { by, .. } => (by.clone(), "resolves the thread".into()),
            Write::Reply { id, json, .. } => {
                let mut comments = state.comments.iter();
                let comment = comments.find(|one| one.id == *id)?;
                (
                    comment.user.clone()?,
                    format!("replies \"{}\"", first_line(&json["body"])),
                )
            }
            Write::EditComment { id, json } => {
                let mut comments = state.comments.iter();
                let comment = comments.find(|one| one.id == *id)?;
                (
                    comment.user.clone()?,
                    format!("rewrites \"{}\"", first_line(&json["body"])),
                )
            }
            Write::IssueComment { id, json, .. } => {
                let mut comments = state.issue_comments.iter();
                let comment = comments.find(|one| one.id == *id)?;
                (
                    comment.user.clone(),
                    format!("comments \"{}\"", first_line(&json["body"])),
                )
            }
            Write::Merge { by, head, pull, .. } => (
                by.clone(),
                format!(
                    "merges {} into {}",
                    head.get(..7)?,
                    state.pulls.get(pull)?.base.branch
                ),
            ),
            _ => return None,
        };
        let is_merge = matches!(write, Write::Merge { .. });
        Some(Self { by, what, is_merge })
    }
}

fn reviewer(state: &State, id: u64) -> String {
    let review = state.reviews.iter().find(|one| one.id == id);
    review.map(|one| one.user.clone()).unwrap_or_default()
}

fn review(json: &Value) -> String {
    let comments = json["comments"].as_array().map_or(&[][..], Vec::as_slice);
    let (title, event) = (first_line(&json["body"]), text(&json["event"]));
    let mut words = format!("posts the review \"{title}\" ({event})");
    if !comments.is_empty() {
        words.push_str(" with ");
        words.push_str(&plural(comments.len(), "inline comment"));
    }
    let placed = |comment: &Value| {
        let (path, claim) = (text(&comment["path"]), first_line(&comment["body"]));
        format!("\n{:11}{path}:{} {claim}", "", comment["line"])
    };
    words.extend(comments.iter().map(placed));
    words
}

/// The first line that a browser shows, without Markdown's signs.
fn first_line(body: &Value) -> String {
    let shown = visible(&text(body));
    let line = shown.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default()
        .trim_start_matches(['#', ' '])
        .replace("**", "")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
