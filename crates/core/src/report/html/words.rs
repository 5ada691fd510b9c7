//! Text of others on its way to the page: without secrets, with what hides in it gone or spelled out, as words, as Markdown
//! or as a name. Every text of a report that others may have written passes here.

use super::Page;
use super::markdown;
use maud::{Markup, html};
use reviewer_text::hidden::visible;
use reviewer_text::prose::strip;
use reviewer_text::sanitize::{clean, is_allowed};
use reviewer_text::sentence::sentence;

/// The longest name that is shown whole.
const LONGEST_NAME: usize = 300;
/// The longest line of code that is shown whole.
const LONGEST_LINE: usize = 500;

impl Page<'_> {
    /// A sentence, with code in it.
    pub(super) fn sentence(&self, text: &str) -> Markup {
        let text = sentence(&self.without_secrets(text));
        markdown::inline(&text, &|target| self.follows(target))
    }

    /// The same for a text in a link, in which no other can stand.
    pub(super) fn heading(&self, text: &str) -> Markup {
        markdown::inline(&sentence(&self.without_secrets(text)), &|_| None)
    }

    /// A text of paragraphs, lists and code.
    pub(super) fn prose(&self, text: &str) -> Markup {
        let text = clean(&self.without_secrets(text));
        markdown::blocks(&text, &|target| self.follows(target))
    }

    /// A sentence of the reviewer with its own emphasis, which may quote others.
    pub(super) fn own(&self, text: &str) -> Markup {
        let text = clean(&self.without_secrets(text));
        let line: Vec<&str> = text.split_whitespace().collect();
        markdown::inline(&line.join(" "), &|target| self.follows(target))
    }

    /// Words without any form.
    pub(super) fn plain(&self, text: &str) -> String {
        let (text, _) = strip(&self.without_secrets(text));
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ")
    }

    /// A name, such as a path, to the letter; what hides in it is spelled out.
    pub(super) fn name(&self, name: &str) -> Markup {
        let name = shortened(&visible(&self.without_secrets(name)), LONGEST_NAME);
        html! { code { (name) } }
    }

    /// A text in a link, if it leads to the server.
    pub(super) fn linked(&self, address: Option<&str>, content: &Markup) -> Markup {
        let address = address.and_then(|address| self.links.of_server(address));
        self.leading(address.as_deref(), content)
    }

    /// A text in a link to an address of the page's own making, unless that holds a secret.
    pub(super) fn leading(&self, address: Option<&str>, content: &Markup) -> Markup {
        let address = address.filter(|address| self.without_secrets(address) == *address);
        html! {
            @match address {
                Some(address) => a href=(address) rel="noreferrer" { (content) },
                None => (content),
            }
        }
    }

    pub(super) fn without_secrets(&self, text: &str) -> String {
        (self.material.clean)(text)
    }

    /// The address, if a text of others may lead there.
    fn follows(&self, target: &str) -> Option<String> {
        if is_allowed(target) {
            return Some(target.to_owned());
        }
        self.links.of_server(target)
    }
}

/// A line of code as it stands there; what hides in it is spelled out.
pub(super) fn line_of_code(text: &str) -> String {
    shortened(&visible(text), LONGEST_LINE)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
