//! Tests of what an edit changes, and of what it never changes.

use super::*;
use proptest::prelude::*;

fn text(content: &str) -> FileText {
    FileText::parse(content.as_bytes()).unwrap()
}

fn replaced(content: &str, old: &str, new: &str) -> String {
    let text = text(content).replace(old, new).unwrap();
    String::from_utf8(text.to_bytes()).unwrap()
}

fn refused(content: &str, old: &str, new: &str) -> String {
    text(content).replace(old, new).unwrap_err().to_string()
}

#[test]
fn only_utf_8_without_nul_is_edited() {
    for (bytes, reason) in [
        (&b"\xff\xfea\0"[..], NotText::Utf16),
        (b"\xfe\xff\0a", NotText::Utf16),
        (b"a\0b", NotText::Nul),
        (b"a\0b\0", NotText::Nul),
        (b"one\ncaf\xe9\n", NotText::NotUtf8 { line: 2 }),
        (b"\xed\xa0\x80", NotText::NotUtf8 { line: 1 }),
    ] {
        assert_eq!(FileText::parse(bytes), Err(reason), "{bytes:?}");
    }
    assert!(FileText::parse(&vec![b'a'; MAX_BYTES]).is_ok());
    let large = FileText::parse(&vec![b'a'; MAX_BYTES + 1]);
    assert_eq!(large, Err(NotText::TooLarge(MAX_BYTES + 1)));
    assert_eq!(
        NotText::NotUtf8 { line: 2 }.to_string(),
        "line 2 holds bytes that are not UTF-8 (it may be Latin-1), and an edit would damage them"
    );
}

#[test]
fn a_model_that_writes_line_feeds_edits_a_file_with_crlf() {
    let file = "a = 1\r\nb = 2\r\nc = 3\r\n";
    assert_eq!(
        replaced(file, "a = 1\nb = 2", "a = 1\nnew\nb = 3"),
        "a = 1\r\nnew\r\nb = 3\r\nc = 3\r\n"
    );
    let with_pairs = replaced(file, "a = 1\r\nb = 2", "a = 1\r\nb = 3");
    assert_eq!(with_pairs, "a = 1\r\nb = 3\r\nc = 3\r\n");
}

#[test]
fn inserted_lines_get_the_line_end_of_their_place() {
    for (file, old, new, expected) in [
        // The first matched line, in a file of both kinds.
        ("a\r\nb\nc\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\nc\n"),
        ("a\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\nx\nb\r\nc\r\n"),
        // The line that the match stands in.
        ("a\r\nb\nc\n", "a", "x\ny", "x\r\ny\r\nb\nc\n"),
        // The line before, at the end of a file.
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        // A file of one line.
        ("a", "a", "a\nb", "a\nb"),
    ] {
        assert_eq!(replaced(file, old, new), expected, "{file:?}");
    }
}

#[test]
fn lines_that_are_only_changed_keep_each_its_line_end() {
    let file = "a\r\nb\nc\r\n";
    assert_eq!(replaced(file, "a\nb\nc\n", "x\ny\nz\n"), "x\r\ny\nz\r\n");
    let around = replaced("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nx\nc\nd");
    assert_eq!(around, "a\r\nx\nc\r\nd\n", "context is not touched");
}

#[test]
fn the_final_newline_stays_as_it_is() {
    assert_eq!(replaced("a\nb", "b", "c\n"), "a\nc");
    assert_eq!(replaced("a\nb\n", "b\n", "c"), "a\nc\n");
    assert_eq!(replaced("a\r\nb\r\n", "b\n", "c"), "a\r\nc\r\n");
    assert_eq!(replaced("ab\n", "b\n", ""), "a\n");
    assert_eq!(replaced("a\nb\n", "b\n", ""), "a\n");
    assert_eq!(replaced("a\n", "a\n", ""), "");
    assert!(refused("a", "a", "a\n").contains("nothing would change"));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let file = "\u{feff}a\r\nb\r\n";
    assert_eq!(text(file).as_str(), "a\r\nb\r\n");
    assert_eq!(replaced(file, "a\n", "x\n"), "\u{feff}x\r\nb\r\n");
}

#[test]
fn old_stands_exactly_once_and_overlapping_places_count() {
    assert_eq!(
        refused("x\nx\n\ny x\n", "x", "z"),
        "old occurs 3 times, at lines 1, 2 and 4; add lines before or after until it is unique"
    );
    assert!(refused("aaa", "aa", "b").starts_with("old occurs 2 times, at lines 1 and 1"));
    let many = refused(&"x\n".repeat(500), "x", "y");
    assert!(
        many.starts_with(
            "old occurs at least 100 times, at lines 1, 2, 3, 4, 5, 6, 7, 8 and others"
        ),
        "{many}"
    );
    assert!(refused("a", "b", "c").starts_with("old does not occur in the file; read"));
    assert!(refused("a", "", "c").starts_with("old is empty"));
    assert!(refused("a", "a", "a").starts_with("old and new are the same"));
}

#[test]
fn a_text_that_differs_in_white_space_only_is_pointed_out() {
    let said = refused("if x:\n\treturn  1\n", "if x:\n    return 1", "");
    assert!(said.contains("white space only begin at line 1"), "{said}");
    assert!(!refused("a\n \n", "\t\t", "").contains("white space only"));
}

