//! The rules of the repository: AGENTS.md from the base, never from the head, because a pull request must not
//! write the rules it is judged by.

/// One AGENTS.md of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    pub path: String,
    pub text: String,
}

/// Whether a path of the base is a rules file that governs one of the changed paths: it stands at the root
/// or in a directory above one of them.
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

const NAME: &str = "AGENTS.md";

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
}
