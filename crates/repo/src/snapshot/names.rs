//! Maps a repository path to its name in the snapshot, or to the reason why it gets none. Separate because it is pure,
//! and because every trap of the file system and of OpenCode is a line here.

use data_encoding::HEXLOWER;
use reviewer_core::context::rules;
use reviewer_text::encoding::utf8_text;
use reviewer_text::hidden::is_hidden;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};

/// Names that OpenCode would execute or obey, and names that blind its search. Kept as data under another
/// name; compared without regard to case and hidden characters. `.jj` makes `rg` heed every `.gitignore`, as
/// `.git` would, which is refused.
const OBEYED: [&str; 11] = [
    ".opencode",
    ".claude",
    ".agents",
    "agents.md",
    "claude.md",
    "context.md",
    ".mcp.json",
    ".ignore",
    ".rgignore",
    ".ripgreprc",
    ".jj",
];

/// The same for families of names: `opencode.json`, `opencode.jsonc`, `.cursor`, `.cursorrules`.
const OBEYED_PREFIXES: [&str; 2] = ["opencode.json", ".cursor"];

const INERT: &str = ".pr-data";
const LONGEST_COMPONENT: usize = 255;
/// Leaves room for what makes a name inert and unique.
const LONGEST_OWN_COMPONENT: usize = 230;
const LONGEST_PATH: usize = 4000;
/// Leaves room for the directory that the snapshot is in.
const LONGEST_OWN_PATH: usize = 3000;
const OWN_FOLDER: &str = "_pr";

/// The reason why a file of the repository is not in the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    TooLarge,
    OverTotal,
    TooManyFiles,
    NameTooLong,
    /// `..`, an absolute path, an empty component.
    Escapes,
    /// `.git` in any spelling.
    GitDirectory,
    /// Not changed by the pull request, and by its name a file of secrets.
    MayHoldSecrets,
    /// An `AGENTS.md` of the base.
    RulesTooLarge,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "too large",
            Self::OverTotal => "over the total size",
            Self::TooManyFiles => "over the number of files",
            Self::NameTooLong => "name too long",
            Self::Escapes => "path leads out of the repository",
            Self::GitDirectory => "path names a git directory",
            Self::MayHoldSecrets => "may hold secrets",
            Self::RulesTooLarge => "rules of the base over 256 KiB",
        })
    }
}

/// Gives each path of one tree a name of its own. A directory keeps its name for all its files.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// (parent as shown, directory as stored) → directory as shown.
    directories: HashMap<(String, Vec<u8>), String>,
    /// Every path given so far, folded: two names that differ in case only are one on some systems.
    taken: HashSet<String>,
    /// The last number given to a name, so that thousands of equal names take no thousand tries each.
    numbers: HashMap<String, u32>,
}

impl Names {
    /// The path in the snapshot, for a path as git stores it.
    pub(super) fn place(&mut self, path: &[u8]) -> Result<String, Reason> {
        if path.len() > LONGEST_PATH {
            return Err(Reason::NameTooLong);
        }
        let mut components: Vec<&[u8]> = path.split(|&b| b == b'/').collect();
        for component in &components {
            judge(component)?;
        }
        let file = components.pop().unwrap_or_default();
        let mut shown = String::with_capacity(path.len());
        for component in components {
            let name = self.directory(&shown, component)?;
            shown.push_str(&name);
            shown.push('/');
        }
        let name = self.unique(&shown, file)?;
        shown.push_str(&name);
        if shown.len() > LONGEST_PATH {
            return Err(Reason::NameTooLong);
        }
        Ok(shown)
    }

    fn directory(&mut self, parent: &str, stored: &[u8]) -> Result<String, Reason> {
        let key = (parent.to_owned(), stored.to_vec());
        if let Some(name) = self.directories.get(&key) {
            return Ok(name.clone());
        }
        let name = self.unique(parent, stored)?;
        self.directories.insert(key, name.clone());
        Ok(name)
    }

    /// A name that nothing else in this directory has. Even the same file twice gets two: a hostile tree
    /// can hold an entry more than once.
    fn unique(&mut self, parent: &str, stored: &[u8]) -> Result<String, Reason> {
        let wanted = inert(&printable(stored));
        let folded = fold(&format!("{parent}{wanted}"));
        let mut name = wanted.clone();
        if !self.taken.insert(folded.clone()) {
            let number = self.numbers.entry(folded).or_insert(1);
            loop {
                *number += 1;
                name = format!("{wanted}~{number}");
                if self.taken.insert(fold(&format!("{parent}{name}"))) {
                    break;
                }
            }
        }
        if name.len() > LONGEST_COMPONENT {
            return Err(Reason::NameTooLong);
        }
        Ok(name)
    }

