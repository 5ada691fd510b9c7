//! Tells an address that a provider might fetch from a plain value and from inline data. Pure. Separate, because it has
//! to read a value as the most lenient URL parser does.

/// Schemes that are fetched, or that parsers complete: `https:evil` is read as `https://evil`.
const FETCHED: &[&str] = &[
    "http:", "https:", "ftp:", "file:", "s3:", "gs:", "oss:", "ws:", "wss:",
];
/// The length of the longest of them.
const LONGEST: usize = 6;

/// True if a text begins like an address: with a scheme that is fetched, with `//`, or with any `scheme://`. Parsers
/// drop control characters and white space, and read `\` as `/`.
pub(super) fn is_address(text: &str) -> bool {
    let slash = |letter: char| if letter == '\\' { '/' } else { letter };
    let letters = || text.chars().filter(|letter| !letter.is_control());
    let dense = letters().filter(|letter| !letter.is_whitespace());
    let start: String = dense.map(slash).take(LONGEST).collect();
    let start = start.to_ascii_lowercase();
    if start.starts_with("//") || FETCHED.iter().any(|scheme| start.starts_with(scheme)) {
        return true;
    }
    // An address within prose stays prose, so white space counts here.
    let fit = |letter: &char| letter.is_ascii_alphanumeric() || "+-.".contains(*letter);
    let from = || letters().skip_while(|letter| letter.is_whitespace());
    let scheme = from().take_while(fit).count();
    scheme > 0 && from().skip(scheme).map(slash).take(3).eq("://".chars())
}

/// True if a text is base64 or a `data:` URL.
pub(super) fn is_inline(text: &str) -> bool {
    let fit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(&byte);
    text.starts_with("data:") || (!text.is_empty() && text.bytes().all(fit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_known_as_lenient_parsers_read_it() {
        for address in [
            "https://evil",
            "HTTPS://evil",
            "ht\ttps://evil",
            "ht tps://evil",
            "\u{1}https://evil",
            "\u{a0}https://evil",
            r"https:\\evil\x",
            "https:evil",
            "https:/evil",
            "//evil",
            r"\\evil\x",
            "/\t/evil",
            "file:/etc",
            "s3:bucket",
            "gs:b",
            "oss:b",
            "ws:b",
            "wss:b",
            "ftp:b",
            "r2://bucket",
            "r\n2:/\t/bucket",
            r"r2:\\bucket",
        ] {
            assert!(is_address(address), "{address:?}");
        }
        for plain in [
            "",
            "anthropic/claude",
            "qwen3:8b",
            "functions.read:0",
            "/etc",
            "httpx:1",
            "see https://example.com/",
            "://",
            "a ://b",
            "9:30",
        ] {
            assert!(!is_address(plain), "{plain:?}");
        }
    }

    #[test]
    fn the_longest_scheme_is_read_whole() {
        let longest = FETCHED.iter().map(|scheme| scheme.len()).max();
        assert_eq!(longest, Some(LONGEST));
    }
}
