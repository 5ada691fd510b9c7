//! Rules about paths: which a fix never touches, which only an issue about them opens, and which are tests. Lists, so that
//! a name is a line here. All are compared after normalising, because file systems take several spellings for one name.

use crate::context::locks::is_lock;
use crate::domain::diff::Mask;
use icu_normalizer::ComposingNormalizerBorrowed;
use reviewer_text::hidden::is_hidden;

/// The ending that the snapshot gives to names that tools obey.
const INERT: &str = ".pr-data";
const LONGEST_PATH: usize = 1_000;
const LONGEST_PART: usize = 200;

/// The reason why a text is no path of a file that a fix may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    #[error("a path is relative to the root of the repository, with slashes between its parts")]
    NotRelative,
    #[error("a path has no empty part, and no part that is only dots")]
    NoName,
    #[error("a path has no control character and none that cannot be seen")]
    Hidden,
    #[error("a path has at most {LONGEST_PATH} bytes, and a part of it {LONGEST_PART}")]
    TooLong,
    #[error("no part of a path is called .git")]
    GitFolder,
}

/// Checks the syntax of a path.
pub(super) fn check(path: &str) -> Result<(), BadPath> {
    if path.chars().any(is_hidden) {
        return Err(BadPath::Hidden);
    }
    if path.len() > LONGEST_PATH || path.split('/').any(|part| part.len() > LONGEST_PART) {
        return Err(BadPath::TooLong);
    }
    let drive = path.as_bytes().get(1) == Some(&b':');
    if path.starts_with(['/', '~']) || path.contains('\\') || drive {
        return Err(BadPath::NotRelative);
    }
    for part in path.split('/') {
        let name = folded(part);
        // What stands behind a colon is a stream of the file to some systems.
        let name = bare(name.split(':').next().unwrap_or_default());
        let is_short = name
            .strip_prefix("git~")
            .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()));
        if name == ".git" || is_short {
            return Err(BadPath::GitFolder);
        }
        if name.trim_matches(['.', ' ']).is_empty() {
            return Err(BadPath::NoName);
        }
    }
    Ok(())
}

/// The parts of a path as every file system compares them: without case, hidden characters, forms of the same letter, and
/// trailing dots, blanks and the ending of the snapshot.
pub(super) fn normalized(path: &str) -> String {
    let path = folded(path).replace('\\', "/");
    let parts = path.split('/').map(|part| {
        let name = bare(part.split(':').next().unwrap_or_default());
        bare(name.strip_suffix(INERT).unwrap_or(name)).to_owned()
    });
    parts.collect::<Vec<_>>().join("/")
}

fn folded(text: &str) -> String {
    let forms = ComposingNormalizerBorrowed::new_nfkc();
    let seen: String = text.chars().filter(|c| !is_hidden(*c)).collect();
    let seen = forms.normalize(&seen);
    // By way of the capital, because some letters have one in common.
    let capitals = seen.chars().flat_map(char::to_uppercase);
    let small: String = capitals.flat_map(char::to_lowercase).collect();
    forms.normalize(&small).into_owned()
}

fn bare(part: &str) -> &str {
    part.trim_end_matches(['.', ' ']).trim_start_matches(' ')
}

