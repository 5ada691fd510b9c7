//! Which changed files nobody wants a review of: what programs write. Only paths decide, and only what the base branch
//! and the workflow say about them; a header in the file would let a change hide itself.

use crate::config::Globs;

/// Lock files, what is vendored, minified or generated. A `!` in `ignore` takes one back.
const DEFAULTS: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "Cargo.lock",
    "Gemfile.lock",
    "composer.lock",
    "poetry.lock",
    "uv.lock",
    "Pipfile.lock",
    "pdm.lock",
    "go.sum",
    "flake.lock",
    "mix.lock",
    "pubspec.lock",
    "Podfile.lock",
    "Package.resolved",
    "gradle.lockfile",
    "packages.lock.json",
    ".terraform.lock.hcl",
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

#[derive(Debug, Default)]
pub struct Ignore {
    defaults: Globs,
    generated: Vec<(String, Globs)>,
    own: Globs,
}

impl Ignore {
    #[must_use]
    pub fn new(own: &Globs, attributes: &[Attributes]) -> Self {
        let defaults = DEFAULTS.iter().map(|&one| one.to_owned()).collect();
        let generated = attributes.iter().map(|(folder, text)| {
            let (globs, _unreadable) = Globs::new(generated(text));
            (folder.clone(), globs)
        });
        Self {
            defaults: Globs::new(defaults).0,
            generated: generated.collect(),
            own: own.clone(),
        }
    }

    /// The repository's own word counts most, then its attributes, the deepest last, then the defaults.
    #[must_use]
    pub fn takes(&self, path: &str) -> bool {
        let marked = self.generated.iter().filter_map(|(folder, globs)| {
            let inside = path.strip_prefix(folder.as_str())?;
            Some((folder.len(), globs.decide(inside)?))
        });
        let marked = marked.max_by_key(|(depth, _)| *depth);
        let marked = marked.map(|(_, generated)| generated);
        let decided = self.own.decide(path).or(marked);
        decided.unwrap_or_else(|| self.defaults.take(path))
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

    fn ignore(own: &[&str], attributes: &[(&str, &str)]) -> Ignore {
        let (own, _) = Globs::new(own.iter().map(|&one| one.to_owned()).collect());
        let attributes = attributes.iter();
        let attributes = attributes.map(|&(folder, text)| (folder.to_owned(), text.to_owned()));
        Ignore::new(&own, &attributes.collect::<Vec<_>>())
    }

    #[test]
    fn what_programs_write_is_left_out_by_itself() {
        let ignore = ignore(&[], &[]);
        for path in [
            "package-lock.json",
            "web/yarn.lock",
            "api/user.pb.go",
            "vendor/x/y.go",
            "a/node_modules/b/index.js",
            "static/app.min.js",
            "src/__generated__/types.ts",
        ] {
            assert!(ignore.takes(path), "{path}");
        }
        for path in [
            "src/lock.rs",
            "src/vendors.rs",
            "package.json",
            ".github/workflows/ci.yml",
        ] {
            assert!(!ignore.takes(path), "{path}");
        }
    }

    #[test]
    fn the_repository_adds_and_takes_back() {
        let ignore = ignore(&["docs/", "!Cargo.lock", "*.snap"], &[]);
        assert!(ignore.takes("docs/a.md") && ignore.takes("x/y.snap"));
        assert!(!ignore.takes("Cargo.lock"));
        assert!(ignore.takes("yarn.lock"));
    }

    #[test]
    fn attributes_of_the_base_mark_what_is_generated() {
        let root = "# none\n*.ts text\nsrc/api.ts linguist-generated\n*.lock -linguist-generated\n";
        let nested = "api.ts linguist-generated=false\n*.json linguist-generated=true\n";
        let ignore = ignore(&[], &[("", root), ("src/", nested)]);
        assert!(!ignore.takes("src/api.ts"), "the deepest counts");
        assert!(ignore.takes("src/a/b.json"));
        assert!(!ignore.takes("a/b.json"));
        assert!(!ignore.takes("yarn.lock"));
    }

    #[test]
    fn a_comment_or_a_macro_among_the_attributes_marks_no_file() {
        let root = "#a linguist-generated\n[attr]made linguist-generated\n*.ts made\n";
        let ignore = ignore(&[], &[("", root)]);
        for path in ["#a", "amade", "src/api.ts"] {
            assert!(!ignore.takes(path), "{path}");
        }
    }
}
