//! Cleans the model's own text before it is said: nothing in it may pass for a block of the reviewer, be committed with
//! a click, call or lead anybody anywhere, give an order to another bot, or hide from the reader.

mod links;
mod references;

pub use links::is_allowed;

use crate::hidden::{is_hidden, is_line_break};
use links::{parser, unlinked};
use pulldown_cmark::{CodeBlockKind, Event, Tag};

/// Languages of fences that mean something to GitHub or to the reviewer. A comment illustrates; it never carries a
/// committable change, and GitHub shows its code as code: a diagram, a map, a model or a formula is drawn from text
/// that was not cleaned.
const SPECIAL_FENCES: &[&str] = &[
    "suggestion",
    "rmcoc",
    "mermaid",
    "geojson",
    "topojson",
    "stl",
    "math",
];

/// The text as Markdown that does nothing but be read. Cleaning twice is cleaning once.
#[must_use]
pub fn clean(text: &str) -> String {
    let text: String = text
        .replace("\r\n", "\n")
        .replace(is_line_break, "\n")
        .chars()
        .filter(|c| matches!(c, '\n' | '\t') || !is_hidden(*c))
        .collect();
    close_fences(until_stable(text.replace("<!--", "&lt;!--")))
}

/// True if a cleaned text still means the same behind other words in the same line.
#[must_use]
pub fn begins_with_words(cleaned: &str) -> bool {
    let words = matches!(parser(cleaned).next(), Some(Event::Start(Tag::Paragraph)));
    // What only the missing head keeps from being a table.
    let rule = |line: &str| !line.trim().is_empty() && !line.contains(char::is_alphanumeric);
    words && !cleaned.lines().nth(1).is_some_and(rule)
}

/// Words that take the place of a link can form another one, or begin a line, with what stands around them; so this is
/// done until nothing changes. A text that never becomes stable is shown as it is written.
fn until_stable(mut text: String) -> String {
    for _ in 0..4 {
        let next = references::inert(&unlinked(&plain_lines(&text)));
        if next == text {
            return text;
        }
        text = next;
    }
    as_code(&text)
}

/// Without what a line means by its beginning: a diff that goes on, a fence that is special.
fn plain_lines(text: &str) -> String {
    let kept = without_dumps(text);
    kept.split_inclusive('\n').map(plain_fence).collect()
}

/// Without the diffs that somebody had printed: they are the change itself, and a way to print what is not.
#[must_use]
pub fn without_dumps(text: &str) -> String {
    const HEADERS: [&str; 11] = [
        "diff --git ",
        "index ",
        "--- ",
        "+++ ",
        "@@",
        "new file",
        "deleted file",
        "rename ",
        "similarity ",
        "old mode",
        "Binary files",
    ];
    let mut out = String::with_capacity(text.len());
    let mut in_dump = false;
    for line in text.split_inclusive('\n') {
        if line
            .trim_start_matches([' ', '\t', '>'])
            .starts_with("diff --git ")
        {
            if !in_dump {
                out.push_str("[diff removed]\n");
            }
            in_dump = true;
            continue;
        }
        let part = line.starts_with(['+', '-', ' ', '\\']);
        in_dump = in_dump && (part || HEADERS.iter().any(|header| line.starts_with(header)));
        if !in_dump {
            out.push_str(line);
        }
    }
    out
}

/// A line that opens a special fence, at any indentation and in any quote, opens a `text` fence instead. So does one
/// whose language is spelled with escapes or entities: no language needs them.
fn plain_fence(line: &str) -> String {
    let sign = |c: char| c.is_ascii_digit() || " \t>-*+.)".contains(c);
    let content = line.trim_start_matches(sign);
    let fence = content.trim_start_matches(['`', '~']);
    let marks = content.len() - fence.len();
    let info = fence.trim();
    let word = info
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let special = SPECIAL_FENCES
        .iter()
        .any(|special| word.eq_ignore_ascii_case(special));
    let language = info.split_whitespace().next().unwrap_or_default();
    // Between backticks it is code in a line, and no fence.
    let in_line = content.starts_with('`') && info.contains('`');
    let disguised = !in_line && language.contains(['&', '\\']);
    // GitHub does not show the words behind the language, and whoever copies the text gets them.
    let hides_words = !in_line && info.len() > language.len();
    if marks < 3 || !(special || disguised || hides_words) {
        return line.to_owned();
    }
    let before = &line[..line.len() - fence.len()];
    let end = if line.ends_with('\n') { "\n" } else { "" };
    let language = if special || disguised {
        "text"
    } else {
        language
    };
    format!("{before}{language}{end}")
}

/// A fence or an HTML element left open would swallow what is appended. The mildest repair that lets a new
/// paragraph stand on its own is taken.
fn close_fences(text: String) -> String {
    if ends_clean(&text) {
        return text;
    }
    let escaped = text.replace('<', "&lt;");
    let candidates = [
        with_closing_fence(&text),
        escaped.clone(),
        with_closing_fence(&escaped),
    ];
    candidates
        .into_iter()
        .find(|candidate| ends_clean(candidate))
        .unwrap_or_else(|| as_code(&text))
}

fn as_code(text: &str) -> String {
    let text = plain_lines(text).replace('\n', "\n    ");
    references::without_commands(&format!("    {text}"))
}

/// True if a paragraph appended to the text would be a paragraph.
fn ends_clean(text: &str) -> bool {
    let probe = format!("{text}\n\nprobe");
    let mut depth = 0_usize;
    let mut last = None;
    for (event, span) in parser(&probe).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    last = Some((matches!(tag, Tag::Paragraph), span));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    last.is_some_and(|(paragraph, span)| paragraph && &probe[span] == "probe")
}

fn with_closing_fence(text: &str) -> String {
    let mut fence = String::new();
    for (event, span) in parser(text).into_offset_iter() {
        if let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) = event {
            let source = &text[span];
            let mark = source.chars().next().unwrap_or('`');
            fence = source.chars().take_while(|c| *c == mark).collect();
        }
    }
    format!("{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests;