#[test]
fn a_carriage_return_alone_ends_no_line() {
    assert_eq!(replaced("a\rb\r\nc", "a\rb", "a\rx"), "a\rx\r\nc");
    let half = text("a\r\nb").replace("a\r", "x");
    assert_eq!(half, Err(NotReplaced::Missing), "half of a pair");
    assert_eq!(
        replaced("a\u{2028}b\r\nc", "b", "b\nd"),
        "a\u{2028}b\r\nd\r\nc"
    );
}

#[test]
fn no_edit_makes_a_file_too_large() {
    let file = "a".repeat(MAX_BYTES - 1) + "b";
    let grown = text(&file).replace("b", "bcd");
    assert_eq!(grown, Err(NotReplaced::TooLarge(MAX_BYTES + 2)));
}

/// Files of few different lines, with every kind of line end.
fn files() -> impl Strategy<Value = String> {
    let line = prop_oneof!["[ab]{0,3}", Just("é".into()), Just("\u{1f600}".into())];
    let end = prop::sample::select(vec!["\n", "\r\n", "\r", "\u{2028}", "\u{85}", "\r\r\n"]);
    let lines = prop::collection::vec((line, end), 0..12);
    (any::<bool>(), lines, "[ab]{0,2}").prop_map(|(bom, lines, last)| {
        let bom = if bom { BOM } else { "" };
        let lines: Vec<String> = lines
            .iter()
            .map(|(line, end)| format!("{line}{end}"))
            .collect();
        let lines = lines.concat();
        format!("{bom}{lines}{last}")
    })
}

/// A text with line feeds only, as a model writes it.
fn written() -> impl Strategy<Value = String> {
    prop::collection::vec("[abx]{0,3}", 0..4).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn a_file_is_written_back_byte_for_byte(file in files()) {
        prop_assert_eq!(text(&file).to_bytes(), file.as_bytes());
    }

    #[test]
    fn bytes_outside_of_an_edit_never_change(file in files(), from in 0_usize..40, length in 1_usize..20, new in written()) {
        let parsed = text(&file);
        let shown = parsed.as_str().replace("\r\n", "\n");
        let chars: Vec<char> = shown.chars().collect();
        let old: String = chars.iter().skip(from).take(length).collect();
        // As a model writes it, this is a line end and nothing more.
        prop_assume!(!old.contains("\r\n"));
        let Ok(edited) = parsed.replace(&old, &new) else { return Ok(()) };
        let before: String = chars.iter().take(from).collect();
        let after: String = chars.iter().skip(from + length).collect();
        // Nothing outside changes, line ends included: both sides are found in the original as they were.
        let head = original_prefix(parsed.as_str(), &before);
        let tail = &parsed.as_str()[parsed.as_str().len() - original_suffix(parsed.as_str(), &after)..];
        prop_assert!(edited.as_str().starts_with(head), "{edited:?}");
        prop_assert!(edited.as_str().ends_with(tail), "{edited:?}");
        prop_assert_eq!(edited.has_bom, parsed.has_bom);
        // Inside, the text is the new one, whatever its line ends.
        let inside = &edited.as_str()[head.len()..edited.as_str().len() - tail.len()];
        let inside = inside.replace("\r\n", "\n");
        prop_assert_eq!(inside.trim_end_matches('\n'), new.trim_end_matches('\n'));
        if !tail.is_empty() {
            prop_assert_eq!(inside, new);
        }
    }

    #[test]
    fn a_file_with_a_final_newline_keeps_it(file in files(), from in 0_usize..40, length in 1_usize..20, new in written()) {
        let parsed = text(&file);
        let shown = parsed.as_str().replace("\r\n", "\n");
        let old: String = shown.chars().skip(from).take(length).collect();
        let Ok(edited) = parsed.replace(&old, &new) else { return Ok(()) };
        let had = parsed.as_str().ends_with('\n');
        if had {
            prop_assert!(edited.as_str().is_empty() || edited.as_str().ends_with('\n'));
        } else if !new.is_empty() {
            let touched_end = shown.ends_with(&old);
            prop_assert!(!touched_end || !edited.as_str().ends_with('\n') || new.trim_matches('\n').is_empty());
        }
    }

    #[test]
    fn line_ends_of_one_kind_stay_of_one_kind(lines in prop::collection::vec("[ab]{1,3}", 1..8), crlf in any::<bool>(), at in 0_usize..8, new in written()) {
        let end = if crlf { "\r\n" } else { "\n" };
        let file: Vec<String> = lines.iter().enumerate().map(|(n, line)| format!("{n}{line}{end}")).collect();
        let at = at % lines.len();
        let old = format!("{at}{}\n", lines[at]);
        let Ok(edited) = text(&file.concat()).replace(&old, &new) else { return Ok(()) };
        let pairs = edited.as_str().matches("\r\n").count();
        let all = edited.as_str().matches('\n').count();
        prop_assert_eq!(pairs, if crlf { all } else { 0 });
    }
}

/// The beginning of a text that is `shown` once its line ends are line feeds.
fn original_prefix<'a>(text: &'a str, shown: &str) -> &'a str {
    &text[..View::new(text).original(shown.len())]
}

/// The length of the end of a text that is `shown` once its line ends are line feeds.
fn original_suffix(text: &str, shown: &str) -> usize {
    let view = View::new(text);
    text.len() - view.original(view.text.len() - shown.len())
}
