//! Disarms running text that GitHub would act on: people who are mentioned, issues and commits that are linked,
//! entities and tags that turn into either, links in formulas, commands of other bots. Each is shown as code, where it
//! does nothing.

use super::links::{is_allowed, parser};
use pulldown_cmark::{Event, Tag};
use regex::{Captures, Regex};
use std::ops::Range;
use std::sync::LazyLock;

/// Linear in the text: the `regex` crate has no backtracking. Underscores may be emphasis, which hides that a word
/// begins there; a scheme may be as long as a hash, which it would pass for otherwise, and follow one without a gap. A pattern that cannot be made
/// would let everything through, so a test makes it.
static ACTIVE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
          (?P<macro> \\+ href )
        | (?P<escape> \\ [\\:/.-] )
        | (?P<entity> & (?: \#[0-9]{1,8} | \#[xX][0-9a-fA-F]{1,7} | [A-Za-z][A-Za-z0-9]{1,31} ) ; )
        | (?P<url> [A-Za-z0-9][A-Za-z0-9+.-]{0,127} :// [^\s<>`\[\]()]*
                 | (?i: www\. [^\s<>`\[\]()]+ | (?: mailto | javascript | data | vbscript | xmpp ) : [^\s<>`]+ ) )
        | (?P<mail> [A-Za-z0-9._%+-]+ @ [A-Za-z0-9-]+ (?: \. [A-Za-z0-9-]+ )+ )
        | (?P<person> [@＠﹫] [A-Za-z0-9_] [A-Za-z0-9_-]* (?: / [A-Za-z0-9_.-]+ )? )
        | (?P<issue> (?: [A-Za-z0-9] [A-Za-z0-9_.-]* (?: / [A-Za-z0-9_.-]+ )? )? [\#＃﹟] [0-9]+ | (?i: (?: \b | _ ) gh-[0-9]+ ) )
        | (?P<commit> (?: [A-Za-z0-9] [A-Za-z0-9_.-]* / [A-Za-z0-9_.-]+ @ )? (?: \b | _ ) [0-9a-f]{7,64} (?: \b | _ ) )
        | (?P<tag> < )
        | (?P<tick> ` )
        | (?P<link> \] [(\[:] | ! \[ )
        ",
    )
    .ok()
});

/// At the beginning of a line, behind quote and list signs.
static COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?P<before>[\s>*+-]*)(?P<word>/[A-Za-z][\w-]*|(?i:bors|r\?)(?:\s|$))").ok()
});

/// The same inside code, where a path may begin a line: only what bots listen to.
static COMMAND_IN_CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?mi)^(?P<before>[\s>*+-]*)(?P<word>/(?:approve|assign|backport|ban|build|cancel|cc|cherry-?pick|close|delete|deploy|format|hold|label|lgtm|lock|merge|milestone|ok-to-test|override|ready|rebase|reopen|retest|retitle|revert|review|run|ship|skip|squash|test|transfer|trigger|unassign|unlock|update|verify)\b|bors\b|@[\w-]+)",
    )
    .ok()
});

/// Entities that stand for something harmless; the last one is how a lone backtick is written here.
const HARMLESS: [&str; 8] = [
    "&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&nbsp;", "&hellip;", "&#96;",
];

/// The text with everything active in it shown as code.
pub(super) fn inert(text: &str) -> String {
    let mut out = Output::default();
    let mut done = 0;
    for (span, is_block) in kept(text) {
        out.prose(text, done..span.start);
        let code = &text[span.clone()];
        if is_block {
            out.text(&without_commands(code));
        } else {
            out.code(code);
        }
        done = span.end;
    }
    out.prose(text, done..text.len());
    out.text
}

/// Code, and links that may stay: where each is, and whether it is a block.
fn kept(text: &str) -> Vec<(Range<usize>, bool)> {
    let mut kept: Vec<(Range<usize>, bool)> = Vec::new();
    for (event, span) in parser(text).into_offset_iter() {
        let is_block = match &event {
            Event::Code(_) => false,
            Event::Start(Tag::CodeBlock(_)) => true,
            Event::Start(Tag::Link { dest_url, .. }) if is_allowed(dest_url) => false,
            _ => continue,
        };
        if kept.last().is_none_or(|(last, _)| span.start >= last.end) {
            kept.push((span, is_block));
        }
    }
    kept
}

/// Code in which no line gives an order.
pub(super) fn without_commands(code: &str) -> String {
    let Some(pattern) = COMMAND_IN_CODE.as_ref() else {
        return String::new();
    };
    let inert = pattern.replace_all(code, r"$before\$word");
    inert.into_owned()
}

#[derive(Default)]
struct Output {
    text: String,
}

impl Output {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Two spans that touch would be one, and behind a dollar sign code is a formula to GitHub.
    fn code(&mut self, span: &str) {
        if self.text.ends_with(['`', '$']) {
            self.text.push(' ');
        }
        self.text.push_str(span);
    }

    fn prose(&mut self, text: &str, range: Range<usize>) {
        let line_begins = range.start == 0 || text[..range.start].ends_with('\n');
        let prose = &text[range];
        let (Some(command), Some(active)) = (COMMAND.as_ref(), ACTIVE.as_ref()) else {
            return;
        };
        let mut done = 0;
        for found in command.captures_iter(prose) {
            let (Some(all), Some(word)) = (found.get(0), found.name("word")) else {
                continue;
            };
            // What follows code in the same line begins no line.
            if all.start() == 0 && !line_begins && !found["before"].contains('\n') {
                continue;
            }
            let name = word.as_str().trim_end();
            self.words(active, &prose[done..word.start()]);
            self.span(name);
            done = word.start() + name.len();
        }
        self.words(active, &prose[done..]);
    }

    fn words(&mut self, active: &Regex, prose: &str) {
        let mut done = 0;
        for found in active.captures_iter(prose) {
            let Some(all) = found.get(0) else { continue };
            self.text.push_str(&prose[done..all.start()]);
            self.replace(&found);
            done = all.end();
        }
        self.text.push_str(&prose[done..]);
    }

    fn replace(&mut self, found: &Captures<'_>) {
        let text = &found[0];
        let is = |name: &str| found.name(name).is_some();
        let may_link = || is_allowed(text.trim_end_matches(['.', ',', ';', ':']));
        if is("escape") {
            let from = usize::from(self.is_needless(&text[1..]));
            self.text.push_str(&text[from..]);
        } else if is("entity") && HARMLESS.contains(&text) {
            self.text.push_str(text);
        } else if is("tag") {
            self.unescape();
            self.text.push_str("&lt;");
        } else if is("tick") {
            self.unescape();
            self.text.push_str("&#96;");
        } else if is("link") {
            let (first, second) = text.split_at(1);
            self.text.push_str(first);
            self.text.push('\\');
            self.text.push_str(second);
        } else if (is("commit") && !is_hash(text.trim_matches('_'))) || (is("url") && may_link()) {
            self.text.push_str(text);
        } else if is("commit") || is("issue") {
            self.emphasised(text);
        } else {
            self.span(text);
        }
    }

    /// Underscores belong to the emphasis around it, which is no part of the word that GitHub sees.
    fn emphasised(&mut self, text: &str) {
        let inner = text.trim_start_matches('_');
        self.text.push_str(&text[..text.len() - inner.len()]);
        let word = inner.trim_end_matches('_');
        self.span(word);
        self.text.push_str(&inner[word.len()..]);
    }

    fn span(&mut self, text: &str) {
        self.unescape();
        self.code(&format!("`{text}`"));
    }

    /// True if a sign means nothing to Markdown here: an escape would only hide an address from the next look.
    fn is_needless(&self, escaped: &str) -> bool {
        match escaped {
            "/" => self.text.ends_with([':', '/']),
            ":" | "." | "-" => self.text.ends_with(|c: char| c.is_ascii_alphabetic()),
            _ => false,
        }
    }

    /// A backslash before what is replaced would escape what replaces it.
    fn unescape(&mut self) {
        let before = self.text.trim_end_matches('\\').len();
        if (self.text.len() - before) % 2 == 1 {
            self.text.pop();
        }
    }
}

/// Letters and digits: a word such as `defaced` or a number is none, unless it has the length of a whole hash.
fn is_hash(text: &str) -> bool {
    let hash = text.rsplit('@').next().unwrap_or(text);
    text.contains('@')
        || hash.len() >= 40
        || hash.contains(|c: char| c.is_ascii_digit())
            && hash.contains(|c: char| c.is_ascii_alphabetic())
}
