//! The order in which files of a large change are shown: first those where a mistake does most harm. It depends on
//! their names alone, so that it is the same in every run. Pure.

use crate::domain::FileDiff;
use crate::domain::code::is_code;

/// Most harmful first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Risk {
    /// Authorization, money, and files that are built or deployed.
    Guarded,
    Code,
    /// Settings, and whatever has no kind.
    Other,
    Tests,
    Words,
    /// Written by a program.
    Derived,
}

/// Parts of a path that stand for something guarded; whole words of it.
const GUARDED: [&str; 28] = [
    "acl",
    "admin",
    "auth",
    "authentication",
    "authorization",
    "billing",
    "checkout",
    "credentials",
    "crypto",
    "deploy",
    "dockerfile",
    "encryption",
    "iam",
    "login",
    "migration",
    "migrations",
    "oauth",
    "password",
    "payment",
    "payments",
    "permission",
    "permissions",
    "policy",
    "secret",
    "secrets",
    "security",
    "session",
    "workflows",
];
const TESTS: [&str; 9] = [
    "e2e", "fixtures", "mock", "mocks", "spec", "specs", "test", "testdata", "tests",
];
const DERIVED: [&str; 10] = [
    "dist",
    "generated",
    "lock",
    "min",
    "modules",
    "pb",
    "snap",
    "snapshots",
    "third",
    "vendor",
];
const LOCKS: [&str; 8] = [
    "cargo.lock",
    "composer.lock",
    "gemfile.lock",
    "go.sum",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "yarn.lock",
];
const WORDS: [&str; 5] = ["adoc", "md", "mdx", "rst", "txt"];

fn risk(path: &str) -> Risk {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let parts = || path.split(|c: char| !c.is_ascii_alphanumeric());
    let has = |known: &[&str]| parts().any(|part| known.contains(&part));
    if LOCKS.contains(&name) || has(&DERIVED) {
        Risk::Derived
    } else if has(&TESTS) {
        Risk::Tests
    } else if WORDS.contains(&ending) {
        Risk::Words
    } else if has(&GUARDED) {
        Risk::Guarded
    } else if is_code(&path) {
        Risk::Code
    } else {
        Risk::Other
    }
}

/// The size of a diff as the model reads it, in bytes: the text of its lines, and their numbers.
#[must_use]
pub(crate) fn weight(diff: &FileDiff) -> usize {
    const A_LINE: usize = 14;
    let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
    lines.map(|line| line.text.len() + A_LINE).sum()
}

/// The places of these paths, the riskiest first; among equals the first.
pub(crate) fn order<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut order: Vec<(Risk, usize)> = paths
        .enumerate()
        .map(|(at, path)| (risk(path), at))
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, at)| at).collect()
}

/// Chooses the files, each with its weight, that fit into so much room: the riskiest first, and among equals the first.
/// One that does not fit makes room for smaller ones.
pub(crate) fn fitting<'a>(
    files: impl Iterator<Item = (&'a str, usize)>,
    mut room: usize,
) -> Vec<bool> {
    let files: Vec<(&str, usize)> = files.collect();
    let mut fits = vec![false; files.len()];
    for at in order(files.iter().map(|(path, _)| *path)) {
        if let Some(left) = room.checked_sub(files[at].1) {
            room = left;
            fits[at] = true;
        }
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        for (path, expected) in [
            ("src/auth/token.rs", Risk::Guarded),
            (".github/workflows/ci.yml", Risk::Guarded),
            ("Dockerfile", Risk::Guarded),
            ("db/migrations/001.sql", Risk::Guarded),
            ("src/authors.ts", Risk::Code),
            ("src/page.ts", Risk::Code),
            ("config/app.toml", Risk::Other),
            ("LICENSE", Risk::Other),
            ("tests/auth.rs", Risk::Tests),
            ("src/login.test.ts", Risk::Tests),
            ("docs/security.md", Risk::Words),
            ("package-lock.json", Risk::Derived),
            ("vendor/auth/a.go", Risk::Derived),
            ("web/app.min.js", Risk::Derived),
        ] {
            assert_eq!(risk(path), expected, "{path}");
        }
    }

    #[test]
    fn the_riskiest_are_taken_first_and_small_ones_fill_the_rest() {
        let files = [
            ("a.md", 10),
            ("b.ts", 60),
            ("c.ts", 60),
            ("login.ts", 40),
            ("z.ts", 0),
        ];
        assert_eq!(
            fitting(files.into_iter(), 100),
            [false, true, false, true, true]
        );
        assert!(fitting(files.into_iter(), 115)[0]);
        assert_eq!(fitting(files.into_iter(), 1_000), [true; 5]);
    }
}
