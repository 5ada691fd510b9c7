//! Detects mentions of the reviewer in a comment. Separate, because a mention starts a paid run: text that is quoted,
//! shown as code or part of an address must not count, and Markdown decides what is which.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// HTML elements whose text is code, a quote or a link, or is not shown as text at all.
const SILENT_ELEMENTS: [&str; 11] = [
    "a",
    "blockquote",
    "code",
    "kbd",
    "pre",
    "samp",
    "script",
    "style",
    "textarea",
    "title",
    "tt",
];

/// True if `body` mentions `mention` (with its `@`) outside code, quotes and links.
#[must_use]
pub fn mentions(body: &str, mention: &str) -> bool {
    !addressed(body, mention).is_empty()
}

/// Every place where `body` addresses `mention`, in order. `None` stands for one inside a block of HTML, whose
/// place in the source is not known.
pub(super) fn addressed(body: &str, mention: &str) -> Vec<Option<Range<usize>>> {
    let Some(name) = mention.strip_prefix('@').filter(|name| !name.is_empty()) else {
        return Vec::new();
    };
    // Most comments end here, without a parse.
    if !contains_ignoring_case(body, name) {
        return Vec::new();
    }
    let needle = format!("@{}", name.to_ascii_lowercase());
    let prose = Prose::parse(body);
    let text = prose.text.to_ascii_lowercase();
    let counts = |at: usize| {
        let (before, after) = (&text[..at], &text[at + needle.len()..]);
        starts_a_mention(before) && ends_a_mention(after) && !inside_a_url(before)
    };
    let found = text.match_indices(&needle).map(|(at, _)| at);
    found
        .filter(|at| counts(*at))
        .map(|at| prose.source(at..at + needle.len()))
        .collect()
}

fn contains_ignoring_case(body: &str, name: &str) -> bool {
    // An escape or an entity may stand inside the name, as in `review\-bot`: leave those to the parser.
    body.contains(['\\', '&', '*', '_'])
        || body
            .to_ascii_lowercase()
            .contains(&name.to_ascii_lowercase())
}

/// The text a reader takes as the author's own words; what lies between is replaced by a space.
#[derive(Default)]
struct Prose {
    text: String,
    /// The start of each piece: here, and in the source, if that is known.
    pieces: Vec<(usize, Option<usize>)>,
}

impl Prose {
    fn parse(body: &str) -> Self {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_GFM;
        let mut prose = Self::default();
        let mut html = String::new();
        let mut silent_markdown = 0_usize;
        let mut silent_html = 0_usize;
        for (event, span) in Parser::new_ext(body, options).into_offset_iter() {
            match event {
                Event::Start(tag) if is_silent(&tag) => silent_markdown += 1,
                Event::End(tag) if is_silent_end(tag) => {
                    silent_markdown = silent_markdown.saturating_sub(1);
                    prose.text.push(' ');
                }
                Event::Start(Tag::HtmlBlock) => html.clear(),
                Event::Html(text) => html.push_str(&text),
                Event::End(TagEnd::HtmlBlock) => {
                    let mut text = String::new();
                    read_html(&html, &mut silent_html, &mut text);
                    if silent_markdown == 0 {
                        prose.push(&text, None);
                    }
                    prose.text.push('\n');
                }
                // A single tag or comment: there is no text in it.
                Event::InlineHtml(tag) => read_html(&tag, &mut silent_html, &mut String::new()),
                Event::Text(text) if silent_markdown == 0 && silent_html == 0 => {
                    prose.push(&text, Some(span.start));
                }
                Event::Start(_) | Event::Text(_) => {}
                Event::End(end) if is_inline(end) => {}
                _ => prose.text.push('\n'),
            }
        }
        prose
    }

    fn push(&mut self, text: &str, source: Option<usize>) {
        self.pieces.push((self.text.len(), source));
        self.text.push_str(text);
    }

    /// Maps a range of the text to the source.
    fn source(&self, range: Range<usize>) -> Option<Range<usize>> {
        let place = |at: usize| {
            let next = self.pieces.partition_point(|(begin, _)| *begin <= at);
            let (begin, source) = self.pieces.get(next.checked_sub(1)?)?;
            Some((*source)? + at - begin)
        };
        Some(place(range.start)?..place(range.end.checked_sub(1)?)? + 1)
    }
}

