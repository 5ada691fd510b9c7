//! Words in code that switch a check off, by language: a fix must not weaken its checks. Counted before and after, because
//! what was there may stay and move.

use std::collections::HashMap;

/// The files that a list of words is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum In {
    Any,
    /// By extension.
    Code(&'static [&'static str]),
    /// By extension, and only in tests: the word is an ordinary one elsewhere.
    Tests(&'static [&'static str]),
}

const JS: &[&str] = &[
    "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte",
];
const PYTHON: &[&str] = &["py", "pyi", "pyw", "ipynb"];
const RUST: &[&str] = &["rs"];
const JVM: &[&str] = &["java", "kt", "kts", "scala", "groovy"];
const GO: &[&str] = &["go"];
const C: &[&str] = &["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "m", "mm", "cu"];
const DOTNET: &[&str] = &["cs", "fs", "vb"];
const RUBY: &[&str] = &["rb", "rake"];
const PHP: &[&str] = &["php"];
const SWIFT: &[&str] = &["swift"];
const SHELL: &[&str] = &["sh", "bash", "zsh", "bats"];

/// The words in small letters, with blanks only where they part two words.
#[rustfmt::skip]
const TOKENS: &[(In, &[&str])] = &[
    (In::Any, &[
        "nosonar", "noinspection", "nosemgrep", "codeql[", "lgtm[", "gitleaks:allow", "checkov:skip", "tfsec:ignore", "trivy:ignore",
        "hadolint ignore=", "yamllint disable", "markdownlint-disable", "cspell:disable", "snyk:ignore", "coverage:ignore", "lcov_excl",
    ]),
    (In::Code(JS), &[
        "eslint-disable", "oxlint-disable", "tslint:disable", "biome-ignore", "jshint ignore", "@ts-ignore", "@ts-expect-error",
        "@ts-nocheck", "$flowfixme", "$flowignore", "istanbul ignore", "c8 ignore", "v8 ignore", "stylelint-disable", "it.skip(",
        "test.skip(", "describe.skip(", "suite.skip(", "context.skip(", "it.only(", "test.only(", "describe.only(", "it.todo(",
        "test.todo(", "test.fixme(", "it.failing(", "test.failing(", "it.fails(", "test.fails(", "xit(", "xtest(", "xdescribe(",
    ]),
    (In::Tests(JS), &[".skip(", ".only(", ".skip.each", ".only.each", ".skipif(", ".runif(", "fit(", "fdescribe(", "this.skip("]),
    (In::Code(PYTHON), &[
        "#noqa", "#type:ignore", "#pyright:", "#mypy:", "#pylint:", "#pragma:no", "#ruff:", "#flake8:", "#nosec", "#fmt:off",
        "#isort:skip", "pytest.mark.skip", "pytest.mark.xfail", "pytest.skip(", "pytest.xfail(", "pytest.importorskip(", "@skip(",
        "@skipif(", "@xfail", "unittest.skip", "unittest.expectedfailure", "@expectedfailure", "self.skiptest(", "raise skiptest",
        "raise unittest.skiptest", "@no_type_check", "@typing.no_type_check", "warnings.filterwarnings(", "warnings.simplefilter(",
        "__test__=false", "collect_ignore",
    ]),
    (In::Code(RUST), &[
        "#[allow(", "#![allow(", ",allow(", "#[expect(", "#![expect(", ",expect(", "#[ignore", ",ignore]", ",ignore)",
        "#[rustfmt::skip", "#![rustfmt::skip", "#[coverage(off",
    ]),
    (In::Code(JVM), &[
        "@ignore", "@disabled", "@suppresswarnings", "@suppress(", "@file:suppress", "@suppressfbwarnings", "@suppresslint", "@nowarn",
        "checkstyle:off", "checkstyle.off", "scalastyle:off", "spotless:off", "@test(enabled=false",
    ]),
    (In::Tests(JVM), &["assumetrue(", "assumefalse(", "assumptions.", "ignore(", "xit("]),
    (In::Code(GO), &[
        "//nolint", "//lint:ignore", "//lint:file-ignore", "//revive:disable", "#nosec", "t.skip(", "t.skipf(", "t.skipnow(",
        "b.skip(", "b.skipf(", "b.skipnow(", "tb.skip(", "f.skip(",
    ]),
    (In::Code(C), &[
        "nolint", "gtest_skip", "#pragma gcc diagnostic", "#pragma clang diagnostic", "#pragma warning", "clang-format off",
        "coverity[", "cppcheck-suppress", "gcovr_excl", "no_sanitize", "xctskip",
    ]),
    (In::Tests(C), &["disabled_"]),
    (In::Code(DOTNET), &[
        "#pragma warning disable", "suppressmessage(", "[ignore", "[fact(skip", "[theory(skip", "excludefromcodecoverage",
        "resharper disable", "#nullable disable", "assert.ignore(", "assert.inconclusive(", "[explicit",
    ]),
    (In::Code(RUBY), &["rubocop:disable", "rubocop:todo", ":nocov:", "standard:disable", "xit\"", "xit'", "xit(", "xdescribe", "xcontext"]),
    (In::Tests(RUBY), &[
        "skip\"", "skip'", "skip(", "skip if", "skip unless", "pending\"", "pending'", "pending(", ",:skip", ",skip:", ",:pending", ",pending:",
    ]),
    (In::Code(PHP), &[
        "@phpstan-ignore", "@psalm-suppress", "@phan-suppress", "phpcs:ignore", "phpcs:disable", "@codecoverageignore", "@suppresswarnings",
        "marktestskipped(", "marktestincomplete(",
    ]),
    (In::Code(SWIFT), &["swiftlint:disable", "swiftformat:disable", "xctskip"]),
    (In::Tests(SWIFT), &[".disabled("]),
    (In::Code(SHELL), &["shellcheck disable", "set+e", "||true", "||:"]),
    (In::Tests(SHELL), &["skip\"", "skip'"]),
    (In::Code(&["ex", "exs"]), &["@tag:skip", "@moduletag:skip", "credo:disable", "coveralls-ignore"]),
    (In::Code(&["dart"]), &["//ignore:", "//ignore_for_file:"]),
    (In::Tests(&["dart"]), &["skip:"]),
    (In::Code(&["sql"]), &["noqa"]),
    (In::Code(&["css", "scss", "less"]), &["stylelint-disable"]),
    (In::Code(&["hs"]), &["options_ghc"]),
    (In::Code(&["lua"]), &["luacheck:"]),
    (In::Code(&["tf"]), &["tflint-ignore"]),
    (In::Code(&["yml", "yaml"]), &["continue-on-error:true", "allow_failure:true"]),
];

impl In {
    fn takes(self, extension: &str, is_test: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Code(extensions) => extensions.contains(&extension),
            Self::Tests(extensions) => is_test && extensions.contains(&extension),
        }
    }
}

