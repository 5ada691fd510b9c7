//! Lock files: where they let packages come from. A lock file is written by a program and too long to be read, so what
//! decides is whether it names a source that the base does not name yet. Pure.

use serde_json::Value;
use std::collections::BTreeSet;

/// Sources of packages: hosts, with the owner behind the name of a host that many share.
pub type Sources = BTreeSet<String>;

struct Format {
    name: &'static str,
    syntax: Syntax,
    /// Addresses that the first lock file of a repository may name: the registries that its tool uses by default.
    registries: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Json,
    /// Lines in which a URL stands as it is: YAML, TOML, and formats of their own.
    Lines,
    /// No text.
    Binary,
}

const NPM: &[&str] = &["registry.npmjs.org", "registry.yarnpkg.com"];
const CARGO: &[&str] = &[
    "github.com/rust-lang",
    "index.crates.io",
    "static.crates.io",
];
const COMPOSER: &[&str] = &[
    "packagist.org",
    "repo.packagist.org",
    "api.github.com",
    "github.com",
    "codeload.github.com",
    "gitlab.com",
];
const PYPI: &[&str] = &["pypi.org", "files.pythonhosted.org"];
const RUBY: &[&str] = &["rubygems.org"];
const NONE: &[&str] = &[];

const FORMATS: [Format; 23] = [
    format("package-lock.json", Syntax::Json, NPM),
    format("npm-shrinkwrap.json", Syntax::Json, NPM),
    format("yarn.lock", Syntax::Lines, NPM),
    format("pnpm-lock.yaml", Syntax::Lines, NPM),
    format("bun.lock", Syntax::Lines, NPM),
    format("bun.lockb", Syntax::Binary, NONE),
    format(
        "deno.lock",
        Syntax::Json,
        &["deno.land", "jsr.io", "registry.npmjs.org"],
    ),
    format("Cargo.lock", Syntax::Lines, CARGO),
    format("Gemfile.lock", Syntax::Lines, RUBY),
    format("composer.lock", Syntax::Json, COMPOSER),
    format("poetry.lock", Syntax::Lines, PYPI),
    format("uv.lock", Syntax::Lines, PYPI),
    format("pdm.lock", Syntax::Lines, PYPI),
    format("Pipfile.lock", Syntax::Json, PYPI),
    format("go.sum", Syntax::Lines, NONE),
    format("flake.lock", Syntax::Json, NONE),
    format("mix.lock", Syntax::Lines, &["repo.hex.pm"]),
    format("pubspec.lock", Syntax::Lines, &["pub.dev"]),
    format("Podfile.lock", Syntax::Lines, NONE),
    format("Package.resolved", Syntax::Json, NONE),
    format("gradle.lockfile", Syntax::Lines, NONE),
    format("packages.lock.json", Syntax::Json, NONE),
    format(".terraform.lock.hcl", Syntax::Lines, NONE),
];

const fn format(name: &'static str, syntax: Syntax, registries: &'static [&'static str]) -> Format {
    Format {
        name,
        syntax,
        registries,
    }
}

/// Hosts on which anybody may have a repository: there the owner is part of the source.
const SHARED_HOSTS: [&str; 7] = [
    "github.com",
    "codeload.github.com",
    "raw.githubusercontent.com",
    "api.github.com",
    "gitlab.com",
    "bitbucket.org",
    "git.sr.ht",
];

/// Keys whose values people read and no tool fetches.
const PROSE: [&str; 10] = [
    "authors",
    "bugs",
    "deprecated",
    "description",
    "funding",
    "homepage",
    "keywords",
    "license",
    "readme",
    "support",
];

/// Keys below which packages are listed by their names.
const LISTS: [&str; 8] = [
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "packages",
    "peerDependencies",
    "requires",
    "specifiers",
    "workspaces",
];

/// The maximum number of values in a JSON lock file. Each takes about a hundred bytes once it is read; a lock file of
/// 10 MB has about 300,000.
const MOST_VALUES: usize = 1_000_000;

/// Keys of a package.
const PACKAGE: [&str; 6] = ["version", "resolved", "integrity", "dist", "source", "link"];

fn format_of(path: &str) -> Option<&'static Format> {
    let name = path.rsplit('/').next().unwrap_or_default();
    FORMATS.iter().find(|format| format.name == name)
}

