//! What holds for the repository as a whole: the code map, the pure core, links, and nothing of one machine in it.

use super::{files_below, quoted, root, rows, section, sources, text};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

#[test]
fn the_code_map_names_every_module_and_only_those() {
    let architecture = text("ARCHITECTURE.md");
    let map = rows(section(&architecture, "Code map"));
    let named: BTreeSet<&str> = map.iter().flat_map(|row| quoted(row[0])).collect();
    let sources = sources();
    let sources = sources.iter().filter(|path| !is_test(path));
    let modules: BTreeSet<String> = sources.map(|path| module_of(path)).collect();
    let modules: BTreeSet<&str> = modules.iter().map(String::as_str).collect();
    let missing: Vec<_> = modules.difference(&named).collect();
    assert!(missing.is_empty(), "not in the code map: {missing:?}");
    let gone: Vec<_> = named.difference(&modules).collect();
    assert!(gone.is_empty(), "in the code map, but not there: {gone:?}");
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let document = text(document);
        let folders = ["src/", "crates/", "tests/", "examples/"];
        let is_path = |word: &&str| {
            let below = |folder: &&str| word.starts_with(*folder) && !word.contains([' ', '*']);
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

/// The module at the top of a crate that a file belongs to: a folder where it has one, else the file.
fn module_of(path: &str) -> String {
    let (before, after) = path.split_at(path.find("src/").map_or(0, |at| at + 4));
    let name = after.split(['/', '.']).next().unwrap_or_default();
    let folder = format!("{before}{name}/");
    if root().join(&folder).is_dir() {
        return folder;
    }
    path.to_owned()
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
