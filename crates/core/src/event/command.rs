//! Commands of people who mention the reviewer: a review, a dismissal, help, or an answer. Separate from the detection
//! of mentions, because the event decides that before anything is read, and this is decided for older comments, too.

use super::mention::addressed;
use crate::domain::CommentId;

/// The command in a line that begins with the mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Review,
    /// Again, although the head was reviewed.
    ReviewFull,
    Help,
    /// The head is to be green although not everything was done.
    Accept,
    /// A finding is to be closed: that of the thread, or the one whose comment is named.
    Dismiss(Option<CommentId>),
    /// Open findings are to be fixed: that of the thread, or all of them.
    Fix,
    /// No more fixes on this pull request.
    FixStop,
    /// Fixes may go on, with as many cycles again.
    FixResume,
    /// Anything else, as it was written, to the end of the comment.
    Question(String),
}

/// Words that change nothing about what is asked.
const COURTESY: [&str; 9] = [
    "please", "again", "now", "this", "the", "pull", "request", "pr", "me",
];

/// Markup that may stand before a mention which begins its line.
const MARKUP: [char; 6] = ['*', '_', '~', '#', '-', '+'];

/// Characters between the mention and the command.
const SEPARATORS: [char; 10] = ['*', '_', '~', ',', ':', ';', '-', '–', '—', '.'];

/// The first line of `body` that begins with `mention` (with its `@`), outside code, quotes and links.
#[must_use]
pub fn command(body: &str, mention: &str) -> Option<Command> {
    let places = addressed(body, mention);
    let rest = places.into_iter().flatten().find_map(|place| {
        let before = body.get(..place.start)?;
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        let indent = |c: char| c.is_whitespace() || MARKUP.contains(&c);
        let begins = before.get(line..)?.chars().all(indent);
        begins.then(|| body.get(place.end..)).flatten()
    })?;
    let rest = rest
        .trim_start_matches(|c: char| c != '\n' && (c.is_whitespace() || SEPARATORS.contains(&c)));
    let line = rest.lines().next().unwrap_or_default();
    if let Some(dismissal) = dismissal(line) {
        return Some(dismissal);
    }
    let words = words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Some(match words.as_slice() {
        [] | ["review"] => Command::Review,
        ["review", "full"] | ["full", "review"] => Command::ReviewFull,
        ["help"] => Command::Help,
        ["accept"] => Command::Accept,
        ["fix"] | ["fix", "it" | "all" | "them"] => Command::Fix,
        ["fix", "stop"] => Command::FixStop,
        ["fix", "resume"] => Command::FixResume,
        _ => Command::Question(rest.trim().to_owned()),
    })
}

/// A line that says "dismiss", with or without a comment, and nothing else: prose closes nothing.
fn dismissal(line: &str) -> Option<Command> {
    let mut said = line.split_whitespace().filter(|word| {
        let bare = words(word);
        word.contains("discussion_r") || !bare.is_empty()
    });
    let first = said.next().map(words)?;
    let named = said.next();
    if first != ["dismiss"] || said.next().is_some() {
        return None;
    }
    match named.map(comment_in) {
        Some(None) => None,
        comment => Some(Command::Dismiss(comment.flatten())),
    }
}

/// The comment that a link or a number names.
fn comment_in(word: &str) -> Option<CommentId> {
    let number = match word.rsplit_once("discussion_r") {
        Some((_, rest)) => rest.split(|c: char| !c.is_ascii_digit()).next()?,
        None => word.trim_matches(|c: char| !c.is_alphanumeric()),
    };
    number.parse().ok().map(CommentId)
}

/// The words of a line that say something.
fn words(line: &str) -> Vec<String> {
    let bare = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.to_lowercase()
    };
    let says = |word: &String| !word.is_empty() && !COURTESY.contains(&word.as_str());
    line.split_whitespace().map(bare).filter(says).collect()
}

#[cfg(test)]
mod tests {
    use super::{Command, command};
    use crate::domain::CommentId;

    fn asked(body: &str) -> Option<Command> {
        command(body, "@review-my-code-bot")
    }

    fn question(text: &str) -> Command {
        Command::Question(text.into())
    }

    #[test]
    fn a_review_is_asked_for_in_many_ways() {
        for body in [
            "@review-my-code-bot",
            "@review-my-code-bot review",
            "@Review-My-Code-Bot Review, please!",
            "@review-my-code-bot please review this PR again",
            "**@review-my-code-bot** review",
            "- @review-my-code-bot: review.",
            "Done!\r\n\r\n@review-my-code-bot, again?\r\nAll fixed.",
            "@review-my-code-bot\n\nAll fixed.",
            "@review\\-my\\-code\\-bot review",
        ] {
            assert_eq!(asked(body), Some(Command::Review), "{body}");
        }
        for body in [
            "@review-my-code-bot review full",
            "@review-my-code-bot REVIEW  Full.",
            "@review-my-code-bot full review please",
        ] {
            assert_eq!(asked(body), Some(Command::ReviewFull), "{body}");
        }
        for body in [
            "@review-my-code-bot accept",
            "@review-my-code-bot please accept this PR.",
        ] {
            assert_eq!(asked(body), Some(Command::Accept), "{body}");
        }
        for body in ["@review-my-code-bot help", "@review-my-code-bot, help me!"] {
            assert_eq!(asked(body), Some(Command::Help), "{body}");
        }
    }