fn is_silent(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::CodeBlock(_) | Tag::BlockQuote(_) | Tag::Link { .. } | Tag::Image { .. }
    )
}

fn is_silent_end(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::CodeBlock | TagEnd::BlockQuote(_) | TagEnd::Link | TagEnd::Image
    )
}

/// Emphasis does not part a word: `foo**@bot**` reads as one.
fn is_inline(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough
    )
}

/// Reads a piece of HTML: its text outside tags and comments goes to `prose`, `open` counts the silent
/// elements it is in. One that is never closed silences the rest: rather no run than one nobody asked for.
fn read_html(html: &str, open: &mut usize, prose: &mut String) {
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (text, tag) = rest.split_at(at);
        push_if(*open == 0, text, prose);
        if let Some(comment) = tag.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let inside = &tag[1..];
        let closing = inside.starts_with('/');
        let name = inside.trim_start_matches('/');
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?')) {
            push_if(*open == 0, "<", prose);
            rest = inside;
            continue;
        }
        let end = name.find(|c: char| !c.is_ascii_alphanumeric());
        let silent =
            |element: &&str| name[..end.unwrap_or(name.len())].eq_ignore_ascii_case(element);
        if SILENT_ELEMENTS.iter().any(silent) {
            *open = if closing {
                open.saturating_sub(1)
            } else {
                *open + 1
            };
        }
        rest = after_tag(inside);
    }
    push_if(*open == 0, rest, prose);
}

fn push_if(wanted: bool, text: &str, prose: &mut String) {
    if wanted {
        prose.push_str(text);
    }
}

/// Returns the text after the tag's `>`; one inside a quoted attribute does not end it.
fn after_tag(tag: &str) -> &str {
    let mut quote = None;
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (None, '>') => return &tag[at + 1..],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    ""
}

/// Scripts that part words by spaces have letter case; others may put a mention right after a word.
fn belongs_to_a_word(c: char) -> bool {
    c.is_numeric() || c.is_lowercase() || c.is_uppercase() || c == '_'
}

fn starts_a_mention(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|c| !belongs_to_a_word(c) && !matches!(c, '@' | '/' | '.' | '-' | '+'))
}

/// The login ends here: no longer name, no team (`@org/team`), no host name (`@bot.example`).
fn ends_a_mention(after: &str) -> bool {
    let rest = after.trim_start_matches('.');
    let dots = rest.len() != after.len();
    rest.chars()
        .next()
        .is_none_or(|c| !belongs_to_a_word(c) && (dots || !matches!(c, '-' | '/' | '@')))
}

/// GitHub links bare addresses; Markdown's grammar does not know them.
fn inside_a_url(before: &str) -> bool {
    let word = before
        .rsplit(|c: char| c.is_whitespace() || c == '<')
        .next()
        .unwrap_or_default();
    word.contains("://") || word.contains("www.")
}

#[cfg(test)]
mod tests {
    use super::mentions;

    const BOT: &str = "@review-my-code-bot";

    #[test]
    fn a_person_addresses_the_reviewer() {
        for body in [
            "@review-my-code-bot",
            "@Review-My-Code-BOT please look again",
            "Please look, @review-my-code-bot.",
            "Done!\r\n\r\n@review-my-code-bot, again?",
            "(@review-my-code-bot)",
            "cc:@review-my-code-bot",
            "**@review-my-code-bot** review",
            "- one\n- @review-my-code-bot two",
            "# @review-my-code-bot",
            "| a |\n|---|\n| @review-my-code-bot |",
            "> quoted\n\n@review-my-code-bot my own words",
            "`code` and @review-my-code-bot",
            "```\ncode\n```\n@review-my-code-bot",
            "<!-- a note --> @review-my-code-bot",
            "<!-- an unbalanced <code> -->\n\n@review-my-code-bot",
            "<details>\n<summary>More</summary>\n\n@review-my-code-bot\n\n</details>",
            "请看@review-my-code-bot谢谢",
            "see https://example.com and @review-my-code-bot",
            "[docs](https://example.com) @review-my-code-bot",
            "a@review-my-code-bot.example, @review-my-code-bot!",
            "<b>@review-my-code-bot</b>",
            "<div>\na < b, @review-my-code-bot\n</div>",
            "review\\-my @review\\-my\\-code\\-bot",
        ] {
            assert!(mentions(body, BOT), "{body}");
        }
    }

