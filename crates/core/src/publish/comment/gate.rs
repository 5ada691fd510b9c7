//! The ways to turn a red check green, as sentences behind "To turn this check green:". The check's page and the end of the log
//! say them.

use super::numbers;
use reviewer_text::count::plural;
use reviewer_text::sanitize::clean;
use reviewer_text::sentence::code;

/// The circumstances that decide how a finding can be closed.
#[derive(Debug, Clone, Copy)]
pub struct Closing<'a> {
    /// The number of open findings that block.
    pub blocking: usize,
    /// `blocking_score_threshold`.
    pub threshold: u8,
    pub mention: &'a str,
    pub fork: bool,
    /// True if a dismissal can be signed, so that later runs believe it.
    pub can_sign: bool,
}

/// Findings block.
#[must_use]
pub fn by_closing(closing: &Closing<'_>) -> String {
    let one = closing.blocking == 1;
    let found = if one {
        "the 🔴 finding".to_owned()
    } else {
        format!("the {}", plural(closing.blocking, "🔴 finding"))
    };
    let (them, conversations) = if one {
        ("it", "its conversation")
    } else {
        ("them", "their conversations")
    };
    let dismiss = match (closing.can_sign, closing.fork) {
        (false, _) => String::new(),
        (true, true) => {
            let command = code(&format!(
                "{} dismiss <link to the comment>",
                closing.mention
            ));
            format!("with {command} in the pull request's conversation, or ")
        }
        (true, false) => {
            let command = code(&format!("{} dismiss", closing.mention));
            let threads = if one { "its thread" } else { "each thread" };
            format!("with {command} in {threads}, or ")
        }
    };
    format!(
        "fix {found} and push, or let somebody with write access close {them}: {dismiss}by resolving {conversations} and \
         running this job again. `blocking_score_threshold` is {}.",
        closing.threshold
    )
}

/// The review is incomplete, and a person may accept that.
#[must_use]
pub fn by_accepting(mention: &str) -> String {
    let command = code(&format!("{mention} accept"));
    format!(
        "run the review again where its limits or files allow more, or let somebody with write access comment {command}, which \
         counts until the next push."
    )
}

/// The review is incomplete, and only another run helps.
#[must_use]
pub fn by_running_again() -> &'static str {
    "run this job again; it finishes what this run could not."
}

/// Other pull requests of the same head hold it back.
#[must_use]
pub fn by_settling(others: &[u64]) -> String {
    let share = if others.len() == 1 { "shares" } else { "share" };
    format!(
        "settle or close {}, which {share} this head and its check, and run this job again.",
        numbers(others)
    )
}

/// The page of a check whose run could not review. The sentences may quote a provider, so they are cleaned.
#[must_use]
pub fn after_an_error(sentences: &[String]) -> String {
    let why = clean(&sentences.join("\n\n"));
    format!(
        "{why}\n\n**To turn this check green:** correct what is named above, then run this job again."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_s_words_command_nothing_on_the_page_of_an_error() {
        let said = "The provider x refused: ![p](https://evil.example/p.png) @octocat.".to_owned();
        let page = after_an_error(&[said]);
        assert!(
            !page.contains("![") && page.contains("`@octocat`"),
            "{page}"
        );
        assert!(page.ends_with(
            "**To turn this check green:** correct what is named above, then run this job again."
        ));
    }

    #[test]
    fn pull_requests_that_share_a_head_are_named() {
        assert!(by_settling(&[2]).starts_with("settle or close #2, which shares this head"));
        assert!(by_settling(&[2, 3]).starts_with("settle or close #2, #3, which share this head"));
    }
}
