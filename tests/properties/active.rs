//! What of a Markdown text GitHub would act on. Separate from the property, because the sanitiser's own tests judge by it,
//! too.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use regex::{Captures, Regex};
use reviewer_text::sanitize::is_allowed;
use std::sync::LazyLock;

/// Everything that is active in a text, by what a reader sees: text outside code, links, images, tags.
#[must_use]
pub fn active(markdown: &str) -> Vec<String> {
    static ADDRESS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"https://[^\s\x01()\[\]<>]+").expect("a pattern"));
    static ACTIVE: LazyLock<Regex> = LazyLock::new(|| {
        let people = r"(?:^|[^\w])[@＠][A-Za-z0-9]";
        let references = r"(?:^|[^\w&])#[0-9]|\w/[\w.-]+#[0-9]|(?i:\bgh-[0-9])";
        let commits = r"\b[0-9a-f]{40}\b";
        let addresses = r"(?i:[a-z]://|\bwww\.[a-z0-9]|mailto:[^\s\x01])";
        let macros = r"\\href";
        Regex::new(&[people, references, commits, addresses, macros].join("|")).expect("a pattern")
    });
    let (mut found, prose) = seen(markdown);
    let others = ADDRESS.replace_all(&prose, |address: &Captures<'_>| {
        let may_stay = is_allowed(address[0].trim_end_matches(['.', ',', ';', ':']));
        if may_stay {
            String::new()
        } else {
            address[0].to_owned()
        }
    });
    let words = ACTIVE.find_iter(&others);
    found.extend(words.map(|found| found.as_str().to_owned()));
    found
}

/// Links, images, tags, special fences and math of code; and the text outside links and code.
fn seen(markdown: &str) -> (Vec<String>, String) {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    let (mut found, mut prose) = (Vec::new(), String::new());
    let mut inside = 0;
    for event in Parser::new_ext(markdown, options) {
        if matches!(event, Event::Code(_)) && prose.ends_with('$') {
            found.push("math of code".into());
        }
        // Whatever stands between two pieces of text ends a word.
        if !matches!(event, Event::Text(_)) {
            prose.push('\u{1}');
        }
        match event {
            Event::Start(Tag::Image { dest_url, .. }) => found.push(format!("image {dest_url}")),
            Event::Start(Tag::Link { dest_url, .. }) => {
                inside += 1;
                if !is_allowed(&dest_url) {
                    found.push(format!("link {dest_url}"));
                }
            }
            Event::End(TagEnd::Link | TagEnd::CodeBlock) => inside -= 1,
            Event::Start(Tag::CodeBlock(kind)) => {
                inside += 1;
                if let CodeBlockKind::Fenced(info) = kind {
                    found.extend(rendered(&info));
                }
            }
            Event::Html(tag) | Event::InlineHtml(tag) => found.push(format!("tag {tag}")),
            Event::Text(text) if inside == 0 => prose.push_str(&text),
            _ => {}
        }
    }
    (found, prose)
}

/// The language of a fence, if GitHub makes something else of it than code.
fn rendered(info: &str) -> Option<String> {
    const RENDERED: [&str; 6] = [
        "suggestion",
        "mermaid",
        "geojson",
        "topojson",
        "stl",
        "math",
    ];
    let word = info.split(|c: char| !c.is_alphanumeric()).next()?;
    let word = word.to_ascii_lowercase();
    RENDERED.contains(&word.as_str()).then_some(word)
}
