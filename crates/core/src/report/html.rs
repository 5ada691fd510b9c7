//! The report as one page of HTML that stands for itself: no script, no picture, nothing that is loaded from elsewhere, and a
//! policy that forbids all of it. Templates are Rust (`maud`), so text of others can only be an expression, and every
//! expression is escaped. Pure.

mod account;
mod analysis;
mod findings;
mod links;
mod markdown;
mod summary;
mod unsaid;
mod words;

use super::code::Code;
use super::document::Report;
use data_encoding::BASE64;
use links::Links;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("html/page.css");

/// The material of a page besides its report.
pub struct Material<'a> {
    pub code: &'a Code,
    /// The page of the check run.
    pub check: Option<&'a str>,
    /// Takes secrets out of a text.
    pub clean: &'a dyn Fn(&str) -> String,
}

impl std::fmt::Debug for Material<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Material")
            .field("code", &self.code.len())
            .field("check", &self.check)
            .finish_non_exhaustive()
    }
}

/// A page while it is written.
struct Page<'a> {
    report: &'a Report,
    material: &'a Material<'a>,
    links: Links,
}

/// The whole page.
#[must_use]
pub fn page(report: &Report, material: &Material<'_>) -> String {
    let page = Page {
        report,
        material,
        links: Links::new(report),
    };
    let parts = page.parts();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&page.title()))
            body {
                header { (page.headline()) (contents(&parts)) }
                main {
                    @for part in &parts {
                        section id=(part.id) aria-labelledby={ (part.id) "-title" } {
                            h2 id={ (part.id) "-title" } { (part.title) }
                            (part.content)
                        }
                    }
                }
                footer { "opencode-reviewer " (env!("CARGO_PKG_VERSION")) }
            }
        }
    };
    markup.into_string()
}

/// The policy allows the style of the page, by its hash, and nothing else.
fn head(title: &str) -> Markup {
    let hash = BASE64.encode(&Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'"
    );
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="referrer" content="no-referrer";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            // The one text that is not escaped: it is a file of the source.
            style { (PreEscaped(STYLE)) }
        }
    }
}

/// A part of the page with its heading.
struct Part {
    id: &'static str,
    title: String,
    content: Markup,
}

fn contents(parts: &[Part]) -> Markup {
    html! {
        @if parts.len() > 1 {
            nav aria-label="Contents" {
                ul { @for part in parts { li { a href={ "#" (part.id) } { (part.title) } } } }
            }
        }
    }
}

impl Page<'_> {
    /// The parts that have something to say, in the order of the page.
    fn parts(&self) -> Vec<Part> {
        let parts = [
            self.findings(),
            self.threads(),
            self.consensus(),
            self.sections(),
            self.passes(),
            self.reviewers(),
            self.unsaid(),
            self.static_analysis(),
            self.files(),
            self.costs(),
            self.fixes(),
            self.surroundings(),
        ];
        parts.into_iter().flatten().collect()
    }
}

#[cfg(test)]
#[path = "html/tests.rs"]
mod tests;
