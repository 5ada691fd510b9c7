//! Text of others inside a line of Markdown: in bold, in a cell of a table, in a fence. It is words and code there, and
//! ends where it ends.

use crate::hidden::{is_hidden, is_line_break};
use crate::sanitize::clean;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// A text as one line of words and code, which can stand in bold and behind other words. What cannot be made so is shown as
/// code.
#[must_use]
pub fn sentence(text: &str) -> String {
    let line = one_line(text);
    if line.is_empty() {
        return line;
    }
    // Behind a word, because a line that begins like a list or a quote would be read as one.
    let cleaned = clean(&format!("{BEFORE}{line}"));
    let shown = cleaned
        .strip_prefix(BEFORE)
        .map(|text| escaped(text.trim()));
    match shown {
        Some(shown) if is_words(&shown) => shown,
        _ => code(&line),
    }
}

/// The same in a cell of a table, at most so many characters long.
#[must_use]
pub fn cell(text: &str, most: usize) -> String {
    let mut line = shortened(&one_line(text), most);
    // A backslash before a pipe would escape the backslash that escapes the pipe.
    while line.contains("\\|") {
        line = line.replace("\\|", "|");
    }
    sentence(&line).replace('|', "\\|")
}

/// A name as code, whatever backticks are in it.
#[must_use]
pub fn code(name: &str) -> String {
    match longest_run(name) {
        0 => format!("`{name}`"),
        longest => {
            let ticks = "`".repeat(longest + 1);
            format!("{ticks} {name} {ticks}")
        }
    }
}

/// A text in a fence that is longer than any run of backticks inside it.
#[must_use]
pub fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

const BEFORE: &str = "x ";

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

/// The first characters, with a mark where some are left out.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// One line without hidden characters, in which no fence can open.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_whitespace() || is_line_break(c) => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c if is_hidden(c) => {}
            '`' | '~' if out.ends_with(&format!("{c}{c}")) => {}
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

/// The text with everything escaped that Markdown would take for more than words, but for code.
fn escaped(text: &str) -> String {
    let source = format!("{BEFORE}{text}");
    let mut out = String::with_capacity(text.len() + 8);
    let mut done = BEFORE.len();
    for span in code_spans(&source) {
        escape(&mut out, &source[done..span.start]);
        out.push_str(&source[span.clone()]);
        done = span.end;
    }
    escape(&mut out, &source[done..]);
    out
}

fn code_spans(source: &str) -> Vec<Range<usize>> {
    let events = parser(source).into_offset_iter();
    let spans = events.filter_map(|(event, span)| matches!(event, Event::Code(_)).then_some(span));
    spans.collect()
}

fn escape(out: &mut String, prose: &str) {
    let mut before = None;
    let mut rest = prose.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        match c {
            '\\' => match next {
                Some(next) if next.is_ascii_punctuation() => {
                    out.extend([c, next]);
                    rest.next();
                    before = Some(next);
                    continue;
                }
                _ => out.push_str("\\\\"),
            },
            '_' if is_inside_a_word(before, next) => out.push(c),
            '*' | '_' | '~' | '[' | ']' | '<' | '`' => out.extend(['\\', c]),
            '(' | ':' if before == Some(']') => out.extend(['\\', c]),
            c => out.push(c),
        }
        before = Some(c);
    }
}

/// An underscore between letters or digits is no emphasis.
fn is_inside_a_word(before: Option<char>, next: Option<char>) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    is_word(before) && is_word(next)
}

fn parser(source: &str) -> Parser<'_> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    Parser::new_ext(source, options)
}