    /// The path in the snapshot for an `AGENTS.md` of the base: under its own name, which no path of the head gets,
    /// in the directory as it is shown. `None` where the head has no such directory. Ask after all were placed.
    pub(super) fn place_rules(&mut self, path: &[u8]) -> Option<String> {
        let mut shown = String::new();
        if let Some(end) = path.iter().rposition(|&b| b == b'/') {
            for component in path[..end].split(|&b| b == b'/') {
                let name = self.directories.get(&(shown.clone(), component.to_vec()))?;
                shown.push_str(name);
                shown.push('/');
            }
        }
        shown.push_str(rules::NAME);
        self.taken.insert(fold(&shown)).then_some(shown)
    }

    /// A top-level name for the reviewer's folder that no path of the tree has; ask after all were placed.
    pub(super) fn own_folder(&self) -> String {
        let mut candidates = std::iter::once(OWN_FOLDER.to_owned())
            .chain((2_u32..).map(|n| format!("{OWN_FOLDER}-{n}")));
        let free = candidates.find(|name| !self.taken.contains(&fold(name)));
        free.unwrap_or_else(|| OWN_FOLDER.to_owned())
    }
}

/// The reviewer's own file names are made of repository paths, so they pass the same doors: inert, and no two in one
/// place. A long one is cut, with a hash that keeps it apart from others. Of one that is refused only the hash is left:
/// a change of such a file is still a change to review.
pub(super) fn own_names(wanted: &[&str]) -> Result<Vec<String>, Reason> {
    let mut names = Names::default();
    let place = |name: &&str| {
        let components: Vec<String> = name.split('/').map(cut).collect();
        let mut path = components.join("/");
        if path.len() > LONGEST_OWN_PATH {
            path = format!("long~{}", hash(&path));
        }
        let placed = names.place(path.as_bytes());
        placed.or_else(|_| names.place(format!("refused~{}", hash(&path)).as_bytes()))
    };
    wanted.iter().map(place).collect()
}

fn cut(component: &str) -> String {
    let component = printable(component.as_bytes());
    if component.len() <= LONGEST_OWN_COMPONENT {
        return component;
    }
    let start = &component[..component.floor_char_boundary(200)];
    format!("{start}~{}", hash(&component))
}

fn hash(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text.as_bytes())[..8])
}

/// True if a folder can hold the path as git stores it, and it leads nowhere else.
pub(crate) fn is_usable(path: &[u8]) -> bool {
    path.len() <= LONGEST_PATH && path.split(|&b| b == b'/').all(|one| judge(one).is_ok())
}

fn judge(component: &[u8]) -> Result<(), Reason> {
    if component.is_empty() || component.contains(&0) {
        return Err(Reason::Escapes);
    }
    // A backslash separates nothing here, but what reads the tree may think that it does.
    for part in component.split(|&b| b == b'\\') {
        let text = fold(&String::from_utf8_lossy(part));
        let stem = text
            .split(':')
            .next()
            .unwrap_or_default()
            .trim_end_matches(['.', ' ']);
        let is_short = stem
            .strip_prefix("git~")
            .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        if stem == ".git" || is_short {
            return Err(Reason::GitDirectory);
        }
        // Nothing but dots and blanks: `.`, `..`, `. .`, or hidden characters around them.
        if text.trim_matches(['.', ' ']).is_empty() {
            return Err(Reason::Escapes);
        }
    }
    if component.len() > LONGEST_COMPONENT {
        return Err(Reason::NameTooLong);
    }
    Ok(())
}

fn inert(component: &str) -> String {
    let folded = fold(component);
    let plain = folded.trim_end_matches(['.', ' ']);
    let family = OBEYED_PREFIXES.iter().any(|p| plain.starts_with(p)) && !plain.contains(INERT);
    let obeyed = OBEYED.contains(&plain) || family;
    if obeyed {
        format!("{component}{INERT}")
    } else {
        component.to_owned()
    }
}

/// As a file system without case, and one that skips what cannot be seen, would compare it.
fn fold(text: &str) -> String {
    let seen = text.chars().filter(|c| !is_hidden(*c));
    // By way of the capital, because some letters have one in common: `ſ` is an `s` to such a system.
    let capitals = seen.flat_map(char::to_uppercase);
    capitals.flat_map(char::to_lowercase).collect()
}

