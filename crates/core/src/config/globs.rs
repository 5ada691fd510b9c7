//! Globs as `.gitignore` has them: a name without a slash stands anywhere, a folder stands for what is in it, `!` takes
//! back, and the last that matches decides.
//!
//! On globset and not on the `ignore` crate, whose patterns mean something else where one takes back: a property test
//! against `GitignoreBuilder` (0.4.34, `matched_path_or_any_parents`) found that a pattern for a file beats one for its folder,
//! whichever is last. With `*.md` and then `!docs/`, `docs/x.md` would be left out; with `!docs/x.md` and then `docs/` it would
//! be reviewed. `#x` would be a comment, and nothing lists all patterns that match a path, as `matching` does.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

#[derive(Debug, Clone, Default)]
pub struct Globs {
    patterns: Vec<String>,
    set: GlobSet,
    /// The index of the pattern that each glob of the set was made of.
    origin: Vec<usize>,
}

/// As many as a person keeps in mind.
const MOST: usize = 500;

impl Globs {
    /// Compiles the patterns. Returns the globs, and the patterns that cannot be read.
    #[must_use]
    pub fn new(patterns: Vec<String>) -> (Self, Vec<String>) {
        let (mut wrong, mut kept, mut origin) = (Vec::new(), Vec::new(), Vec::new());
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns.into_iter().take(MOST) {
            let globs: Result<Vec<_>, _> = spelled_out(&pattern)
                .iter()
                .map(|glob| GlobBuilder::new(glob).literal_separator(true).build())
                .collect();
            let Ok(globs) = globs else {
                wrong.push(pattern);
                continue;
            };
            for glob in globs {
                builder.add(glob);
                origin.push(kept.len());
            }
            kept.push(pattern);
        }
        let set = builder.build().unwrap_or_default();
        let globs = Self {
            patterns: kept,
            set,
            origin,
        };
        (globs, wrong)
    }

    /// The same with these files taken in, whatever is in their names.
    #[must_use]
    pub fn with_files<'a>(&self, paths: impl Iterator<Item = &'a str>) -> Self {
        let files = paths.map(|path| format!("/{}", globset::escape(path)));
        let patterns = self.patterns.iter().cloned().chain(files).collect();
        Self::new(patterns).0
    }

    #[must_use]
    pub(crate) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// True if the last pattern that matches takes the path in; `None`: none matches.
    #[must_use]
    pub(crate) fn decide(&self, path: &str) -> Option<bool> {
        let last = self.set.matches(path).into_iter().max()?;
        let pattern = &self.patterns[self.origin[last]];
        Some(!pattern.trim_start().starts_with('!'))
    }

    /// All patterns that match a path, those that take back included.
    pub(crate) fn matching(&self, path: &str) -> impl Iterator<Item = &str> {
        let mut matching: Vec<usize> = self
            .set
            .matches(path)
            .into_iter()
            .map(|at| self.origin[at])
            .collect();
        matching.dedup();
        matching.into_iter().map(|at| self.patterns[at].as_str())
    }

    #[must_use]
    pub fn take(&self, path: &str) -> bool {
        self.decide(path) == Some(true)
    }
}

/// The pattern itself, and everything below it.
fn spelled_out(pattern: &str) -> [String; 2] {
    let pattern = pattern.trim();
    let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
    let inner = pattern.trim_end_matches('/');
    let rooted = match inner.strip_prefix('/') {
        Some(rooted) => rooted.to_owned(),
        None if inner.contains('/') => inner.to_owned(),
        None => format!("**/{inner}"),
    };
    let below = format!("{rooted}/**");
    let itself = if pattern.ends_with('/') {
        below.clone()
    } else {
        rooted
    };
    [itself, below]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(patterns: &[&str]) -> Globs {
        let (globs, wrong) = Globs::new(patterns.iter().map(|&one| one.to_owned()).collect());
        assert_eq!(wrong, Vec::<String>::new());
        globs
    }

    #[test]
    fn a_name_stands_anywhere_and_a_path_where_it_says() {
        let globs = globs(&["*.lock", "docs", "/build", "web/dist/", "api/*.gen.ts"]);
        for path in [
            "yarn.lock",
            "a/b/Cargo.lock",
            "docs/x.md",
            "a/docs/deep/x.md",
            "build/x",
            "web/dist/a/b.js",
            "api/users.gen.ts",
        ] {
            assert!(globs.take(path), "{path}");
        }
        for path in [
            "lock",
            "src/docs.rs",
            "a/build/x",
            "web/dist",
            "api/v1/users.gen.ts",
        ] {
            assert!(!globs.take(path), "{path}");
        }
    }

    #[test]
    fn the_last_that_matches_decides() {
        let globs = globs(&["*.md", "!README.md", "old/**"]);
        assert!(globs.take("a.md"));
        assert!(!globs.take("README.md") && globs.decide("README.md") == Some(false));
        assert!(globs.take("old/README.md"));
        assert_eq!(globs.decide("a.rs"), None);
    }

    #[test]
    fn a_folder_that_comes_last_decides_about_its_files() {
        let back = globs(&["*.md", "!docs/"]);
        assert_eq!(back.decide("docs/x.md"), Some(false));
        assert_eq!(back.decide("x.md"), Some(true));
        let out = globs(&["!docs/x.md", "docs/"]);
        assert_eq!(out.decide("docs/x.md"), Some(true));
        assert_eq!(globs(&["#x"]).decide("#x"), Some(true));
    }

    #[test]
    fn what_cannot_be_read_is_named_and_the_rest_counts() {
        let (globs, wrong) = Globs::new(vec!["a[".into(), "*.snap".into()]);
        assert_eq!(wrong, ["a["]);
        assert!(globs.take("x/y.snap"));
        assert_eq!(globs.patterns(), ["*.snap"]);
    }
}