/// Returns true if the line, in bold, is words and code and nothing that GitHub acts on.
fn is_words(line: &str) -> bool {
    let plain = format!("{BEFORE}{line}");
    if clean(&plain) != plain {
        return false;
    }
    let bold = format!("{BEFORE}**{line}** {BEFORE}");
    let mut depth = 0_usize;
    let mut strong = 0_usize;
    for event in parser(&bold) {
        match event {
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => {}
            Event::Start(Tag::Strong) if strong == 0 && depth == 0 => {
                strong += 1;
                depth += 1;
            }
            Event::End(TagEnd::Strong) if depth == 1 => depth = 0,
            Event::Text(text) if depth == 0 => {
                if text.trim() != BEFORE.trim() {
                    return false;
                }
            }
            Event::Text(_) | Event::Code(_) if depth == 1 => {}
            _ => return false,
        }
    }
    strong == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::active::active;
    use proptest::prelude::*;

    #[test]
    fn words_and_code_stay_as_they_are() {
        for text in [
            "`orderOf()` no longer checks that the order belongs to the user.",
            "lastPage() of an empty list asks for page 0, and pages begin with 1.",
            "user_id is not compared (see `a|b`), so 3 < 4.",
        ] {
            let expected = text.replace('<', "&lt;");
            assert_eq!(sentence(text), expected);
        }
    }

    #[test]
    fn what_would_end_the_bold_or_the_cell_is_escaped() {
        for (text, shown) in [
            ("a ** b", "a \\*\\* b"),
            ("src/__init__.py", "src/\\_\\_init\\_\\_.py"),
            ("two\nlines\r\n\r\nand more", "two lines and more"),
            ("- no list", "- no list"),
            ("# no heading", "# no heading"),
            ("ends with a backslash\\", "ends with a backslash\\\\"),
            ("```rmcoc\n{}\n```", "``rmcoc {} ``"),
            ("a | b", "a | b"),
        ] {
            assert_eq!(sentence(text), shown, "{text:?}");
        }
        assert_eq!(cell("a | `b|c` \\| d", 99), "a \\| `b\\|c` \\| d");
        assert_eq!(cell("abcdef", 3), "abc…");
    }

    #[test]
    fn what_cannot_be_words_is_code() {
        for text in [
            "[x](@octocat)",
            "[a]: //b",
            "<b>@octocat</b>",
            "**@**octocat",
        ] {
            let shown = sentence(text);
            assert!(is_words(&shown), "{text:?} became {shown:?}");
            assert_eq!(active(&format!("🔴 **{shown}** x")), Vec::<String>::new());
        }
    }

    #[test]
    fn a_fence_is_longer_than_the_ones_inside() {
        assert_eq!(fenced("text", "a"), "```text\na\n```");
        assert_eq!(fenced("text", "````\na"), "`````text\n````\na\n`````");
    }

    /// Counts the cells of a row.
    fn cells(row: &str) -> usize {
        let table = format!("| a | b |\n| --- | --- |\n{row}\n");
        let body = parser(&table).filter(|event| matches!(event, Event::Start(Tag::TableCell)));
        body.count() - 2
    }

    const HOSTILE: &str = "(?s)(`|``|\\*\\*|\\*|_|__|~~|\\||\\\\|\\[|\\]|\\(|\\)|<b>|<!--|-->|</details>|@octocat|#1|https://evil.example|rmcoc|\n|\r\n| |a|ä|&lt;|&#64;|!|:|>|- |1\\. |\\$|\u{200b}){0,24}";

    proptest! {
        #[test]
        fn no_text_leaves_its_line_its_bold_or_its_cell(text in HOSTILE) {
            let shown = sentence(&text);
            prop_assert!(!shown.contains('\n'));
            prop_assert!(shown.is_empty() || is_bold(&shown), "{text:?} became {shown:?}");
            let line = format!("🔴 **{shown}** Security");
            prop_assert_eq!(active(&line), Vec::<String>::new(), "{:?}", text);
            let row = format!("| {} | b |", cell(&text, 40));
            prop_assert_eq!(cells(&row), 2, "{:?} became {:?}", text, row);
            prop_assert_eq!(active(&format!("| a | b |\n| --- | --- |\n{row}\n")), Vec::<String>::new());
        }
    }

    /// Returns true if one strong span holds it all.
    fn is_bold(shown: &str) -> bool {
        let line = format!("🔴 **{shown}** Security");
        let mut outside = String::new();
        let mut strong = 0;
        let mut inside = false;
        for event in parser(&line) {
            match event {
                Event::Start(Tag::Strong) => (strong, inside) = (strong + 1, true),
                Event::End(TagEnd::Strong) => inside = false,
                Event::Text(text) if !inside => outside.push_str(&text),
                Event::Code(_) if !inside => return false,
                _ => {}
            }
        }
        strong == 1 && outside == "🔴  Security"
    }
}
