//! Turns an answer of a server into text: judges its kind, decodes its bytes, cleans and cuts the text. Separate from
//! the connection, so that it can be tested without one.

use super::html;
use encoding_rs::{Encoding, UTF_8};
use reqwest::Url;
use reviewer_text::hidden::is_hidden;

/// The kinds of content that are text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    Html,
    Plain,
}

/// From a `Content-Type`; the charset, where it names one.
pub(crate) fn kind(content_type: Option<&str>) -> Result<(PageKind, &'static Encoding), String> {
    let given = content_type.unwrap_or_default();
    let mut parts = given.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"'))
    });
    let encoding = charset
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .unwrap_or(UTF_8);
    let kind = match essence.as_str() {
        "text/html" | "application/xhtml+xml" => PageKind::Html,
        "application/json"
        | "application/xml"
        | "application/yaml"
        | "application/toml"
        | "application/javascript" => PageKind::Plain,
        other if other.starts_with("text/") => PageKind::Plain,
        other if other.starts_with("application/") && is_structured(other) => PageKind::Plain,
        _ => {
            return Err(
                "The page is not text; only text, HTML, Markdown, JSON and XML are read. Use another source."
                    .into(),
            );
        }
    };
    Ok((kind, encoding))
}

fn is_structured(essence: &str) -> bool {
    ["+json", "+xml", "+yaml"]
        .iter()
        .any(|suffix| essence.ends_with(suffix))
}

/// The text of the bytes; what is no text in the charset is shown as such. `None` if it was given up.
#[must_use]
pub(crate) fn text(
    bytes: &[u8],
    (kind, encoding): (PageKind, &'static Encoding),
    url: &Url,
    most: usize,
    goes_on: &dyn Fn() -> bool,
) -> Option<String> {
    let (decoded, _, _) = encoding.decode(bytes);
    match kind {
        PageKind::Html => html::to_text(&decoded, url, most, goes_on),
        PageKind::Plain => Some(decoded.into_owned()),
    }
}

/// Without what hides, blank lines in a row, and the rest beyond `most` characters.
#[must_use]
pub fn clean(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut blank = 0;
    for line in text.lines() {
        let line: String = line
            .chars()
            .filter(|c| *c == '\t' || !is_hidden(*c))
            .collect();
        let line = line.trim_end();
        blank = if line.is_empty() { blank + 1 } else { 0 };
        if blank < 2 {
            out.push_str(line);
            out.push('\n');
        }
    }
    let out = out.trim();
    match out.char_indices().nth(most) {
        Some((end, _)) => format!("{}\n[The rest is left out.]", &out[..end]),
        None => out.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8], content_type: &str) -> String {
        let url = Url::parse("https://docs.example/").unwrap();
        text(
            bytes,
            kind(Some(content_type)).unwrap(),
            &url,
            1_000,
            &|| true,
        )
        .unwrap()
    }

    #[test]
    fn text_is_read_and_nothing_else() {
        for text in [
            "text/plain",
            "text/markdown; charset=utf-8",
            "TEXT/HTML",
            "application/json",
            "application/problem+json",
            "application/atom+xml",
            "application/xhtml+xml",
        ] {
            assert!(kind(Some(text)).is_ok(), "{text}");
        }
        for other in [
            "image/png",
            "image/svg+xml",
            "application/octet-stream",
            "application/pdf",
            "application/zip",
            "video/mp4",
            "",
            "nonsense",
        ] {
            assert!(kind(Some(other)).is_err(), "{other}");
        }
        assert!(kind(None).unwrap_err().contains("Use another source."));
    }

    #[test]
    fn n6_a_charset_is_obeyed_and_a_wrong_one_hurts_nobody() {
        assert_eq!(
            shown(b"Gr\xfc\xdfe", "text/plain; charset=ISO-8859-1"),
            "Grüße"
        );
        assert_eq!(
            shown(b"Gr\xfc\xdfe", "text/plain; charset=utf-8"),
            "Gr\u{fffd}\u{fffd}e"
        );
        assert_eq!(
            shown(b"Gr\xfc\xdfe", "text/plain; charset=klingon"),
            "Gr\u{fffd}\u{fffd}e"
        );
        assert_eq!(
            shown("<p>Grüße".as_bytes(), "text/html; Charset=\"UTF-8\""),
            "Grüße"
        );
        assert_eq!(shown(b"\xff\xfeA\x00", "text/plain"), "A");
    }

    #[test]
    fn hidden_characters_and_the_rest_are_left_out() {
        let text = "a\u{200b}b\u{202e}c\u{1b}[2J\r\n\n\n\n\tnext  \u{e0041}\n";
        assert_eq!(clean(text, 100), "abc[2J\n\n\tnext");
        assert_eq!(clean("äöüß", 4), "äöüß");
        assert_eq!(clean("äöüßx", 4), "äöüß\n[The rest is left out.]");
    }
}