/// Matches a path, normalised.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// A part anywhere has this name.
    Part(&'static str),
    /// A part anywhere begins so.
    PartStart(&'static str),
    /// The file has this name.
    Name(&'static str),
    NameStart(&'static str),
    NameEnd(&'static str),
    /// The name has this beginning and this end.
    Between(&'static str, &'static str),
}

impl Rule {
    fn matches(self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        match self {
            Self::Part(part) => path.split('/').any(|one| one == part),
            Self::PartStart(start) => path.split('/').any(|one| one.starts_with(start)),
            Self::Name(whole) => name == whole,
            Self::NameStart(start) => name.starts_with(start),
            Self::NameEnd(end) => name.ends_with(end),
            Self::Between(start, end) => {
                name.len() >= start.len() + end.len()
                    && name.starts_with(start)
                    && name.ends_with(end)
            }
        }
    }
}

use Rule::{Between, Name, NameEnd, NameStart, Part, PartStart};

/// The kind of a file that decides what runs, or who decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protected {
    /// Workflows, ignores, attributes, submodules, the reviewer's settings: `.github`, `.gitignore` and the like.
    Git,
    /// Instructions and settings of agents and editors.
    Agents,
    Owners,
    /// The definition of a GitHub Action.
    Action,
    /// Continuous integration of other systems.
    Ci,
    Hooks,
    Secrets,
}

impl Protected {
    /// As a refusal names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Git => "a file of git or GitHub",
            Self::Agents => "a file that agents or editors obey",
            Self::Owners => "a list of code owners",
            Self::Action => "the definition of an action",
            Self::Ci => "a file of continuous integration",
            Self::Hooks => "a file of hooks",
            Self::Secrets => "a file of secrets",
        }
    }
}

#[rustfmt::skip]
const PROTECTED: &[(Protected, &[Rule])] = &[
    (Protected::Git, &[PartStart(".git")]),
    (Protected::Agents, &[
        Name("agents.md"), Name("agent.md"), Name("claude.md"), Name("gemini.md"), Name("context.md"), Name("agents.override.md"),
        Name("claude.local.md"), Name("copilot-instructions.md"), Name(".mcp.json"),
        Name("mcp.json"), Name(".rules"), NameStart("opencode.json"), NameStart(".aider"), PartStart(".cursor"),
        PartStart(".windsurf"), PartStart(".cline"), PartStart(".roo"), PartStart(".continue"), Part(".opencode"), Part(".claude"),
        Part(".agents"), Part(".codex"), Part(".gemini"), Part(".kiro"), Part(".junie"), Part(".zed"), Part(".vscode"),
        Part(".idea"), Part(".devcontainer"), Name(".devcontainer.json"), Name(".ignore"), Name(".rgignore"), Name(".ripgreprc"),
    ]),
    (Protected::Owners, &[Name("codeowners")]),
    (Protected::Action, &[Name("action.yml"), Name("action.yaml")]),
    (Protected::Ci, &[
        Part(".circleci"), Part(".buildkite"), Part(".semaphore"), Part(".teamcity"), Part(".tekton"), Part(".harness"),
        PartStart(".woodpecker"), PartStart(".drone"), NameStart("jenkinsfile"), NameEnd(".jenkinsfile"),
        Between("azure-pipelines", ".yml"), Between("azure-pipelines", ".yaml"), Part(".azure-pipelines"), Part(".azuredevops"),
        Name(".travis.yml"), Name("appveyor.yml"), Name(".appveyor.yml"), Name("bitbucket-pipelines.yml"),
        NameStart(".cirrus."), NameStart("cloudbuild."), NameStart("buildspec"), Name("codemagic.yaml"), Name("bitrise.yml"),
        Name("wercker.yml"), Name(".gocd.yaml"), Name("codeship-steps.yml"), Name("codeship-services.yml"), Name("screwdriver.yaml"),
        Name(".hound.yml"), Name("renovate.json"), Name("renovate.json5"), Name(".renovaterc"), Name(".renovaterc.json"),
        Name("dependabot.yml"), Name("codecov.yml"), Name(".codecov.yml"), Name("sonar-project.properties"),
    ]),
    (Protected::Hooks, &[
        Part(".husky"), PartStart(".huskyrc"), Name(".pre-commit-config.yaml"), Name(".pre-commit-config.yml"),
        Name(".pre-commit-hooks.yaml"), NameStart("lefthook."), NameStart(".lefthook"), NameStart(".lintstagedrc"),
        NameStart("lint-staged.config."), NameStart(".simple-git-hooks"), NameStart("simple-git-hooks."), Name(".overcommit.yml"),
        Part(".hooks"),
    ]),
    (Protected::Secrets, &[
        NameStart(".env"), NameEnd(".env"), NameEnd(".pem"), NameEnd(".key"), NameEnd(".p12"), NameEnd(".pfx"), NameEnd(".jks"),
        NameEnd(".keystore"), NameEnd(".ppk"), NameEnd(".kdbx"), NameEnd(".asc"), NameEnd(".gpg"), NameEnd(".tfstate"), NameStart("id_rsa"),
        NameStart("id_dsa"), NameStart("id_ecdsa"), NameStart("id_ed25519"), Name(".netrc"), Name("_netrc"), Name(".npmrc"),
        Name(".pypirc"), Name(".pgpass"), Name(".htpasswd"), Name("credentials"), Part(".ssh"), Part(".aws"), Part(".gnupg"),
        Part(".docker"), Part(".kube"), Name("secrets.yml"), Name("secrets.yaml"), Name("secrets.json"),
    ]),
];

/// Files that decide which code of others is taken in, and what a build runs. Lock files are known elsewhere.
#[rustfmt::skip]
const MANIFESTS: &[Rule] = &[
    Name("package.json"), Name("pnpm-workspace.yaml"), Name("lerna.json"), NameStart(".yarnrc"), Part(".yarn"), Name("bunfig.toml"),
    Name("deno.json"), Name("deno.jsonc"), Name("bower.json"), Name("cargo.toml"), Part(".cargo"), Name("build.rs"),
    NameStart("rust-toolchain"), Name("go.mod"), Name("go.work"), Name("go.work.sum"), Name("pyproject.toml"), Name("setup.py"),
    Name("setup.cfg"), Name("pipfile"), Name("conda.yml"), Name("environment.yml"), Between("requirements", ".txt"),
    Between("requirements", ".in"), Between("constraints", ".txt"), Name("pip.conf"), Name("tox.ini"), Name("noxfile.py"),
    Name("gemfile"), NameEnd(".gemspec"), Name("composer.json"), Name("pom.xml"), Part(".mvn"), NameEnd(".gradle"),
    NameEnd(".gradle.kts"), Name("gradle.properties"), Name("gradle-wrapper.properties"), NameEnd(".versions.toml"), Name("build.sbt"),
    Name("build.sc"), Name("mix.exs"), Name("rebar.config"), Name("pubspec.yaml"), Name("podfile"), NameEnd(".podspec"),
    Name("package.swift"), Name("cartfile"), NameEnd(".csproj"), NameEnd(".fsproj"), NameEnd(".vbproj"), NameEnd(".vcxproj"),
    Name("packages.config"), Name("nuget.config"), Between("directory.", ".props"), Between("directory.", ".targets"),
    Name("global.json"), Name("conanfile.txt"), Name("conanfile.py"), Name("vcpkg.json"), Name("flake.nix"), Name("default.nix"),
    Name("shell.nix"), Name("stack.yaml"), NameEnd(".cabal"), Name("dub.json"), Name("module.bazel"), Name("workspace.bazel"),
    Name(".bazelrc"), Name("dockerfile"), NameStart("dockerfile."), NameEnd(".dockerfile"), Name("containerfile"),
    NameStart("docker-compose"), NameStart("compose."), NameEnd(".lock"), NameEnd(".lockb"), NameEnd(".lockfile"),
];

/// Files that say what the project's own checks do: make files, and the settings of test runners, linters and type checkers.
#[rustfmt::skip]
const CHECKS: &[Rule] = &[
    Name("makefile"), Name("gnumakefile"), Name("makefile.am"), NameEnd(".mk"), Name("justfile"), Name(".justfile"), NameStart("taskfile."),
    Name("rakefile"), NameStart("gulpfile."), NameStart("gruntfile."), NameStart("jest.config."), NameStart("vitest.config."),
    NameStart("vitest.workspace."), NameStart("playwright.config."), NameStart("cypress.config."), NameStart("karma.conf."),
    NameStart(".mocharc"), NameStart(".nycrc"), Name("pytest.ini"), Name(".pytest.ini"), Name(".coveragerc"), NameStart("phpunit.xml"),
    Name(".rspec"), Name("nextest.toml"), NameStart("tarpaulin."), NameStart(".eslintrc"), NameStart("eslint.config."), Name(".eslintignore"),
    NameStart("biome.json"), Between("tsconfig", ".json"), Name("jsconfig.json"), NameStart(".stylelintrc"), NameStart("stylelint.config."),
    Name("mypy.ini"), Name(".mypy.ini"), Name("pyrightconfig.json"), Name("ruff.toml"), Name(".ruff.toml"), Name(".flake8"), Name(".pylintrc"),
    Name("pylintrc"), NameStart(".bandit"), Name("clippy.toml"), Name(".clippy.toml"), Name("deny.toml"), NameStart(".golangci."),
    NameStart(".rubocop"), NameStart("phpstan."), NameStart("psalm.xml"), Name("phpcs.xml"), Name(".clang-tidy"), Name("checkstyle.xml"),
    NameStart(".swiftlint"), NameStart("detekt"), Name(".credo.exs"), Name(".hlint.yaml"), Name(".shellcheckrc"), NameStart(".markdownlint"),
    NameStart(".yamllint"), NameStart(".semgrep"), Name(".gitleaks.toml"), Name(".trivyignore"), Name("codecov.yml"),
];

/// Tests by the names that the usual languages and tools give them.
#[rustfmt::skip]
const TESTS: &[Rule] = &[
    Part("test"), Part("tests"), Part("testing"), Part("__tests__"), Part("spec"), Part("specs"), Part("e2e"), Part("testdata"),
    Part("test-data"), Part("test_data"), Part("fixtures"), Part("__fixtures__"), Part("__snapshots__"), Part("snapshots"), Part("cypress"),
    Part("integration-tests"), Part("integration_tests"), Part("androidtest"), Part("unittests"), Part("benches"),
    NameStart("test_"), NameStart("test-"), NameStart("tests."), NameStart("test."), Name("conftest.py"), NameStart("spec_helper."),
    NameStart("test_helper."), NameEnd(".snap"), NameEnd(".snap.new"), NameEnd("_test.go"), NameEnd("_test.py"), NameEnd("_tests.py"),
    NameEnd("_test.rs"), NameEnd("_tests.rs"), NameEnd("_test.exs"), NameEnd("_test.rb"), NameEnd("_spec.rb"), NameEnd("_test.dart"),
    NameEnd("_test.cc"), NameEnd("_test.cpp"), NameEnd("_test.c"), NameEnd("_unittest.cc"), NameEnd("_unittest.py"), NameEnd("_test.ts"),
    NameEnd("_test.js"), NameEnd("_test.clj"), NameEnd("_test.hs"), NameEnd(".tests.ps1"), NameEnd(".bats"), NameEnd(".feature"),
];

/// Endings of tests in front of the extension: `page.test.ts`, `page.spec.mjs`, `page.cy.ts`.
const TEST_INFIXES: [&str; 5] = [".test.", ".tests.", ".spec.", ".cy.", ".e2e."];

/// Last words of the names of tests in languages that join words by capitals, and the extensions of these languages.
const TEST_WORDS: [&str; 6] = ["Test", "Tests", "TestCase", "Spec", "Suite", "IT"];
const JOINED: [&str; 11] = [
    "java", "kt", "kts", "scala", "groovy", "cs", "vb", "fs", "swift", "php", "hs",
];

fn any(rules: &[Rule], path: &str) -> bool {
    rules.iter().any(|rule| rule.matches(path))
}

/// The kind of protected file that a path names, normalised.
pub(super) fn protected(path: &str) -> Option<Protected> {
    let found = PROTECTED.iter().find(|(_, rules)| any(rules, path));
    let secrets = || Mask::from_path(path).map(|_| Protected::Secrets);
    found.map(|(kind, _)| *kind).or_else(secrets)
}

/// True if a path, normalised, is that of a lock file or a manifest. `spelled`: the path as it is.
pub(super) fn is_manifest(path: &str, spelled: &str) -> bool {
    any(MANIFESTS, path) || is_lock(path) || is_lock(spelled)
}

/// True if a path, normalised, is that of a file that defines checks.
pub(super) fn is_check(path: &str) -> bool {
    any(CHECKS, path)
}

/// True if a path, normalised, is that of a test. `spelled`: the path as it is.
pub(super) fn is_test(path: &str, spelled: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    any(TESTS, path) || TEST_INFIXES.iter().any(|infix| name.contains(infix)) || is_joined(spelled)
}

/// True for `PageTest.java` and the like; `Latest.java` is none.
fn is_joined(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    let is_known = JOINED.iter().any(|one| extension.eq_ignore_ascii_case(one));
    is_known && TEST_WORDS.iter().any(|word| stem.ends_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use icu_normalizer::DecomposingNormalizerBorrowed;

    /// Paths that a rule matches, one at the root and one below a folder.
    fn examples(rule: Rule) -> Vec<String> {
        let names = match rule {
            Part(part) => vec![format!("{part}/x"), part.to_owned()],
            PartStart(start) => vec![start.to_owned(), format!("{start}x/y")],
            Name(name) => vec![name.to_owned()],
            NameStart(start) => vec![format!("{start}x"), format!("{start}x.y")],
            NameEnd(end) => vec![format!("x{end}")],
            Between(start, end) => vec![format!("{start}{end}"), format!("{start}-x{end}")],
        };
        let below = names.iter().map(|name| format!("a/b/{name}"));
        below.chain(names.iter().cloned()).collect()
    }

    /// Other spellings of a path that some file system, editor or tool takes for the same.
    fn spellings(path: &str) -> Vec<String> {
        let each = |change: &dyn Fn(char) -> Option<char>| -> String {
            path.chars().map(|c| change(c).unwrap_or(c)).collect()
        };
        let wide = |c: char| {
            let plain = c.is_ascii_graphic() && c != '/';
            plain
                .then(|| char::from_u32(u32::from(c) + 0xfee0))
                .flatten()
        };
        let long = |c: char| match c {
            's' => Some('\u{17f}'),
            'k' => Some('\u{212a}'),
            _ => None,
        };
        let part = |end: &str| path.replace('/', &format!("{end}/")) + end;
        let apart: String = path.chars().flat_map(|c| [c, '\u{200d}']).collect();
        let decomposed = DecomposingNormalizerBorrowed::new_nfkd();
        vec![
            path.to_owned(),
            path.to_uppercase(),
            each(&wide),
            each(&long),
            decomposed.normalize(path).into_owned(),
            part("."),
            part(" "),
            part(". ."),
            part(INERT),
            part("::$DATA"),
            part(":x"),
            apart,
            format!("./{path}"),
            format!("x/../{path}"),
            format!(".//{path}"),
            format!(" {path}"),
            path.replace('/', "\\"),
            format!("x\\{path}"),
        ]
    }

    #[test]
    fn no_spelling_of_any_row_of_the_lists_passes() {
        let protected = PROTECTED.iter().flat_map(|(_, rules)| *rules);
        let all = protected.chain(MANIFESTS).chain(CHECKS);
        for path in all.flat_map(|rule| examples(*rule)) {
            for spelled in spellings(&path) {
                let normalized = normalized(&spelled);
                let refused = check(&spelled).is_err()
                    || super::protected(&normalized).is_some()
                    || is_manifest(&normalized, &spelled)
                    || is_check(&normalized);
                assert!(refused, "{spelled:?} of {path}");
            }
        }
    }

    #[test]
    fn no_spelling_of_a_test_is_another_file() {
        for path in TESTS.iter().flat_map(|rule| examples(*rule)) {
            for spelled in spellings(&path) {
                let refused = check(&spelled).is_err() || is_test(&normalized(&spelled), &spelled);
                assert!(refused, "{spelled:?} of {path}");
            }
        }
    }

    #[test]
    fn every_row_of_the_lists_is_written_as_names_are_compared() {
        let protected = PROTECTED.iter().flat_map(|(_, rules)| *rules);
        for rule in protected.chain(MANIFESTS).chain(CHECKS).chain(TESTS) {
            let (Part(text) | PartStart(text) | Name(text) | NameStart(text) | NameEnd(text)) =
                rule
            else {
                continue;
            };
            assert_eq!(folded(text), *text, "it never matches");
        }
    }
}
