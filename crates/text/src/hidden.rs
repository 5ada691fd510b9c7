//! Characters that a reader cannot see, and text with them spelled out. The one list of them: a user that needs another set
//! takes a named part of it from here, so that no two lists drift apart.

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

/// A character that ends a line, or that some reader takes for the end of one. All are hidden; where text has lines, they
/// become line feeds rather than nothing, so that no two words join.
#[must_use]
pub fn is_line_break(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The ASCII character that a tag stands for. All are hidden; a search for secrets reads them, because a model does.
#[must_use]
pub(crate) fn tagged_ascii(c: char) -> Option<char> {
    match c {
        '\u{e0020}'..='\u{e007e}' => char::from_u32(u32::from(c) - 0xe0000),
        _ => None,
    }
}

/// Text or picture: what chooses the look of the one character before it.
#[must_use]
pub(crate) fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// True if a selector after this character has something to select. A row of them would be a message in itself.
#[must_use]
pub(crate) fn takes_selector(c: char) -> bool {
    !(c.is_whitespace() || is_hidden(c) || is_selector(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unicode's `Default_Ignorable_Code_Point`, as `DerivedCoreProperties.txt` lists it.
    #[rustfmt::skip]
    const IGNORABLE: &[std::ops::RangeInclusive<char>] = &[
        '\u{ad}'..='\u{ad}', '\u{34f}'..='\u{34f}', '\u{61c}'..='\u{61c}', '\u{115f}'..='\u{1160}',
        '\u{17b4}'..='\u{17b5}', '\u{180b}'..='\u{180f}', '\u{200b}'..='\u{200f}', '\u{202a}'..='\u{202e}',
        '\u{2060}'..='\u{206f}', '\u{3164}'..='\u{3164}', '\u{fe00}'..='\u{fe0f}', '\u{feff}'..='\u{feff}',
        '\u{ffa0}'..='\u{ffa0}', '\u{fff0}'..='\u{fff8}', '\u{1bca0}'..='\u{1bca3}', '\u{1d173}'..='\u{1d17a}',
        '\u{e0000}'..='\u{e0fff}',
    ];

    #[test]
    fn hidden_are_controls_what_a_font_may_ignore_line_separators_and_interlinear_marks() {
        for c in '\0'..=char::MAX {
            let ignorable = IGNORABLE.iter().any(|range| range.contains(&c));
            let other = matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}');
            let expected = c.is_control() || ignorable || other;
            assert_eq!(is_hidden(c) || is_selector(c), expected, "{c:?}");
            assert!(!(is_hidden(c) && is_selector(c)), "{c:?}");
        }
    }

    #[test]
    fn the_named_parts_are_parts_of_the_list() {
        let part = |is_in: fn(char) -> bool| -> String {
            let inside = ('\0'..=char::MAX).filter(|c| is_in(*c));
            inside
                .inspect(|c| assert!(is_hidden(*c), "{c:?}"))
                .collect()
        };
        assert_eq!(part(is_line_break), "\n\u{b}\u{c}\r\u{85}\u{2028}\u{2029}");
        let tags = part(|c| tagged_ascii(c).is_some());
        let ascii: String = tags.chars().filter_map(tagged_ascii).collect();
        assert_eq!(ascii, (' '..='~').collect::<String>());
    }

    #[test]
    fn p3_one_selector_belongs_to_an_emoji_and_a_row_of_them_is_a_message() {
        assert_eq!(visible("⚠\u{fe0f} x"), "⚠\u{fe0f} x");
        let row = visible("⚠\u{fe0f}\u{fe0e}\u{fe0f} \u{fe0f}");
        assert_eq!(row, "⚠\u{fe0f}\\u{fe0e}\\u{fe0f} \\u{fe0f}");
    }
}
