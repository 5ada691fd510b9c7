//! Images and links in the model's text. An image is fetched when the comment is shown, and a link says where to go:
//! both can carry something out, so images become words, and links lead to documentation or nowhere.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};
use std::ops::Range;

/// Hosts that a comment may link to: those that reviews cite, and that nobody but their publisher can write to.
const DOCUMENTATION: [&str; 22] = [
    "cheatsheetseries.owasp.org",
    "cve.org",
    "cwe.mitre.org",
    "datatracker.ietf.org",
    "developer.mozilla.org",
    "doc.rust-lang.org",
    "docs.github.com",
    "docs.oracle.com",
    "docs.python.org",
    "docs.rs",
    "en.wikipedia.org",
    "go.dev",
    "kubernetes.io",
    "learn.microsoft.com",
    "nodejs.org",
    "nvd.nist.gov",
    "owasp.org",
    "pkg.go.dev",
    "react.dev",
    "www.cve.org",
    "www.postgresql.org",
    "www.rfc-editor.org",
];

const LONGEST_PATH: usize = 200;

/// True if a comment may link there: plain https, nothing that carries a message.
#[must_use]
pub fn is_allowed(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("https://") else {
        return false;
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-#+:".contains(c);
    DOCUMENTATION.contains(&host)
        && path.len() <= LONGEST_PATH
        && path.chars().all(plain)
        // An address may hold another one, which begins where a reader ends the first.
        && !path.contains("//")
        && !has_emphasis(path)
}

/// An underscore that is not between letters or digits may be emphasis, which would end the address there.
fn has_emphasis(path: &str) -> bool {
    let inside = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = path.as_bytes();
    let mut underscores = (0..bytes.len()).filter(|at| bytes[*at] == b'_');
    underscores.any(|at| !inside(bytes[..at].last()) || !inside(bytes.get(at + 1)))
}

/// As GitHub reads it, as far as this parser can.
pub(super) fn parser(text: &str) -> Parser<'_> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    Parser::new_ext(text, options)
}

/// The text without images, and with the links that lead elsewhere as words.
pub(super) fn unlinked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (span, words) in replacements(text) {
        out.push_str(&text[done..span.start]);
        out.push_str(&words);
        done = span.end;
    }
    out.push_str(&text[done..]);
    out
}

/// Outermost images and unwanted links, with what takes their place, in order.
fn replacements(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    let mut open: Option<Open> = None;
    for (event, span) in parser(text).into_offset_iter() {
        let Some(outer) = &mut open else {
            open = Open::at(&event, span);
            continue;
        };
        if span.start >= outer.span.end {
            found.extend(open.take().and_then(|outer| outer.replaced(text)));
            open = Open::at(&event, span);
        } else {
            outer.take(&event, span);
        }
    }
    found.extend(open.and_then(|outer| outer.replaced(text)));
    found
}

/// A link or an image that is being read.
struct Open {
    span: Range<usize>,
    /// The link's target; `None` for an image.
    target: Option<String>,
    bare: bool,
    /// The range of its words.
    label: Option<Range<usize>>,
    has_image: bool,
    /// A tag or a link in the label would be one in the comment.
    has_more: bool,
}

impl Open {
    fn at(event: &Event<'_>, span: Range<usize>) -> Option<Self> {
        let (target, bare) = match event {
            Event::Start(Tag::Image { .. }) => (None, false),
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => {
                let bare = matches!(link_type, LinkType::Autolink | LinkType::Email);
                (Some(dest_url.to_string()), bare)
            }
            _ => return None,
        };
        Some(Self {
            span,
            target,
            bare,
            label: None,
            has_image: false,
            has_more: false,
        })
    }

    fn take(&mut self, event: &Event<'_>, span: Range<usize>) {
        match event {
            Event::Start(Tag::Image { .. }) => self.has_image = true,
            Event::End(_) => {}
            _ => {
                self.has_more |=
                    matches!(event, Event::InlineHtml(_) | Event::Start(Tag::Link { .. }));
                let label = self.label.get_or_insert(span.clone());
                *label = label.start.min(span.start)..label.end.max(span.end);
            }
        }
    }

    fn replaced(self, text: &str) -> Option<(Range<usize>, String)> {
        let label = self.label.map_or("", |label| &text[label]);
        let words = match self.target {
            None => "[image removed]".to_owned(),
            Some(target) if is_allowed(&target) && !self.has_image && !self.has_more => {
                return None;
            }
            Some(target) if self.bare => code(&target),
            Some(_) if self.has_image => "[image removed]".to_owned(),
            Some(target) => format!("{label} ({})", code(&target)),
        };
        Some((self.span, words))
    }
}

/// A code span of at most a line; a backtick inside would end it.
fn code(target: &str) -> String {
    let plain = target
        .chars()
        .filter(|c| !c.is_control() && *c != '`')
        .take(LONGEST_PATH)
        .collect::<String>()
        .replace("<!--", "&lt;!--");
    match plain.trim() {
        "" => "nowhere".to_owned(),
        plain => format!("`{plain}`"),
    }
}
