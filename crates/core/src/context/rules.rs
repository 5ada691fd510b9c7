//! The rules of the repository: AGENTS.md from the base, never from the head, because a pull request must not
//! write the rules it is judged by.

/// The name of a rules file, in exactly this spelling.
pub const NAME: &str = "AGENTS.md";

/// No rules file of a sane repository is larger; such a one is left out and named.
pub const MAX_BYTES: u64 = 256 * 1024;

/// One AGENTS.md of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    pub path: String,
    pub text: String,
}

/// True if a path of the base is a rules file that governs one of the changed paths: it stands at the root or in a
/// directory above one of them.
#[must_use]
pub fn applies(path: &str, changed: &[&str]) -> bool {
    match path.rsplit_once('/') {
        None => path == NAME,
        Some((directory, NAME)) => changed.iter().any(|changed| {
            changed
                .strip_prefix(directory)
                .is_some_and(|rest| rest.starts_with('/'))
        }),
        Some(_) => false,
    }
}

/// True if a path, as git stores it, is that of a rules file.
#[must_use]
pub fn is_rules(path: &[u8]) -> bool {
    path.rsplit(|&b| b == b'/').next() == Some(NAME.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_govern_what_lies_below_them() {
        let changed = ["src/api/users.rs", "docs/x.md"];
        assert!(applies("AGENTS.md", &changed));
        assert!(applies("src/AGENTS.md", &changed));
        assert!(applies("src/api/AGENTS.md", &changed));
        assert!(!applies("web/AGENTS.md", &changed));
        assert!(!applies("src/ap/AGENTS.md", &changed));
        assert!(!applies("src/agents.txt", &changed));
    }

    #[test]
    fn only_the_exact_name_makes_rules() {
        assert!(is_rules(b"AGENTS.md") && is_rules(b"a/b/AGENTS.md"));
        assert!(!is_rules(b"agents.md") && !is_rules(b"AGENTS.md/x") && !is_rules(b"xAGENTS.md"));
    }
}
