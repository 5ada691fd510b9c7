//! What holds for the repository as a whole: the code map, the pure core, and nothing of one machine in it.

use super::{files_below, quoted, root, rows, section, sources, text};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

#[test]
fn the_code_map_has_a_row_for_each_crate_and_folder_and_no_other() {
    let architecture = text("ARCHITECTURE.md");
    let map = rows(section(&architecture, "Code map"));
    let is_product = |path: &&str| path.starts_with("src/") || path.starts_with("crates/");
    let named: BTreeSet<&str> = map.iter().flat_map(|row| quoted(row[0])).collect();
    let named: BTreeSet<&str> = named.into_iter().filter(is_product).collect();
    let sources = sources();
    let sources = sources.iter().filter(|path| !is_test(path));
    let modules: BTreeSet<&str> = sources.flat_map(|path| modules_of(path)).collect();
    let missing: Vec<_> = modules.difference(&named).collect();
    assert!(missing.is_empty(), "not in the code map: {missing:?}");
    let gone: Vec<_> = named.difference(&modules).collect();
    assert!(gone.is_empty(), "in the code map, but not there: {gone:?}");
}

/// The crate of a source file, and the folder at the crate's top that it lies in.
fn modules_of(path: &str) -> impl Iterator<Item = &str> {
    let source = path.find("src/").map_or(0, |at| at + 4);
    // The root package has no folder of its own.
    let package = if source == 4 { 4 } else { source - 4 };
    let folder = path[source..].find('/').map(|at| &path[..=source + at]);
    std::iter::once(&path[..package]).chain(folder)
}

#[test]
fn the_paths_that_the_documents_name_exist() {
    let pages = files_below("docs").into_iter();
    let pages = pages.filter(|path| Path::new(path).extension().is_some_and(|ext| ext == "md"));
    let top = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ]
    .map(str::to_owned);
    let mut named = 0;
    for page in top.into_iter().chain(pages) {
        let folders = ["src/", "crates/", "tests/", "examples/", "docs/", "bench/"];
        let is_path = |word: &&str| {
            let below =
                |folder: &&str| word.starts_with(*folder) && !word.contains([' ', '*', '\n']);
            folders.iter().any(below)
        };
        let page_text = without_fences(&text(&page));
        for path in quoted(&page_text).filter(is_path) {
            assert!(root().join(path).exists(), "{page}: {path} does not exist");
            named += 1;
        }
    }
    assert!(named > 60, "{named}");
}

/// A page without its fenced code, whose backticks are not those of a code span.
fn without_fences(page: &str) -> String {
    page.split("\n````")
        .step_by(2)
        .flat_map(|part| part.split("\n```").step_by(2))
        .collect()
}

/// `path`: `function` in each row; the path may be a folder.
#[test]
fn the_way_of_a_finding_leads_through_functions_that_there_are() {
    let architecture = text("ARCHITECTURE.md");
    let steps = rows(section(&architecture, "Follow one finding"));
    assert!(steps.len() > 6, "{steps:?}");
    for step in steps {
        let [path, function] = quoted(step[1]).collect::<Vec<_>>()[..] else {
            panic!("a path and a function: {step:?}");
        };
        let sources = sources();
        let mut sources = sources.iter().filter(|file| file.starts_with(path));
        let defines = |file: &String| {
            let source = text(file);
            source.contains(&format!("fn {function}("))
                || source.contains(&format!("fn {function}<"))
        };
        assert!(sources.any(defines), "{step:?}");
    }
}

#[test]
fn the_core_is_pure() {
    let impure = [
        "async fn",
        "async move",
        "async {",
        "std::fs::",
        "std::env::",
        "Command::new",
        "::now()",
    ];
    let is_rust = |path: &str| Path::new(path).extension().is_some_and(|ext| ext == "rs");
    let is_pure = |path: &&String| {
        let pure = ["crates/core/src/", "crates/text/src/"];
        is_rust(path) && !is_test(path) && pure.iter().any(|folder| path.starts_with(folder))
    };
    let (sources, mut pure) = (sources(), 0);
    for path in sources.iter().filter(is_pure) {
        let source = text(path);
        let code = source
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        let found = impure.iter().find(|word| code.contains(**word));
        assert_eq!(found, None, "{path}");
        pure += 1;
    }
    assert!(pure > 80, "{pure}");
    for path in files_below("crates/core/src/domain") {
        assert!(!text(&path).contains("Deserialize"), "{path}");
    }
}

/// The compiler keeps the core pure only as long as nothing in its tree can do I/O.
#[test]
fn the_core_depends_on_nothing_that_does_io() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--package", "reviewer-core", "--edges", "normal"])
        .args([
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--offline",
            "--locked",
        ])
        .current_dir(root())
        .output()
        .expect("cargo");
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8(tree.stdout).expect("plain names");
    let names: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(names.contains("reviewer-text"), "{names:?}");
    for refused in [
        "axum", "hyper", "mio", "nix", "octocrab", "reqwest", "rmcp", "rustix", "socket2", "tokio",
    ] {
        assert!(
            !names.contains(refused),
            "{refused} is in the tree of the core"
        );
    }
}

fn is_test(path: &str) -> bool {
    let endings = ["tests.rs", "/fixture.rs"];
    path.contains("/tests/") || endings.iter().any(|ending| path.ends_with(ending))
}

#[test]
fn no_tracked_file_tells_of_one_machine_or_of_unfinished_work() {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .expect("git");
    assert!(listed.status.success(), "{listed:?}");
    let files = String::from_utf8(listed.stdout).expect("plain names");
    let files: Vec<&str> = files.split_terminator('\0').collect();
    assert!(files.contains(&"Cargo.toml"), "{files:?}");
    // Put together here, so that this file does not hold them itself.
    let unwanted = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
    ];
    for path in files {
        // A file that was removed and not committed yet has nothing to tell.
        let Ok(bytes) = std::fs::read(root().join(path)) else {
            continue;
        };
        let content = String::from_utf8_lossy(&bytes);
        for word in unwanted {
            assert!(!content.contains(word), "{path} holds {word}");
        }
    }
}