/// A line break or an escape sequence in a name would be read as something else than a name.
fn printable(component: &[u8]) -> String {
    let text = utf8_text(component);
    if !text.contains(is_hidden) {
        return text;
    }
    let escape = |c: char| {
        if is_hidden(c) {
            format!("%{:02X}", u32::from(c))
        } else {
            c.to_string()
        }
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(path: &str) -> Result<String, Reason> {
        Names::default().place(path.as_bytes())
    }

    #[test]
    fn plain_names_stay_as_they_are() {
        for path in [
            "src/main.rs",
            ".github/workflows/ci.yml",
            ".gitignore",
            ".gitattributes",
            "a b/c",
            "docs/agents.mdx",
            "x.git/y",
            "git~x",
            "...dots",
            "opencode.rs",
            "dev-disk\\x2dlabel.mount",
            "ünï/cødé",
            "context.markdown",
            ".env",
            "digit~1",
        ] {
            assert_eq!(place(path).as_deref(), Ok(path));
        }
    }

    #[test]
    fn names_that_would_be_obeyed_become_data() {
        for (path, shown) in [
            ("AGENTS.md", "AGENTS.md.pr-data"),
            ("sub/Claude.MD", "sub/Claude.MD.pr-data"),
            ("CONTEXT.md", "CONTEXT.md.pr-data"),
            (".opencode/plugin/x.js", ".opencode.pr-data/plugin/x.js"),
            (".OpenCode/x", ".OpenCode.pr-data/x"),
            ("a/.claude/skills/x", "a/.claude.pr-data/skills/x"),
            (".agents/x", ".agents.pr-data/x"),
            ("opencode.jsonc", "opencode.jsonc.pr-data"),
            (".mcp.json", ".mcp.json.pr-data"),
            (".cursorrules", ".cursorrules.pr-data"),
            (".cursor/rules/x.mdc", ".cursor.pr-data/rules/x.mdc"),
            (".ignore", ".ignore.pr-data"),
            ("a/.rgignore", "a/.rgignore.pr-data"),
            (".jj/repo/x", ".jj.pr-data/repo/x"),
            ("AGENTſ.md", "AGENTſ.md.pr-data"),
            ("AGENTS.md/AGENTS.md", "AGENTS.md.pr-data/AGENTS.md.pr-data"),
            (".opencode/AGENTS.md", ".opencode.pr-data/AGENTS.md.pr-data"),
            ("AGENTS.md. ", "AGENTS.md. .pr-data"),
            ("opencode.json.pr-data", "opencode.json.pr-data"),
        ] {
            assert_eq!(place(path).as_deref(), Ok(shown));
        }
    }

    #[test]
    fn a_git_directory_is_refused_in_every_spelling() {
        for path in [
            ".git/config",
            ".GIT/config",
            "a/.Git",
            ".git\u{200c}/config",
            "\u{feff}.git",
            ".git./x",
            ".git /x",
            "git~1/config",
            "GIT~12",
            ".git::$INDEX_ALLOCATION/x",
            "a\\.git\\config",
            ".gi\u{ad}t",
        ] {
            assert_eq!(place(path), Err(Reason::GitDirectory), "{path:?}");
        }
    }

    #[test]
    fn a_path_that_leads_out_is_refused() {
        for path in [
            "../x",
            "a/../../b",
            "/etc/passwd",
            "a//b",
            "",
            "a/",
            ".",
            "./a",
            "..\\x",
            "\\\\host\\share",
            "a\0b",
            "..\u{200b}/x",
            ".. /x",
        ] {
            assert_eq!(place(path), Err(Reason::Escapes), "{path:?}");
        }
    }

    #[test]
    fn long_names_are_left_out() {
        assert_eq!(place(&"x".repeat(256)), Err(Reason::NameTooLong));
        assert_eq!(place(&"x/".repeat(2500)[..4999]), Err(Reason::NameTooLong));
        assert!(place(&"x".repeat(255)).is_ok());
    }

    #[test]
    fn two_paths_never_share_a_place() {
        let mut names = Names::default();
        let mut place = |path: &[u8]| names.place(path).unwrap();
        assert_eq!(place(b"Readme"), "Readme");
        assert_eq!(place(b"README"), "README~2");
        assert_eq!(place(b"dir/a"), "dir/a");
        assert_eq!(place(b"Dir/a"), "Dir~2/a");
        assert_eq!(place(b"Dir/b"), "Dir~2/b");
        assert_eq!(
            place(b"dir"),
            "dir~3",
            "a file beside a directory of its name"
        );
        assert_eq!(place(b"AGENTS.md"), "AGENTS.md.pr-data");
        assert_eq!(place(b"AGENTS.md.pr-data"), "AGENTS.md.pr-data~2");
        assert_eq!(place(b"x\n::error::y"), "x%0A::error::y");
        assert_eq!(place("AGENTS\u{200b}.md".as_bytes()), "AGENTS%200B.md");
        assert_eq!(
            place(b"dir/a"),
            "dir/a~2",
            "a hostile tree lists a file twice"
        );
        assert_eq!(place(b"caf\xe9"), "caf\\xe9");
        assert_eq!(place(b"caf\\xe9"), "caf\\xe9~2");
    }

    #[test]
    fn thousands_of_names_that_differ_in_case_only_are_placed() {
        let mut names = Names::default();
        for bits in 0..1_u32 << 14 {
            let letter = |n: u32| if (bits >> n) & 1 == 1 { b'A' } else { b'a' };
            names
                .place(&(0..14).map(letter).collect::<Vec<u8>>())
                .unwrap();
        }
        assert_eq!(names.taken.len(), 1 << 14);
    }

    #[test]
    fn our_folder_steps_aside() {
        let mut names = Names::default();
        assert_eq!(names.own_folder(), "_pr");
        names.place(b"_PR/x").unwrap();
        assert_eq!(names.own_folder(), "_pr-2");
    }

    #[test]
    fn our_own_names_always_fit_and_never_meet() {
        let (one, two) = ("é".repeat(150), "é".repeat(151));
        let deep = "d/".repeat(1900);
        let wanted = [
            "diffs/src/a.rs.diff",
            "diffs/src/a.rs.diff",
            "diffs/src/a.rs.diff/b.diff",
            "AGENTS.md",
            "opencode.json.pr-data.diff",
            one.as_str(),
            one.as_str(),
            two.as_str(),
            &deep[..3799],
        ];
        let names = own_names(&wanted).unwrap();
        assert_eq!(
            names[..5],
            [
                "diffs/src/a.rs.diff",
                "diffs/src/a.rs.diff~2",
                "diffs/src/a.rs.diff~3/b.diff",
                "AGENTS.md.pr-data",
                "opencode.json.pr-data.diff"
            ]
        );
        assert!(names.iter().all(|name| name.len() <= LONGEST_COMPONENT));
        assert!(names[8].starts_with("long~"), "{}", names[8]);
        let apart: HashSet<&String> = names.iter().collect();
        assert_eq!(apart.len(), names.len());
        let refused = own_names(&["a/../b", ".GIT/b", "../b", ""]).unwrap();
        let is_hash = |name: &&String| name.starts_with("refused~") && !name.contains('/');
        assert_eq!(refused.iter().filter(is_hash).count(), 4, "{refused:?}");
    }

    #[test]
    fn rules_of_the_base_stand_where_the_head_has_the_directory() {
        let mut names = Names::default();
        for path in ["SRC", "src/a", "AGENTS.md", "src/agents.md", ".claude/x"] {
            names.place(path.as_bytes()).unwrap();
        }
        let mut rules = |path: &str| names.place_rules(path.as_bytes());
        assert_eq!(rules("AGENTS.md").as_deref(), Some("AGENTS.md"));
        assert_eq!(rules("src/AGENTS.md").as_deref(), Some("src~2/AGENTS.md"));
        assert_eq!(
            rules(".claude/AGENTS.md").as_deref(),
            Some(".claude.pr-data/AGENTS.md")
        );
        assert_eq!(rules("gone/AGENTS.md"), None);
        assert_eq!(rules("AGENTS.md"), None, "a tree that lists it twice");
    }

    proptest! {
        #[test]
        fn any_bytes_stay_inside(path in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(shown) = Names::default().place(&path) {
                prop_assert!(shown.split('/').all(|part| !matches!(part, "" | "." | ".." | ".git")));
                prop_assert!(!shown.contains(char::is_control));
            }
        }

        #[test]
        fn no_path_of_a_pull_request_is_shown_as_agents_md(
            paths in proptest::collection::vec(
                "((AGENTS|agents|Agentſ|\\.opencode|x)(\\.md|\\.MD|\u{200b}\\.md)?[. ~]?/?){1,3}",
                1..6,
            ),
        ) {
            let mut names = Names::default();
            for path in &paths {
                let Ok(shown) = names.place(path.as_bytes()) else { continue };
                let parts = || shown.split('/').map(|part| fold(part.trim_end_matches(['.', ' '])));
                prop_assert!(parts().all(|part| part != "agents.md"), "{shown}");
            }
            prop_assert_eq!(names.place_rules(b"AGENTS.md"), Some("AGENTS.md".to_owned()));
        }
    }
}