    #[test]
    fn code_quotes_links_and_comments_are_not_addressed_to_anybody() {
        for body in [
            "`@review-my-code-bot`",
            "``a ` @review-my-code-bot``",
            "```\n@review-my-code-bot\n```",
            "~~~text\n@review-my-code-bot\n~~~",
            "````\n```\n@review-my-code-bot\n````",
            "```\nnever closed\n@review-my-code-bot",
            "para\n\n    @review-my-code-bot",
            "> @review-my-code-bot",
            "> one\nlazy @review-my-code-bot",
            "> [!NOTE]\n> @review-my-code-bot",
            "- > @review-my-code-bot",
            "[@review-my-code-bot](https://example.com)",
            "[x](https://example.com/@review-my-code-bot)",
            "[x](https://example.com \"@review-my-code-bot\")",
            "![@review-my-code-bot](x.png)",
            "[x]: https://example.com \"@review-my-code-bot\"",
            "<https://example.com/@review-my-code-bot>",
            "https://example.com/@review-my-code-bot",
            "https://example.com/?q=a,@review-my-code-bot",
            "www.example.com/(@review-my-code-bot",
            "<!-- @review-my-code-bot -->",
            "text <!-- @review-my-code-bot --> text",
            "<!--\n@review-my-code-bot\n-->",
            "<code>@review-my-code-bot</code>",
            "<CODE class=\"x\">@review-my-code-bot</CODE>",
            "<pre>\n@review-my-code-bot\n</pre>",
            "<blockquote>\n\n@review-my-code-bot\n\n</blockquote>",
            "x <a href=\"https://example.com\">@review-my-code-bot</a>",
            "x <img alt=\"@review-my-code-bot\">",
            "<div title=\"> @review-my-code-bot\">x</div>",
            "<div><code>@review-my-code-bot</code></div>",
            "<script>\n@review-my-code-bot\n</script>",
            "<div\n@review-my-code-bot",
        ] {
            assert!(!mentions(body, BOT), "{body}");
        }
    }

    #[test]
    fn other_accounts_and_addresses_are_not_ours() {
        for body in [
            "",
            "review-my-code-bot",
            "@review-my-code-bot2",
            "@review-my-code-bot-beta",
            "@review-my-code-bot_x",
            "@review-my-code-bot/team",
            "@x/review-my-code-bot",
            "@x/@review-my-code-bot",
            "@my@review-my-code-bot",
            "dev@review-my-code-bot",
            "dev@review-my-code-bot.example",
            "dev.@review-my-code-bot",
            "dev+x@review-my-code-bot.example",
            "mailto:dev-@review-my-code-bot.example",
            "@review-my-code-bot.example",
            "@review-my-code-bot@social.example",
            "@not-review-my-code-bot",
            "josé@review-my-code-bot",
            "＠review-my-code-bot",
            "foo<b>@review-my-code-bot</b>",
        ] {
            assert!(!mentions(body, BOT), "{body}");
        }
    }

    #[test]
    fn an_empty_mention_matches_nothing() {
        assert!(!mentions("@ hello", "@"));
        assert!(!mentions("hello", ""));
    }

    #[test]
    fn hostile_nesting_is_survived() {
        let deep = format!("{}@review-my-code-bot", "> ".repeat(20_000));
        assert!(!mentions(&deep, BOT));
        let open = format!("{} @review-my-code-bot", "[".repeat(20_000));
        assert!(mentions(&open, BOT));
        let tags = format!("x {} @review-my-code-bot", "<b>".repeat(20_000));
        assert!(mentions(&tags, BOT));
    }
}