/// True if a path is that of a lock file.
#[must_use]
pub fn is_lock(path: &str) -> bool {
    format_of(path).is_some()
}

/// The registries that a first lock file of this name may name.
#[must_use]
pub fn registries(path: &str) -> Sources {
    let registries = format_of(path).map_or(NONE, |format| format.registries);
    registries.iter().map(|&one| one.to_owned()).collect()
}

/// The sources that a lock file names; `None` where it cannot be read, and may name any.
#[must_use]
pub fn sources(path: &str, content: &[u8]) -> Option<Sources> {
    let format = format_of(path)?;
    let mut sources = Sources::new();
    let mut take = |text: &str| named_in(text, format, &mut sources);
    match format.syntax {
        Syntax::Binary => {
            // Text that cannot be a host name is not part of a URL either.
            for chunk in content.utf8_chunks() {
                for text in chunk.valid().split(|c: char| c.is_control()) {
                    let _nothing_to_read = take(text);
                }
            }
        }
        Syntax::Json => {
            let separators = content.iter().filter(|byte| b",:[{".contains(byte));
            if separators.count() > MOST_VALUES {
                return None;
            }
            let json: Value = serde_json::from_slice(content).ok()?;
            let mut texts = Vec::new();
            collect(&json, true, &mut texts);
            texts.iter().try_for_each(|text| take(text))?;
        }
        Syntax::Lines => {
            let text = std::str::from_utf8(content).ok()?;
            // Quotes inside of quotes are ordinary; any other escape could spell a URL in a way that is not seen here.
            let text = text.replace("\\\"", "");
            let mut lines = text.lines().filter(|line| !is_notice(line));
            lines.try_for_each(take)?;
        }
    }
    Some(sources)
}

/// `deprecated: …` of a package, in which its author says where to go instead. Nothing else may stand in the line that a
/// tool could read.
fn is_notice(line: &str) -> bool {
    line.trim_start().starts_with("deprecated:") && !line.contains(['{', '}', '&', '*'])
}

