//! Text in lines of a terminal's width. Pure.

use reviewer_text::line::{Line, Piece, Style};

pub(super) fn piece(style: Style, text: impl Into<String>) -> Piece {
    let text = text.into();
    Piece { style, text }
}

/// Pieces of one paragraph as lines of at most `width` columns; a word that is longer has a line of its own. `indent`
/// stands before every line but the first.
pub(super) fn wrapped(pieces: &[Piece], indent: &str, width: usize) -> Vec<Line> {
    let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    let lead: String = text.chars().take_while(|c| *c == ' ').collect();
    let options = textwrap::Options::new(width.max(20))
        .initial_indent(&lead)
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let texts = textwrap::wrap(text.trim_start_matches(' '), options);
    if let [_] = texts.as_slice() {
        return vec![pieces.to_vec()];
    }
    // The first line begins as the pieces do; what follows looks like the last of them.
    let last = pieces.last().map_or(Style::Plain, |piece| piece.style);
    let mut lines: Vec<Line> = Vec::new();
    for text in texts {
        if lines.is_empty() {
            lines.push(styled(pieces, &text));
        } else {
            lines.push(vec![piece(last, text)]);
        }
    }
    lines
}

/// The beginning of the pieces that is this text.
fn styled(pieces: &[Piece], text: &str) -> Line {
    let mut rest = text;
    let mut line = Line::new();
    for one in pieces {
        let (taken, left) = match rest.strip_prefix(one.text.as_str()) {
            Some(left) => (one.text.as_str(), left),
            None => (rest, ""),
        };
        if !taken.is_empty() {
            line.push(piece(one.style, taken));
        }
        rest = left;
    }
    line
}

/// The indent below the first words of a line of text, which may be an item of a list.
pub(super) fn hanging(line: &str) -> String {
    let words = line.trim_start();
    let before = line.len() - words.len();
    let mark = words.split(' ').next().unwrap_or_default();
    let number = mark.strip_suffix(['.', ')']).unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let mark = if matches!(mark, "-" | "*" | "+") || is_number {
        mark.len() + 1
    } else {
        0
    };
    " ".repeat(2 + before + mark)
}

/// Items on lines of at most `width` columns.
pub(super) fn joined(items: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            Some(line) if line.chars().count() + item.chars().count() + 3 <= width => {
                line.push_str(" · ");
                line.push_str(item);
            }
            _ => lines.push(item.clone()),
        }
    }
    lines
}
