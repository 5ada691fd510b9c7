//! The names of the reviewer's tools, as prompts and answers write them. With several sessions in one sidecar each session
//! has tools of its own, told apart by a prefix.

use std::borrow::Cow;

/// Every tool that a session can have.
pub const TOOL_NAMES: &[&str] = &[
    "github_get_run_state",
    "github_post_review_comment",
    "github_reply_to_thread",
    "github_resolve_thread",
    "submit_pass_results",
    "submit_fix_check",
    "submit_conversation",
    "submit_finding_verdict",
    "submit_same_cause",
    "submit_candidate_verdict",
    "web_search",
    "web_fetch",
];

/// Returns a text of the reviewer with the session's names of the tools in it.
#[must_use]
pub fn prefixed<'t>(text: &'t str, prefix: &str) -> Cow<'t, str> {
    if prefix.is_empty() {
        return Cow::Borrowed(text);
    }
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(start) = rest.find(is_inner) {
        let word = &rest[start..];
        let (word, after) = word.split_at(word.find(|c| !is_inner(c)).unwrap_or(word.len()));
        out.push_str(&rest[..start]);
        if TOOL_NAMES.contains(&word) {
            out.push_str(prefix);
        }
        out.push_str(word);
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_of_tools_get_the_prefix() {
        let text =
            "Call `submit_pass_results`; github_token and r9_submit_pass_results stay. web_fetch";
        assert_eq!(prefixed(text, ""), text);
        assert_eq!(
            prefixed(text, "r2_"),
            "Call `r2_submit_pass_results`; github_token and r9_submit_pass_results stay. r2_web_fetch"
        );
    }
}