    #[test]
    fn a_dismissal_is_the_word_alone_or_with_a_comment() {
        for (body, comment) in [
            ("@review-my-code-bot dismiss", None),
            (
                "@review-my-code-bot Dismiss this, please.\nA false alarm.",
                None,
            ),
            ("@review-my-code-bot dismiss 123", Some(123)),
            (
                "@review-my-code-bot dismiss https://github.com/a/b/pull/1#discussion_r123",
                Some(123),
            ),
            (
                "@review-my-code-bot dismiss <https://github.com/a/b/pull/1/files#discussion_r123>.",
                Some(123),
            ),
            (
                "@review-my-code-bot dismiss [it](https://github.com/a/b/pull/1#discussion_r123)",
                Some(123),
            ),
        ] {
            let expected = Command::Dismiss(comment.map(CommentId));
            assert_eq!(asked(body), Some(expected), "{body}");
        }
        for body in [
            "@review-my-code-bot do not dismiss",
            "@review-my-code-bot dismiss nothing",
            "@review-my-code-bot dismiss only after it is fixed",
            "@review-my-code-bot dismiss https://example.com/#discussion_r",
            "@review-my-code-bot why dismiss?",
        ] {
            assert!(matches!(asked(body), Some(Command::Question(_))), "{body}");
        }
    }

    #[test]
    fn a_fix_is_asked_for_stopped_and_resumed() {
        for (body, expected) in [
            ("@review-my-code-bot fix", Command::Fix),
            ("@review-my-code-bot please fix this", Command::Fix),
            ("@review-my-code-bot fix all, please!", Command::Fix),
            ("@review-my-code-bot Fix stop", Command::FixStop),
            ("@review-my-code-bot fix resume.", Command::FixResume),
        ] {
            assert_eq!(asked(body), Some(expected), "{body}");
        }
        for body in [
            "@review-my-code-bot do not fix",
            "@review-my-code-bot fix the lock in `a.rs`",
            "@review-my-code-bot stop",
            "@review-my-code-bot how would you fix it?",
        ] {
            assert!(matches!(asked(body), Some(Command::Question(_))), "{body}");
        }
    }

    #[test]
    fn anything_else_is_a_question_with_all_that_follows() {
        assert_eq!(
            asked("@review-my-code-bot why does `pages` round down?"),
            Some(question("why does `pages` round down?"))
        );
        assert_eq!(
            asked("Hm.\n@review-my-code-bot, is this safe?\n```\nx()\n```\n"),
            Some(question("is this safe?\n```\nx()\n```"))
        );
        assert_eq!(
            asked("@review-my-code-bot help me understand this"),
            Some(question("help me understand this"))
        );
        assert_eq!(
            asked("@review-my-code-bot review the lock in `a.rs`: who holds it?"),
            Some(question("review the lock in `a.rs`: who holds it?"))
        );
    }

    #[test]
    fn only_a_line_that_begins_with_the_mention_commands() {
        for body in [
            "",
            "Please look, @review-my-code-bot.",
            "> @review-my-code-bot review",
            "`@review-my-code-bot review`",
            "```\n@review-my-code-bot review\n```",
            "[@review-my-code-bot](https://example.com) review",
            "`x` @review-my-code-bot review",
            "<!-- @review-my-code-bot review -->",
            "<pre>\n@review-my-code-bot review\n</pre>",
        ] {
            assert_eq!(asked(body), None, "{body}");
        }
    }

    #[test]
    fn the_first_such_line_counts() {
        let body = "> @review-my-code-bot help\n\ncc @review-my-code-bot\n@review-my-code-bot review full\n\n\
                    @review-my-code-bot why?";
        assert_eq!(asked(body), Some(Command::ReviewFull));
    }

    #[test]
    fn odd_text_is_survived() {
        for body in [
            "@review-my-code-bot\u{2028}review",
            "@review-my-code-bot 请看😀",
            "😀\n@review-my-code-bot &amp; review",
            "请看@review-my-code-bot谢谢",
            "@review-my-code-bot\u{0}",
        ] {
            let _ = asked(body);
        }
        assert_eq!(
            asked("ß😀\n@review-my-code-bot 请看"),
            Some(question("请看"))
        );
    }
}