/// Every string of a document but the prose about a package. `prose`: the keys are those of a package, not of a list of
/// packages, where each may be the name of one.
fn collect(value: &Value, prose: bool, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, true, texts)),
        Value::Object(entries) => {
            // How Nix names a repository.
            if let (Some(kind), Some(owner)) = (entries.get("type"), entries.get("owner"))
                && let (Some(kind), Some(owner)) = (kind.as_str(), owner.as_str())
            {
                texts.push(format!("{kind}:{owner}/"));
            }
            for (key, value) in entries {
                let is_package = |value: &Value| PACKAGE.iter().any(|key| value.get(key).is_some());
                if prose && PROSE.contains(&key.as_str()) && !is_package(value) {
                    continue;
                }
                texts.push(key.clone());
                collect(value, !LISTS.contains(&key.as_str()), texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Adds what a text names: `scheme://host/owner`, `git@host:owner` and `github:owner/name`. `None`: it may be a URL that
/// tools read in another way than it looks.
fn named_in(text: &str, format: &Format, sources: &mut Sources) -> Option<()> {
    let is_odd = |c: char| c == '\\' || (c.is_control() && c != '\t');
    if text.contains(is_odd) || has_bare_scheme(text) || text.starts_with("//") {
        return None;
    }
    // Composer's packages all come from their own repositories; there only the host can be compared.
    let by_owner = format.name != "composer.lock";
    let source = |host: &str, path: &str| {
        let host = host.to_ascii_lowercase();
        if by_owner && SHARED_HOSTS.contains(&host.as_str()) {
            let path = path.strip_prefix("repos/").unwrap_or(path);
            let owner = path.split(['/', '?', '#']).next().unwrap_or_default();
            return format!("{host}/{}", owner.to_ascii_lowercase());
        }
        host
    };
    for (at, _) in text.match_indices("://") {
        let rest = &text[at + 3..];
        let authority = rest.split(is_end).next().unwrap_or_default();
        let path = rest[authority.len()..].trim_start_matches('/');
        sources.insert(source(host_of(authority)?, path));
    }
    for (at, _) in text.match_indices("git@") {
        let rest = &text[at + 4..];
        if let Some((host, path)) = rest.split_once(':')
            && !host.contains(is_end)
        {
            sources.insert(source(host_of(host)?, path));
        }
    }
    for (word, host) in [
        ("github:", "github.com"),
        ("gitlab:", "gitlab.com"),
        ("bitbucket:", "bitbucket.org"),
        ("sourcehut:", "git.sr.ht"),
    ] {
        for (at, _) in text.match_indices(word) {
            let path = &text[at + word.len()..];
            if path.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '~') {
                sources.insert(source(host, path));
            }
        }
    }
    Some(())
}

/// True if a scheme stands there without its slashes: tools read `https:host/path` as a URL, too.
fn has_bare_scheme(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["http:", "https:", "ftp:", "ssh:"].iter().any(|scheme| {
        let mut found = text.match_indices(scheme);
        found.any(|(at, _)| !text[at + scheme.len()..].starts_with("//"))
    })
}

/// The host of an authority, with its port; `None` where it has characters of which tools think differently.
fn host_of(authority: &str) -> Option<&str> {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    let odd_user = |c: char| !(plain(c) || matches!(c, '%' | '+' | '~' | '$'));
    (!host.is_empty() && host.chars().all(plain) && !user.contains(odd_user)).then_some(host)
}

/// True for a character that ends the authority of a URL.
fn is_end(c: char) -> bool {
    matches!(
        c,
        '/' | '?' | '#' | '"' | '\'' | ',' | ';' | ')' | '}' | '>'
    ) || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str, content: &str) -> Vec<String> {
        let sources = sources(path, content.as_bytes()).expect("readable");
        sources.into_iter().collect()
    }

    #[test]
    fn each_format_tells_where_packages_come_from() {
        for (path, content, expected) in [
            (
                "web/package-lock.json",
                r#"{"packages": {"node_modules/a": {"resolved": "https://registry.npmjs.org/a/-/a-1.tgz", "funding": {"url": "https://opencollective.com/a"}},
                    "node_modules/b": {"resolved": "git+ssh://git@github.com/Evil/b.git#0a"}}}"#,
                vec!["github.com/evil", "registry.npmjs.org"],
            ),
            (
                "package-lock.json",
                r#"{"dependencies": {"c": {"version": "https:\/\/evil.example/c.tgz"}}}"#,
                vec!["evil.example"],
            ),
            (
                "yarn.lock",
                "\"a@^1\":\n  version \"1.0.0\"\n  resolved \"https://registry.yarnpkg.com/a/-/a-1.tgz#0a\"\n\"b@user/b\":\n  resolved \"git@github.com:user/b.git#1\"\n",
                vec!["github.com/user", "registry.yarnpkg.com"],
            ),
            (
                "pnpm-lock.yaml",
                "packages:\n  a@1.0.0:\n    resolution: {integrity: sha512-x}\n    deprecated: see https://example.com/why\n  b@1.0.0:\n    resolution: {tarball: https://evil.example/b.tgz}\n",
                vec!["evil.example"],
            ),
            (
                "Cargo.lock",
                "source = \"registry+https://github.com/rust-lang/crates.io-index\"\nsource = \"git+https://github.com/evil/x?rev=1#1\"\n",
                vec!["github.com/evil", "github.com/rust-lang"],
            ),
            (
                "composer.lock",
                r#"{"packages": [{"name": "a/b", "dist": {"url": "https://api.github.com/repos/a/b/zipball/1"}, "homepage": "https://a.example", "authors": [{"homepage": "http://b.example"}]}]}"#,
                vec!["api.github.com"],
            ),
            (
                "Gemfile.lock",
                "GEM\n  remote: https://rubygems.org/\n  specs:\n    a (1.0)\n",
                vec!["rubygems.org"],
            ),
            (
                "poetry.lock",
                "markers = \"extra == \\\"a\\\"\"\n[package.source]\nurl = \"https://user:pass@pypi.corp.example:8080/simple\"\n",
                vec!["pypi.corp.example:8080"],
            ),
            (
                "uv.lock",
                "source = { registry = \"https://pypi.org/simple\" }\nsdist = { url = \"https://files.pythonhosted.org/a.tar.gz\" }\n",
                vec!["files.pythonhosted.org", "pypi.org"],
            ),
            ("go.sum", "github.com/a/b v1.0.0 h1:x=\n", vec![]),
        ] {
            assert_eq!(named(path, content), expected, "{path}");
        }
    }

    #[test]
    fn what_cannot_be_read_may_name_any_source() {
        for (path, content) in [
            ("package-lock.json", "{\"resolved\": ".as_bytes()),
            ("package-lock.json", b"{} {}"),
            (
                "yarn.lock",
                b"resolved \"https:\\u002f\\u002fevil.example/a.tgz\"\n",
            ),
            ("Cargo.lock", b"source = \"\xff\"\n"),
            ("src/main.rs", b"fn main() {}"),
            (
                "package-lock.json",
                br#"{"resolved": "https://evil.example\\@registry.npmjs.org/a.tgz"}"#,
            ),
            (
                "package-lock.json",
                br#"{"resolved": "https:evil.example/a.tgz"}"#,
            ),
            (
                "package-lock.json",
                br#"{"resolved": "//evil.example/a.tgz"}"#,
            ),
            (
                "package-lock.json",
                br#"{"resolved": "https:/\t/evil.example/a.tgz"}"#,
            ),
            (
                "package-lock.json",
                br#"{"resolved": "https://a@evil.example@registry.npmjs.org/a.tgz"}"#,
            ),
        ] {
            let text = String::from_utf8_lossy(content);
            assert_eq!(sources(path, content), None, "{path}: {text}");
        }
    }

    #[test]
    fn a_key_inside_of_a_flow_mapping_hides_nothing() {
        let lock = "resolution: {\n  deprecated: x, tarball: https://evil.example/b.tgz}\n";
        assert_eq!(named("pnpm-lock.yaml", lock), ["evil.example"]);
    }

    #[test]
    fn a_source_hides_in_no_place_where_tools_look() {
        let anchor = "deprecated: &u https://evil.example/a.tgz\ntarball: *u\n";
        assert_eq!(named("pnpm-lock.yaml", anchor), ["evil.example"]);
        for json in [
            r#"{"dependencies": {"license": {"version": "1.0.0", "resolved": "https://evil.example/a.tgz"}}}"#,
            r#"{"packages": {"": {"dependencies": {"version": "1", "license": "https://evil.example/a.tgz"}}}}"#,
            r#"{"packages": {"support": {"resolved": "https://evil.example/a.tgz"}}}"#,
        ] {
            let found = named("package-lock.json", json);
            assert_eq!(found, ["evil.example"], "{json}");
        }
        let nix =
            r#"{"nodes": {"a": {"locked": {"type": "github", "owner": "Evil", "repo": "x"}}}}"#;
        assert_eq!(named("flake.lock", nix), ["github.com/evil"]);
        let binary = "\u{1}\0https://evil.example/a.tgz\0\u{2}";
        assert_eq!(named("bun.lockb", binary), ["evil.example"]);
    }

    #[test]
    fn a_lock_file_of_a_million_values_is_not_read() {
        let values = |count: usize| format!("[{}1]", "1,".repeat(count));
        let read = |count| sources("package-lock.json", values(count).as_bytes());
        assert_eq!(read(999_999), Some(Sources::new()));
        assert_eq!(read(1_000_000), None);
    }

    #[test]
    fn only_exact_names_are_lock_files() {
        assert!(is_lock("a/b/Cargo.lock") && is_lock("yarn.lock"));
        assert!(!is_lock("cargo.lock.rs") && !is_lock("src/lock.rs") && !is_lock("Cargo.lock/x"));
        assert!(registries("package-lock.json").contains("registry.npmjs.org"));
        assert!(registries("go.sum").is_empty());
    }
}
