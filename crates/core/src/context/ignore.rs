//! Changed files that are not reviewed, because programs write them. Only paths decide, and only the base branch and
//! the workflow say which; a header in the file would let a change hide itself, and so would a name that the change
//! itself gives to a folder.

use crate::config::Globs;
use std::collections::HashMap;

/// Patterns of vendored, minified and generated files. A `!` in `ignore` takes one back.
const DEFAULTS: &[&str] = &[
    "node_modules/",
    "vendor/",
    "third_party/",
    "*.min.js",
    "*.min.css",
    "*.js.map",
    "*.css.map",
    "*.pb.go",
    "*.pb.cc",
    "*.pb.h",
    "*_pb2.py",
    "*_pb2_grpc.py",
    "*_pb.js",
    "*_pb.ts",
    "*.g.dart",
    "*.freezed.dart",
    "*.Designer.cs",
    "*.generated.*",
    "__generated__/",
];

/// A `.gitattributes` of the base: its folder with a slash behind it, or nothing, and its text.
pub type Attributes = (String, String);

/// The paths of the base, to look up what lies where.
#[derive(Debug, Default)]
pub struct BasePaths {
    sorted: Vec<String>,
    folders: HashMap<String, Vec<usize>>,
}

impl BasePaths {
    #[must_use]
    pub fn new(mut paths: Vec<String>) -> Self {
        paths.sort_unstable();
        let mut folders: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, path) in paths.iter().enumerate() {
            folders.entry(parent(path).to_owned()).or_default().push(at);
        }
        Self {
            sorted: paths,
            folders,
        }
    }

    fn has_below(&self, folder: &str) -> bool {
        let at = self.sorted.partition_point(|path| path.as_str() < folder);
        self.sorted
            .get(at)
            .is_some_and(|path| path.starts_with(folder))
    }

    /// The files in the folder of a path.
    fn beside(&self, path: &str) -> impl Iterator<Item = &str> {
        let files = self.folders.get(parent(path)).into_iter().flatten();
        files.map(|at| self.sorted[*at].as_str())
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[derive(Debug, Default)]
pub struct Ignore {
    defaults: Globs,
    generated: Vec<(String, Globs)>,
    own: Globs,
    base: BasePaths,
}

impl Ignore {
    #[must_use]
    pub fn new(own: &Globs, attributes: &[Attributes], base: BasePaths) -> Self {
        let defaults = DEFAULTS.iter().map(|&one| one.to_owned()).collect();
        let generated = attributes.iter().map(|(folder, text)| {
            let (globs, _unreadable) = Globs::new(generated(text));
            (folder.clone(), globs)
        });
        Self {
            defaults: Globs::new(defaults).0,
            generated: generated.collect(),
            own: own.clone(),
            base,
        }
    }

    /// The decision of the repository's own `ignore` about a path; `None`: nothing.
    #[must_use]
    pub(crate) fn own(&self, path: &str) -> Option<bool> {
        self.own.decide(path)
    }

    /// True if programs write a file, by its attributes (the deepest count) or its name. A name counts only where the
    /// base has such a file already: else a change could call its own code generated.
    #[must_use]
    pub(crate) fn is_generated(&self, path: &str) -> bool {
        match self.marked(path) {
            Some(true) => self
                .base
                .beside(path)
                .any(|other| self.marked(other) == Some(true)),
            Some(false) => false,
            None => self
                .defaults
                .matching(path)
                .any(|pattern| self.has_precedent(pattern, path)),
        }
    }

    fn marked(&self, path: &str) -> Option<bool> {
        let marked = self.generated.iter().filter_map(|(folder, globs)| {
            let inside = path.strip_prefix(folder.as_str())?;
            Some((folder.len(), globs.decide(inside)?))
        });
        marked
            .max_by_key(|(depth, _)| *depth)
            .map(|(_, generated)| generated)
    }

    fn has_precedent(&self, pattern: &str, path: &str) -> bool {
        let Some(folder) = pattern.strip_suffix('/') else {
            let is_like = |other: &str| self.defaults.matching(other).any(|one| one == pattern);
            return self.base.beside(path).any(is_like);
        };
        let mut end = 0;
        for part in path.split('/') {
            end += part.len() + 1;
            if part == folder {
                return path
                    .get(..end)
                    .is_some_and(|folder| self.base.has_below(folder));
            }
        }
        false
    }
}

/// The patterns that `linguist-generated` or `linguist-vendored` marks, and those that it takes back.
fn generated(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with('#') && !line.starts_with('['));
    let patterns = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        let pattern = words.next()?;
        let mut marks = words.filter_map(|word| match word {
            "linguist-generated"
            | "linguist-generated=true"
            | "linguist-vendored"
            | "linguist-vendored=true" => Some(true),
            "-linguist-generated"
            | "linguist-generated=false"
            | "-linguist-vendored"
            | "linguist-vendored=false" => Some(false),
            _ => None,
        });
        let not = if marks.next_back()? { "" } else { "!" };
        Some(format!("{not}{pattern}"))
    });
    patterns.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignore(own: &[&str], attributes: &[(&str, &str)], base: &[&str]) -> Ignore {
        let (own, _) = Globs::new(own.iter().map(|&one| one.to_owned()).collect());
        let attributes = attributes.iter();
        let attributes = attributes.map(|&(folder, text)| (folder.to_owned(), text.to_owned()));
        let base = base.iter().map(|&path| path.to_owned()).collect();
        Ignore::new(&own, &attributes.collect::<Vec<_>>(), BasePaths::new(base))
    }

    const WRITTEN: [&str; 5] = [
        "api/user.pb.go",
        "vendor/x/y.go",
        "a/node_modules/b/index.js",
        "static/app.min.js",
        "src/__generated__/types.ts",
    ];

    #[test]
    fn what_programs_write_is_left_out_where_the_base_has_such_files() {
        let base = [
            "api/other.pb.go",
            "vendor/z/w.go",
            "a/node_modules/c/index.js",
            "static/lib.min.js",
            "src/__generated__/old.ts",
        ];
        let ignore = ignore(&[], &[], &base);
        for path in WRITTEN {
            assert!(ignore.is_generated(path), "{path}");
        }
        for path in [
            "src/lock.rs",
            "src/vendors.rs",
            "package.json",
            ".github/workflows/ci.yml",
        ] {
            assert!(!ignore.is_generated(path), "{path}");
        }
    }

    #[test]
    fn a_change_cannot_call_its_own_code_generated() {
        let base = [
            "api/user.go",
            "vendors/a.js",
            "static/app.js",
            "other/vendor/a.go",
        ];
        let ignore = ignore(&[], &[], &base);
        for path in WRITTEN {
            assert!(!ignore.is_generated(path), "{path}");
        }
        assert!(ignore.is_generated("other/vendor/deep/er.go"));
    }

    #[test]
    fn the_repository_adds_and_takes_back() {
        let ignore = ignore(&["docs/", "!vendor/", "*.snap"], &[], &["vendor/a.js"]);
        assert_eq!(ignore.own("docs/a.md"), Some(true));
        assert_eq!(ignore.own("x/y.snap"), Some(true));
        assert_eq!(ignore.own("vendor/b.js"), Some(false));
        assert_eq!(ignore.own("yarn.lock"), None);
    }

    #[test]
    fn attributes_of_the_base_mark_what_is_generated() {
        let root =
            "# none\n*.ts text\nsrc/api.ts linguist-generated\n*.pb.go -linguist-generated\n";
        let nested = "api.ts linguist-generated=false\n*.json linguist-generated=true\n";
        let base = ["src/api.ts", "src/a/c.json", "a/c.json", "x.pb.go"];
        let ignore = ignore(&[], &[("", root), ("src/", nested)], &base);
        assert!(!ignore.is_generated("src/api.ts"), "the deepest counts");
        assert!(ignore.is_generated("src/a/b.json"));
        assert!(
            !ignore.is_generated("src/new/b.json"),
            "the base has none there"
        );
        assert!(!ignore.is_generated("a/b.json"));
        assert!(!ignore.is_generated("y.pb.go"));
    }

    #[test]
    fn a_comment_or_a_macro_among_the_attributes_marks_no_file() {
        let root = "#a linguist-generated\n[attr]made linguist-generated\n*.ts made\n";
        let paths = ["#a", "amade", "src/api.ts"];
        let ignore = ignore(&[], &[("", root)], &paths);
        for path in paths {
            assert!(!ignore.is_generated(path), "{path}");
        }
    }
}
