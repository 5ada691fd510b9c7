//! Characters that a reader cannot see, and text with them spelled out.

use std::borrow::Cow;

/// The text with every character that hides, or that moves the cursor, spelled out as `\u{…}`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c == '\t' || !(is_hidden(c) || is_selector(c));
    if text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = None;
    for c in text.chars() {
        if plain(c) || (is_selector(c) && before.is_some_and(takes_selector)) {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
        before = Some(c);
    }
    Cow::Owned(shown)
}

/// Characters that a reader cannot see or that reorder what he sees: controls, and what Unicode lets a font ignore
/// (`Default_Ignorable_Code_Point`), line separators and interlinear marks. Selectors of emoji are no such ones.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Text or picture: what chooses the look of the one character before it.
#[must_use]
pub fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Whether a selector after this character has something to select. A row of them would be a message in itself.
#[must_use]
pub fn takes_selector(c: char) -> bool {
    !(c.is_whitespace() || is_hidden(c) || is_selector(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p3_one_selector_belongs_to_an_emoji_and_a_row_of_them_is_a_message() {
        assert_eq!(visible("⚠\u{fe0f} x"), "⚠\u{fe0f} x");
        let row = visible("⚠\u{fe0f}\u{fe0e}\u{fe0f} \u{fe0f}");
        assert_eq!(row, "⚠\u{fe0f}\\u{fe0e}\\u{fe0f} \\u{fe0f}");
    }
}
