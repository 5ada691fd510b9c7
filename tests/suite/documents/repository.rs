//! What holds for the repository as a whole: the code map, pure files, links, and nothing of one machine in it.

use super::{files_below, quoted, root, rows, section, text};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

#[test]
fn the_code_map_names_every_file_and_only_those() {
    let architecture = text("ARCHITECTURE.md");
    let map = rows(section(&architecture, "Code map"));
    let named: BTreeSet<&str> = map.iter().flat_map(|row| quoted(row[0])).collect();
    let is_test = |path: &str| {
        let endings = ["tests.rs", "/fixture.rs", ".snap"];
        path.contains("/tests/") || endings.iter().any(|ending| path.ends_with(ending))
    };
    for path in files_below("src") {
        let in_folder = named
            .iter()
            .any(|name| name.ends_with('/') && path.starts_with(name));
        assert!(
            named.contains(path.as_str()) || in_folder || is_test(&path),
            "{path} is not in the code map"
        );
    }
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let document = text(document);
        let folders = ["src/", "tests/", "examples/"];
        let is_path = |word: &&str| {
            let below = |folder: &&str| word.starts_with(*folder) && !word.contains(' ');
            folders.iter().any(below)
        };
        // `src/page.ts` is the example's, in a comment that we show.
        for path in quoted(&document)
            .filter(is_path)
            .filter(|p| *p != "src/page.ts")
        {
            assert!(root().join(path).exists(), "{path} does not exist");
        }
    }
}

#[test]
fn files_that_are_called_pure_are_pure() {
    let architecture = text("ARCHITECTURE.md");
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
    let mut pure = 0;
    for row in rows(section(&architecture, "Code map")) {
        assert!(["P", "E", "D"].contains(&row[1]), "{row:?}");
        for path in quoted(row[0]).filter(|path| row[1] == "P" && is_rust(path)) {
            let source = text(path);
            let code = source
                .split("#[cfg(test)]\nmod tests")
                .next()
                .unwrap_or_default();
            let found = impure.iter().find(|word| code.contains(**word));
            assert_eq!(found, None, "{path}");
            pure += 1;
        }
    }
    assert!(pure > 30, "{pure}");
    for path in files_below("src/domain") {
        assert!(!text(&path).contains("Deserialize"), "{path}");
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for document in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ] {
        for link in text(document).split("](").skip(1) {
            let target = link.split(')').next().unwrap_or_default();
            if !target.starts_with("https://") {
                assert!(root().join(target).exists(), "{document}: {target}");
            }
        }
    }
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
