//! What holds for every page of the documents: its length, its links, its voice. Separate, because nothing here depends on
//! what a page is about.

use super::{files_below, root, text};
use std::collections::BTreeSet;
use std::path::Path;

/// Every Markdown document that people read.
pub(super) fn pages() -> Vec<String> {
    let top = std::fs::read_dir(root()).expect("the repository");
    let top = top.map(|entry| entry.expect("an entry").file_name());
    let top = top.map(|name| name.to_str().expect("plain names").to_owned());
    let below = files_below("docs").into_iter();
    let is_page = |path: &String| Path::new(path).extension().is_some_and(|ext| ext == "md");
    let mut pages: Vec<String> = top.chain(below).filter(is_page).collect();
    pages.sort();
    for wanted in ["README.md", "CONTRIBUTING.md", "docs/usage.md"] {
        assert!(pages.iter().any(|page| page == wanted), "{pages:?}");
    }
    pages
}

/// The lines of a page outside fenced and indented code.
fn prose(page: &str) -> Vec<&str> {
    let mut fence = None;
    let mut prose = Vec::new();
    for line in page.lines() {
        let ticks = line.bytes().take_while(|byte| *byte == b'`').count();
        match fence {
            Some(open) if ticks >= open => fence = None,
            None if ticks >= 3 => fence = Some(ticks),
            None if !line.starts_with("    ") => prose.push(line),
            _ => {}
        }
    }
    assert_eq!(fence, None, "a fence that is not closed");
    prose
}

/// A line without its code spans and its quotations.
fn spoken(line: &str) -> String {
    let without_code = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    without_code
        .split('"')
        .step_by(2)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The anchors of a page's headings, by GitHub's rule.
fn anchors(page: &str) -> BTreeSet<String> {
    let lines = prose(page).into_iter().filter(|line| line.starts_with('#'));
    let titles = lines.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    titles
        .map(|title| {
            title
                .chars()
                .filter(is_kept)
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}

#[test]
fn the_readme_and_the_architecture_are_short() {
    for (page, most) in [("README.md", 150), ("ARCHITECTURE.md", 200)] {
        let lines = text(page).lines().count();
        assert!(lines <= most, "{page} has {lines} lines, more than {most}");
    }
}

/// The targets of a page's links within the repository: of pictures, or of everything else.
fn targets(page: &str, pictures: bool) -> Vec<String> {
    let content = text(page);
    let mut targets = Vec::new();
    for line in prose(&content) {
        let mut pieces = line.split("](");
        let mut label = pieces.next().unwrap_or_default();
        for piece in pieces {
            let target = piece.split(')').next().unwrap_or_default();
            let opened = label.rfind('[').unwrap_or_default();
            let is_picture = label[..opened].ends_with('!');
            if is_picture == pictures && !target.starts_with("https://") {
                targets.push(target.to_owned());
            }
            label = piece;
        }
    }
    targets
}

/// What is wrong with a link of a page.
fn broken(page: &str, target: &str) -> Option<String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(page).parent().expect("a folder");
    let file = match path {
        "" => root().join(page),
        path => root().join(folder).join(path),
    };
    if !file.exists() {
        return Some(format!("{page}: {target} does not exist"));
    }
    if anchor.is_empty() {
        return None;
    }
    let there = std::fs::read_to_string(&file).expect("a page");
    let leads = anchors(&there).contains(anchor);
    (!leads).then(|| format!("{page}: {target} has no such heading"))
}

#[test]
fn links_between_documents_lead_to_pages_and_headings_that_there_are() {
    let mut broken_links = Vec::new();
    let mut followed = 0;
    for page in pages() {
        let targets = targets(&page, false);
        followed += targets.len();
        broken_links.extend(targets.iter().filter_map(|target| broken(&page, target)));
    }
    assert_eq!(broken_links, [""; 0]);
    assert!(followed > 40, "{followed}");
}

#[test]
fn the_pictures_that_the_documents_show_are_there() {
    let mut missing = Vec::new();
    let mut shown = 0;
    for page in pages() {
        let targets = targets(&page, true);
        shown += targets.len();
        missing.extend(targets.iter().filter_map(|target| broken(&page, target)));
    }
    assert_eq!(missing, [""; 0], "`make pictures` makes them");
    assert!(shown > 1, "{shown}");
}

#[test]
fn every_page_is_reached_from_the_readme() {
    let readme = text("README.md");
    for page in pages().iter().filter(|page| *page != "README.md") {
        assert!(readme.contains(&format!("]({page}")), "{page}");
    }
}

#[test]
fn the_documents_do_not_speak_of_themselves_as_we() {
    let words = ["we", "our", "ours", "us"];
    let is_for_users = |page: &&String| *page == "README.md" || page.starts_with("docs/");
    for page in pages().iter().filter(is_for_users) {
        for line in prose(&text(page)) {
            let spoken = spoken(line);
            let mut said = spoken.split(|c: char| !c.is_alphanumeric());
            // "US" is a currency.
            let found =
                said.find(|word| *word != "US" && words.contains(&word.to_lowercase().as_str()));
            assert_eq!(found, None, "{page}: {line}");
        }
    }
}
