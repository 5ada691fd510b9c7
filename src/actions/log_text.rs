//! Making text safe for the log and for the runner's files: the runner's escapes, and the removal of what a terminal
//! or a runner would obey. Pure, so that it can be tried against hostile text.

use reviewer_text::fence::without;
use reviewer_text::line::{Line, Style};
use reviewer_text::prose::strip;
use serde_json::Value;
use std::fmt::Write as _;

/// The mark that the runner takes for a command anywhere in a line, and the same without that power.
const LEGACY: (&str, &str) = ("##[", "## [");

/// Marks each line of foreign text. It begins with blanks, because matchers for compilers' messages, which other
/// actions install, look at the start of a line and do not heed `stop-commands`.
const MARK: &str = "  | ";

/// The data of a workflow command whose words may be foreign.
pub(super) fn command_data(text: &str) -> String {
    escape(&visible(text).replace(LEGACY.0, LEGACY.1))
}

/// As the runner reads it back, byte for byte.
pub(super) fn escape(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
pub(super) fn command_property(text: &str) -> String {
    command_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// On one line, whatever it was on before, and no command there.
pub(super) fn one_line(text: &str) -> String {
    inert(&visible(text).replace('\n', "\\n"))
}

/// A line that is no command: the runner takes `::` after leading space, and `##[` anywhere.
pub(super) fn inert(line: &str) -> String {
    let line = line.replace(LEGACY.0, LEGACY.1);
    if line.trim_start().starts_with("::") {
        format!("| {line}")
    } else {
        line
    }
}

/// Foreign text, each line marked.
pub(super) fn quoted(text: &str) -> String {
    lines(text).iter().fold(String::new(), |quoted, line| {
        quoted + MARK + &inert(line) + "\n"
    })
}

/// The same for a runner, which obeys nothing in it until it meets the token again. It compares without case.
pub(super) fn stopped(text: &str, token: &str) -> String {
    let quoted = without(&quoted(text), token, "[token]");
    format!("::stop-commands::{token}\n{quoted}::{token}::\n")
}

/// A message of the reviewer that may quote foreign text: its first line begins it, the others are marked.
pub(super) fn message(text: &str) -> String {
    let lines = lines(text);
    let shown: Vec<String> = lines.iter().map(|line| inert(line)).collect();
    format!("{}\n", shown.join(&format!("\n{MARK}")))
}

/// Lines in a shape of the reviewer's own, such as a table whose cells may be foreign.
pub(super) fn table(text: &str) -> String {
    let lines = lines(text);
    let shown: Vec<String> = lines.iter().map(|line| inert(line)).collect();
    format!("{}\n", shown.join("\n"))
}

/// Lines of pieces whose words may be foreign. Colours are the reviewer's alone, and a line that had to be changed has
/// none.
pub(super) fn page(page: &[Line], colours: bool) -> String {
    let mut out = String::new();
    for line in page {
        let pieces = line.iter().map(|piece| {
            let text = visible(&piece.text).replace('\n', " ");
            (piece.style, text)
        });
        let pieces: Vec<(Style, String)> = pieces.collect();
        let plain: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
        let safe = inert(&plain);
        if colours && safe == plain {
            out.extend(pieces.iter().map(|(style, text)| coloured(*style, text)));
        } else {
            out.push_str(&safe);
        }
        out.push('\n');
    }
    out
}

fn coloured(style: Style, text: &str) -> String {
    let code = match style {
        Style::Plain => return text.to_owned(),
        Style::Strong => "1",
        Style::Faint => "2",
        Style::Good => "32",
        Style::Warning => "33",
        Style::Bad => "31",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// JSON that a log may hold: the same data, with what a runner or a terminal would obey written as escapes. No line
/// of it begins with a colon.
pub(super) fn json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut out = String::with_capacity(text.len() + 1);
    for c in text.replace(LEGACY.0, "##\\u005b").chars() {
        if c != '\n' && c.is_control() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out.push('\n');
    out
}

/// A page of HTML that a log may hold: the same page, with what a runner would obey written as references. It holds nothing
/// that a terminal would obey.
pub(super) fn html(page: &str) -> String {
    let mut out = String::with_capacity(page.len() + 1);
    for line in page.lines() {
        let line = line.replace(LEGACY.0, "#&#35;[");
        let words = line.trim_start();
        match words.strip_prefix("::") {
            Some(rest) => {
                out.push_str(&line[..line.len() - words.len()]);
                out.push_str("&#58;:");
                out.push_str(rest);
            }
            None => out.push_str(&line),
        }
        out.push('\n');
    }
    out
}

/// One output for the runner's file; `None` where the value holds the delimiter, and could go on after it.
pub(super) fn output(name: &str, value: &str, delimiter: &str) -> Option<String> {
    let collides = value.contains(delimiter);
    (!collides).then(|| format!("{name}<<{delimiter}\n{value}\n{delimiter}\n"))
}

/// At most `limit` bytes, ending with a whole character.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The text as a person would see it: no escape sequences, no control or hidden characters. Whatever ends a line is a
/// line feed, and a tab is a space.
pub(super) fn visible(text: &str) -> String {
    let (clean, _) = strip(&without_sequences(text));
    clean.replace('\t', " ")
}

fn lines(text: &str) -> Vec<String> {
    let clean = visible(text);
    let lines = clean.trim_end_matches('\n').split('\n');
    lines.map(str::to_owned).collect()
}

/// Removes the sequences that begin with ESC, or with the one character that stands for ESC and another.
fn without_sequences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            _ => out.push(c),
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(chars),
        _ => {
            chars.next_if(char::is_ascii_graphic);
        }
    }
}

/// An operating system command (a title, a link) ends with BEL or ESC \, and never spans lines here.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| !matches!(c, '\n' | '\r')) {
        let ends = matches!(c, '\u{7}' | '\u{9c}');
        if ends || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
            break;
        }
    }
}

/// Parameters, then one final character.
fn skip_csi(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}