/// The first word that a change adds. `path` is normalised.
pub(super) fn added(path: &str, is_test: bool, old: &str, new: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let lists = TOKENS
        .iter()
        .filter(|(files, _)| files.takes(extension, is_test));
    let tokens: Vec<&'static str> = lists
        .flat_map(|(_, tokens)| tokens.iter().copied())
        .collect();
    let (before, after) = (Uses::new(old, &tokens), Uses::new(new, &tokens));
    let mut tokens = tokens.into_iter();
    tokens.find(|token| after.exceeds(&before, token))
}

/// The words that a text uses.
struct Uses {
    /// The number of times, wherever line breaks are.
    counts: HashMap<&'static str, usize>,
    /// The same with the arguments: a wider suppression is a new one.
    said: HashMap<(&'static str, String), usize>,
}

impl Uses {
    fn new(text: &str, tokens: &[&'static str]) -> Self {
        let mut uses = Self {
            counts: HashMap::new(),
            said: HashMap::new(),
        };
        let whole = squeezed(text);
        for token in tokens {
            let count = places(&whole, token).count();
            if count > 0 {
                uses.counts.insert(token, count);
            }
        }
        if uses.counts.is_empty() {
            return uses;
        }
        for line in text.lines() {
            let line = squeezed(line);
            for token in uses.counts.keys() {
                for at in places(&line, token) {
                    let key = (*token, argument(&line[at..]).to_owned());
                    *uses.said.entry(key).or_default() += 1;
                }
            }
        }
        uses
    }

    /// True if it uses a word more often than another text does, or with other arguments.
    fn exceeds(&self, other: &Self, token: &str) -> bool {
        let count = |uses: &Self| uses.counts.get(token).copied().unwrap_or(0);
        let said = self.said.iter().filter(|((word, _), _)| *word == token);
        let mut said = said.map(|(key, count)| (other.said.get(key), count));
        count(self) > count(other) || said.any(|(before, now)| before.is_none_or(|n| n < now))
    }
}

/// A word with its arguments: to the closing bracket, or to the end of the line.
fn argument(text: &str) -> &str {
    let opens = text.find(['(', '[']);
    let end = opens.and_then(|at| text[at..].find([')', ']']).map(|end| at + end));
    &text[..end.unwrap_or(text.len())]
}

/// The places of a word in a squeezed text. A word that begins with a letter begins a name there, too.
fn places<'a>(text: &'a str, token: &'a str) -> impl Iterator<Item = usize> + 'a {
    let begins_name = token.starts_with(is_word);
    let found = text.match_indices(token).map(|(at, _)| at);
    found.filter(move |at| !begins_name || !text[..*at].ends_with(is_word))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A text in small letters, with blanks only where they part two words.
fn squeezed(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    let mut parted = false;
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_whitespace() {
            parted = true;
            continue;
        }
        if parted && is_word(c) && squeezed.ends_with(is_word) {
            squeezed.push(' ');
        }
        parted = false;
        squeezed.push(c);
    }
    squeezed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_lists_can_be_found() {
        for token in TOKENS.iter().flat_map(|(_, tokens)| *tokens) {
            assert_eq!(squeezed(token), *token, "it is never found");
        }
    }

    #[test]
    fn a_suppression_is_found_however_it_is_spaced_and_broken() {
        for (path, code) in [
            ("a.py", "x = f()  # noqa"),
            ("a.py", "x = f()  #NOQA: E501"),
            ("a.py", "x = f() # type:ignore[attr]"),
            ("a.py", "if x:  # pragma: no cover"),
            ("a.py", "@pytest.mark.skipif(True)"),
            ("a.py", "@unittest.skip('x')"),
            ("a.ts", "// eslint-disable-next-line no-eval"),
            ("a.ts", "// @ts-ignore"),
            ("a.ts", "/* istanbul ignore next */"),
            ("a.test.ts", "xit('x', () => {})"),
            ("a.ts", "describe . skip ('x')"),
            ("a.rs", "#[allow(dead_code)]"),
            ("a.rs", "#[\n    allow(\n        dead_code)]"),
            ("a.rs", "#[cfg_attr(test, allow(dead_code))]"),
            ("a.rs", "#[ignore = \"slow\"]"),
            ("a.java", "@SuppressWarnings(\"unchecked\")"),
            ("a.kt", "@Disabled fun x() {}"),
            ("a.go", "x := f() //nolint:errcheck"),
            ("a_test.go", "t.Skip(\"later\")"),
            ("a.cs", "#pragma warning disable CS1591"),
            ("a.c", "#pragma GCC diagnostic ignored \"-Wall\""),
            ("a.rb", "# rubocop:disable Style/For"),
            ("a.sh", "make test || true"),
            ("any.xyz", "x // NOSONAR"),
        ] {
            assert!(added(path, false, "", code).is_some(), "{path}: {code}");
        }
        assert_eq!(added("a.rb", true, "", "skip 'later'"), Some("skip'"));
        assert_eq!(
            added("a.ts", true, "", "suite('x').skip(1)"),
            Some(".skip(")
        );
    }

    #[test]
    fn ordinary_code_is_no_suppression() {
        for (path, code) in [
            ("a.rs", "let rest = items.iter().skip(1);"),
            ("a.rs", "value.expect(\"checked above\")"),
            (
                "a.ts",
                "process.exit(1); await page.click(); query.skip(10)",
            ),
            ("a.go", "list.Skip(3); exit(1)"),
            ("a.py", "noqa = 1; ignore = True; skip(1)"),
            ("a.java", "boolean disabled = ignore(x);"),
            ("a.rb", "skip 'later'"),
            ("a.c", "int disabled_buttons;"),
            ("a.cs", "items.Skip(1)"),
        ] {
            assert_eq!(added(path, false, "", code), None, "{path}: {code}");
        }
    }

    #[test]
    fn what_was_there_may_stay_and_move_but_not_grow() {
        let old = "a()  # noqa: E501\nb()\n";
        let count = |new: &str| added("a.py", false, old, new).is_some();
        assert!(!count("b()\nc()  # noqa: E501\n"));
        assert!(!count("a()\nb()\n"));
        assert!(count("a()  # noqa: E501\nb()  # noqa: E501\n"));
        assert!(count("a()  # noqa\nb()\n"), "a wider one");
    }
}
