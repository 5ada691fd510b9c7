//! The table as the code has it, each row by an example, and what holds of every spelling.

use super::super::issue::fixture::issue;
use super::*;
use proptest::prelude::*;
use secrecy::SecretString;
use std::fmt::Write as _;

fn gate_with(issues: Vec<Issue>, allow: &[&str]) -> Gate {
    let (allow, wrong) = Globs::new(allow.iter().map(|&one| one.to_owned()).collect());
    assert_eq!(wrong, Vec::<String>::new());
    let own: [&SecretString; 0] = [];
    Gate::new(issues.into(), allow, Arc::new(Redactor::new(own)))
}

/// A gate with one issue, which is about `src/a.rs`.
fn gate() -> Gate {
    gate_with(vec![issue("x", "src/a.rs")], &[])
}

fn change(path: &str, old: Option<&str>, new: Option<&str>) -> ChangedFile {
    let bytes = |text: &str| text.as_bytes().to_vec();
    ChangedFile {
        path: path.into(),
        old: old.map(bytes),
        new: new.map(bytes),
        issues: ["x".parse().unwrap()].into(),
    }
}

/// A small change of a file.
fn edited(path: &str) -> ChangedFile {
    change(
        path,
        Some("let pages = count / size;\n"),
        Some("let pages = count.div_ceil(size);\n"),
    )
}

/// The facts of these paths: regular files of the change.
fn ground(changes: &[ChangedFile]) -> Ground {
    let facts = changes.iter().map(|change| {
        let kind = match change.old {
            Some(_) => FileKind::Regular,
            None => FileKind::Absent,
        };
        (change.path.clone(), FileFacts::new(kind, true))
    });
    Ground {
        facts: facts.collect(),
        quotes: BTreeMap::new(),
    }
}

fn judged(changes: &[ChangedFile]) -> Result<(), Refusal> {
    gate().judge(changes, &ground(changes))
}

fn refusal(changes: &[ChangedFile]) -> Refusal {
    judged(changes).unwrap_err()
}

/// A refusal because of other facts than usual.
fn refusal_with(path: &str, with: impl Fn(&mut FileFacts)) -> Refusal {
    let changes = [edited(path)];
    let mut ground = ground(&changes);
    with(ground.facts.get_mut(path).unwrap());
    gate().judge(&changes, &ground).unwrap_err()
}

fn outside(quote: Option<&str>) -> Refusal {
    let changes = [edited("lib/other.rs")];
    let mut ground = ground(&changes);
    ground.facts.get_mut("lib/other.rs").unwrap().in_diff = false;
    let quote = quote.map(|quote| ("lib/other.rs".to_owned(), quote.to_owned()));
    ground.quotes.extend(quote);
    gate().judge(&changes, &ground).unwrap_err()
}

/// Four files outside of the change, each with a quote.
fn quoted(number: usize) -> (Vec<ChangedFile>, Ground) {
    let changes: Vec<ChangedFile> = (0..number)
        .map(|n| edited(&format!("lib/{n}.rs")))
        .collect();
    let mut ground = ground(&changes);
    for change in &changes {
        ground.facts.get_mut(&change.path).unwrap().in_diff = false;
        let quote = "let pages = count / size;".to_owned();
        ground.quotes.insert(change.path.clone(), quote);
    }
    (changes, ground)
}

fn grown(new: &str) -> ChangedFile {
    change(
        "src/a.rs",
        Some("fn a() {}\n"),
        Some(&format!("fn a() {{}}\n{new}")),
    )
}

fn key() -> String {
    // Written in two parts, so that this file holds no key.
    format!("AKIA{}", "Q3EGZLQ7RM5KXV2D")
}

/// A refusal for each row of the table, in its order.
fn rows() -> Vec<Refusal> {
    let protected = [
        ".github/workflows/ci.yml",
        "AGENTS.md",
        "docs/CODEOWNERS",
        "action.yml",
        "Jenkinsfile",
        ".husky/pre-commit",
        "config/.env.local",
    ];
    let files: Vec<ChangedFile> = (0..=MAX_FILES)
        .map(|n| edited(&format!("src/{n}.rs")))
        .collect();
    let lines = "x();\n".repeat(MAX_LINES + 1);
    let (four, four_ground) = quoted(MAX_QUOTED + 1);
    let mut rows = vec![refusal(&[edited("../a.rs")])];
    rows.extend(protected.map(|path| refusal(&[edited(path)])));
    rows.extend([
        refusal(&[edited("Cargo.toml")]),
        refusal(&[edited("Makefile")]),
        outside(None),
        outside(Some("let pages = 1;")),
        gate().judge(&four, &four_ground).unwrap_err(),
    ]);
    let kinds = [
        FileKind::Executable,
        FileKind::Symlink,
        FileKind::Submodule,
        FileKind::Folder,
    ];
    rows.extend(kinds.map(|kind| refusal_with("src/a.rs", |facts| facts.kind = kind)));
    rows.extend([
        refusal_with("src/a.rs", |facts| facts.below = Some("src".into())),
        refusal_with("src/a.rs", |facts| facts.masked = true),
        refusal_with("src/a.rs", |facts| facts.renamed = true),
        refusal_with("src/a.rs", |facts| facts.binary = true),
        refusal(&[edited("tests/a.rs")]),
        refusal(&[change("tests/__init__.py", Some(""), None)]),
        refusal(&[grown("#[allow(dead_code)]\nfn b() {}\n")]),
        refusal(&files),
        refusal(&[grown(&lines)]),
        refusal(&[grown(&format!("const KEY: &str = \"{}\";\n", key()))]),
        refusal(&[grown("let a = \"\u{202e}\";\n")]),
    ]);
    rows
}

#[test]
fn the_table_in_the_head_of_the_file_is_what_the_code_refuses() {
    let mut table = String::from("//! | refused: a file that | because |\n//! | --- | --- |\n");
    for refusal in rows() {
        let (what, because) = (refusal.what(), refusal.because());
        let _ = writeln!(table, "//! | {what} | {because} |");
    }
    let source = include_str!("../gate.rs");
    let lines = source.lines().filter(|line| line.starts_with("//! |"));
    let written = lines.fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    });
    assert_eq!(written, table, "the table should be:\n{table}");
}

#[test]
fn a_refusal_says_what_why_and_what_to_do_instead() {
    assert_eq!(
        refusal(&[edited("Cargo.toml")]).to_string(),
        "Cargo.toml is a lock file or a manifest, and the issue is not about it; it decides which code of others is taken in. \
         Fix the issue elsewhere, or reject it and say that a person has to change this file."
    );
    assert_eq!(
        Refusal::TooManyLines(500).to_string(),
        "The fix would change 500 lines; a fix changes at most 400 lines. Make a smaller fix, or reject the issue and say what \
         it takes."
    );
    let secret = refusal(&[grown(&format!("let k = \"{}\";\n", key()))]).to_string();
    assert!(!secret.contains(&key()), "{secret}");
}

#[test]
fn an_ordinary_change_passes() {
    assert_eq!(
        judged(&[edited("src/a.rs"), edited("docs/a b/ü.md")]),
        Ok(())
    );
    let created = change("src/new.rs", None, Some("fn new() {}\n"));
    let deleted = change("src/old.rs", Some("fn old() {}\n"), None);
    assert_eq!(judged(&[created, deleted]), Ok(()));
}

#[test]
fn a_path_is_relative_plain_and_never_in_git() {
    for path in [
        "",
        "/etc/passwd",
        "a//b",
        "a/",
        "./a",
        "a/..",
        "..",
        "a/./b",
        "a\\b",
        "C:/a",
        "~/a",
        ".git/config",
        "a/.GIT/x",
        "a/.git./x",
        "a/.git /x",
        "git~1/x",
        ".git::$INDEX_ALLOCATION/x",
        ".g\u{200d}it/x",
        "a\nb",
        "a\u{0}b",
        "a\u{202e}b",
        "\u{ff0e}git/x",
        "a/. ./b",
    ] {
        let refused = judged(&[edited(path)]);
        assert!(
            matches!(refused, Err(Refusal::Path { .. })),
            "{path:?} {refused:?}"
        );
    }
    let long = "a/".repeat(600) + "b";
    assert!(judged(&[edited(&long)]).is_err());
}

#[test]
fn files_that_decide_what_runs_are_never_changed_not_even_for_an_issue_about_them() {
    for path in [
        ".github/workflows/ci.yml",
        "sub/.github/x",
        ".gitignore",
        "a/.gitattributes",
        ".gitmodules",
        ".gitlab-ci.yml",
        ".gitea/x",
        ".github/opencode-reviewer.yml",
        "AGENTS.md",
        "a/b/claude.md",
        ".opencode/plugin/x.js",
        "opencode.jsonc",
        ".cursor/rules/a.mdc",
        ".cursorrules",
        ".mcp.json",
        "CODEOWNERS",
        "docs/CODEOWNERS",
        "action.yml",
        "x/action.yaml",
        ".circleci/config.yml",
        "Jenkinsfile.prod",
        ".travis.yml",
        "azure-pipelines-ci.yml",
        "bitbucket-pipelines.yml",
        ".drone.yml",
        ".husky/pre-commit",
        ".pre-commit-config.yaml",
        ".env",
        ".env.production",
        "prod.env",
        "certs/a.pem",
        "id_rsa",
        ".ssh/id_ed25519",
        ".npmrc",
        ".aws/credentials",
        ".vscode/tasks.json",
    ] {
        let gate = gate_with(vec![issue("x", path)], &["**"]);
        let changes = [edited(path)];
        let refused = gate.judge(&changes, &ground(&changes));
        assert!(
            matches!(refused, Err(Refusal::Protected { .. })),
            "{path} {refused:?}"
        );
    }
}

#[test]
fn other_spellings_of_protected_names_are_the_same_names() {
    for path in [
        ".GitHub/workflows/ci.yml",
        ".github./workflows/ci.yml",
        ".github /x",
        "Agents.MD",
        "AGENTS.md.pr-data",
        ".opencode.pr-data/x",
        "AGENT\u{17f}.md",
        "\u{ff21}GENTS.md",
        "CODEOWNER\u{17f}",
        "action.yml.",
        ".ENV",
        "ID_RSA",
        "Jen\u{212a}insfile",
        "\u{2024}github/x",
        "agents.md::$DATA",
    ] {
        assert!(judged(&[edited(path)]).is_err(), "{path:?}");
    }
}

#[test]
fn names_that_only_look_alike_are_ordinary_files() {
    for path in [
        "src/github/client.rs",
        "docs/agents.mdx",
        "src/environment.rs",
        "src/actions.yml",
        "src/key.rs",
        "src/latest.rs",
        "src/contest.py",
        "lib/inspector.rb",
        "src/Latest.java",
        "src/Contest.cs",
        "src/attestation.java",
        "src/lockfile.rs",
        "src/hooks/use.ts",
        "src/manifest.json",
    ] {
        assert_eq!(judged(&[edited(path)]), Ok(()), "{path}");
    }
}

#[test]
fn lock_files_and_manifests_are_changed_for_an_issue_about_them_only() {
    for path in [
        "Cargo.toml",
        "crates/a/Cargo.toml",
        "Cargo.lock",
        "package.json",
        "package-lock.json",
        "yarn.lock",
        "go.mod",
        "go.sum",
        "requirements-dev.txt",
        "pyproject.toml",
        "pom.xml",
        "build.gradle.kts",
        "Gemfile",
        "Gemfile.lock",
        "x.csproj",
        "Package.resolved",
        "Dockerfile",
        "docker-compose.yml",
        "PACKAGE.JSON",
        "Cargo.toml.",
    ] {
        let changes = [edited(path)];
        let refused = judged(&changes);
        assert!(
            matches!(refused, Err(Refusal::Manifest { .. })),
            "{path} {refused:?}"
        );
        let about = gate_with(vec![issue("x", path)], &[]);
        assert_eq!(about.judge(&changes, &ground(&changes)), Ok(()), "{path}");
        // Another issue than the one that edits opens nothing.
        let other = gate_with(vec![issue("x", "src/a.rs"), issue("y", path)], &[]);
        assert!(other.judge(&changes, &ground(&changes)).is_err(), "{path}");
    }
}

#[test]
fn files_that_define_checks_are_changed_for_an_issue_about_them_only() {
    for path in [
        "Makefile",
        "sub/GNUmakefile",
        "rules.mk",
        "justfile",
        "jest.config.ts",
        "pytest.ini",
        ".eslintrc.json",
        "tsconfig.build.json",
        "clippy.toml",
        ".golangci.yml",
        "MAKEFILE.",
    ] {
        let changes = [edited(path)];
        let refused = judged(&changes);
        assert!(
            matches!(refused, Err(Refusal::Checks { .. })),
            "{path} {refused:?}"
        );
        let about = gate_with(vec![issue("x", path)], &[]);
        assert_eq!(about.judge(&changes, &ground(&changes)), Ok(()), "{path}");
    }
}

#[test]
fn the_name_of_a_new_file_holds_no_secret_and_the_refusal_does_not_repeat_it() {
    let own = SecretString::from("correct-horse-battery-staple");
    let gate = Gate::new([].into(), Globs::default(), Arc::new(Redactor::new([&own])));
    let names = [
        "src/correct-horse-battery-staple.rs".to_owned(),
        "correct-horse-battery-staple/a.rs".to_owned(),
        format!("src/{}.rs", key()),
    ];
    for name in &names {
        let changes = [change(name, None, Some("fn a() {}\n"))];
        let refused = gate.judge(&changes, &ground(&changes)).unwrap_err();
        assert!(matches!(refused, Refusal::Secret { .. }), "{refused:?}");
        let told = refused.to_string();
        assert!(!told.contains("staple") && !told.contains(&key()), "{told}");
        // The name of a file that the head has is known.
        let changes = [edited(name)];
        assert_eq!(gate.judge(&changes, &ground(&changes)), Ok(()), "{name}");
    }
}

#[test]
fn a_file_outside_of_the_change_needs_an_issue_a_setting_or_a_quote() {
    let changes = [edited("lib/other.rs")];
    let mut ground = ground(&changes);
    ground.facts.get_mut("lib/other.rs").unwrap().in_diff = false;
    let refused = gate().judge(&changes, &ground);
    assert!(
        matches!(refused, Err(Refusal::OutOfScope { .. })),
        "{refused:?}"
    );
    let mut named = issue("x", "src/a.rs");
    named.text = "It calls lib/other.rs, which rounds down.".into();
    assert_eq!(gate_with(vec![named], &[]).judge(&changes, &ground), Ok(()));
    let allowed = gate_with(vec![issue("x", "src/a.rs")], &["lib/"]);
    assert_eq!(allowed.judge(&changes, &ground), Ok(()));
    let mut quote = |text: &str| {
        ground.quotes.insert("lib/other.rs".into(), text.into());
        gate().judge(&changes, &ground)
    };
    assert_eq!(quote("  let pages = count / size;"), Ok(()));
    for bad in ["let pages = count", "}", "", "let pages = count / size;\nx"] {
        assert!(matches!(quote(bad), Err(Refusal::BadQuote { .. })), "{bad}");
    }
}

#[test]
fn three_files_are_opened_by_quotes_and_no_fourth() {
    let (three, three_ground) = quoted(MAX_QUOTED);
    assert_eq!(gate().judge(&three, &three_ground), Ok(()));
    let (four, four_ground) = quoted(MAX_QUOTED + 1);
    let refused = gate().judge(&four, &four_ground);
    assert!(
        matches!(refused, Err(Refusal::TooManyQuoted { .. })),
        "{refused:?}"
    );
    // A new file has no line to quote.
    let created = [change("lib/new.rs", None, Some("fn new_page() {}\n"))];
    let mut created_ground = ground(&created);
    created_ground.facts.get_mut("lib/new.rs").unwrap().in_diff = false;
    created_ground
        .quotes
        .insert("lib/new.rs".into(), "fn new_page() {}".into());
    assert!(gate().judge(&created, &created_ground).is_err());
}

#[test]
fn a_test_may_grow_and_loses_no_line() {
    let old = "assert_eq!(pages(10), 2);\n";
    let more = "assert_eq!(pages(10), 2);\nassert_eq!(pages(11), 3);\n";
    for path in [
        "tests/page.rs",
        "src/page_test.go",
        "src/page.test.ts",
        "src/test_page.py",
        "src/PageTest.java",
        "spec/page_spec.rb",
        "src/__tests__/page.js",
        "src/__snapshots__/page.snap",
        "src/conftest.py",
        "src/PageTests.cs",
        "Tests/Page.swift",
    ] {
        assert_eq!(
            judged(&[change(path, Some(old), Some(more))]),
            Ok(()),
            "{path}"
        );
        for new in [Some("assert!(true);\n"), Some(""), None] {
            let changes = [change(path, Some(old), new)];
            let refused = judged(&changes);
            assert!(
                matches!(refused, Err(Refusal::WeakerTest { .. })),
                "{path} {refused:?}"
            );
            let about = gate_with(vec![issue("x", path)], &[]);
            assert_eq!(about.judge(&changes, &ground(&changes)), Ok(()), "{path}");
        }
    }
}

#[test]
fn the_limits_count_files_and_changed_lines() {
    let files: Vec<ChangedFile> = (0..MAX_FILES)
        .map(|n| edited(&format!("src/{n}.rs")))
        .collect();
    assert_eq!(judged(&files), Ok(()));
    let half = MAX_LINES / 2;
    let (old, new) = ("x();\n".repeat(half), "y();\n".repeat(half));
    assert_eq!(
        judged(&[change("src/a.rs", Some(&old), Some(&new))]),
        Ok(())
    );
    let one_more = format!("{new}y();\n");
    let refused = judged(&[change("src/a.rs", Some(&old), Some(&one_more))]);
    assert_eq!(refused, Err(Refusal::TooManyLines(MAX_LINES + 1)));
}

#[test]
fn a_secret_is_refused_and_not_masked() {
    let secret = key();
    let is_secret = |new: &str| matches!(judged(&[grown(new)]), Err(Refusal::Secret { .. }));
    assert!(is_secret(&format!("let a = \"{secret}\";\n")));
    assert!(is_secret(
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7y8Z\n-----END RSA PRIVATE KEY-----\n"
    ));
    // One that was there may stay, where its line is not touched.
    let old = format!("let a = \"{secret}\";\nfn b() {{}}\n");
    let new = old.replace("fn b", "fn c");
    assert_eq!(
        judged(&[change("src/a.rs", Some(&old), Some(&new))]),
        Ok(())
    );
    let words = gate().judge_words("The message", &format!("Use {secret}"));
    assert!(
        words
            .unwrap_err()
            .to_string()
            .starts_with("The message would hold what looks like a secret")
    );
    let own = SecretString::from("correct-horse-battery-staple");
    let gate = Gate::new([].into(), Globs::default(), Arc::new(Redactor::new([&own])));
    assert!(
        gate.judge_words("The branch", "fix/correct-horse-battery-staple")
            .is_err()
    );
    assert_eq!(gate.judge_words("The branch", "fix/page-count"), Ok(()));
}

#[test]
fn characters_that_nobody_sees_are_not_added() {
    for c in [
        '\u{202e}',
        '\u{200b}',
        '\u{feff}',
        '\u{b}',
        '\u{e0041}',
        '\r',
    ] {
        let refused = judged(&[grown(&format!("let a = \"x{c}y\";\n"))]);
        assert!(
            matches!(refused, Err(Refusal::HiddenCharacter { .. })),
            "{c:?} {refused:?}"
        );
    }
    assert_eq!(judged(&[grown("\tlet a = \"é ⚠\u{fe0f}\";\r\n")]), Ok(()));
    let old = "let a = \"\u{200b}\";\n";
    assert_eq!(
        judged(&[change(
            "src/a.rs",
            Some(old),
            Some("let b = \"\u{200b}\";\n")
        )]),
        Ok(())
    );
    assert!(gate().judge_words("The message", "a\u{202e}b").is_err());
}

/// Other spellings of a name that some file system takes for the same.
fn spelled(name: &str, seed: &[u8]) -> String {
    let mut spelled = String::new();
    for (at, c) in name.chars().enumerate() {
        let choice = seed.get(at % seed.len().max(1)).copied().unwrap_or(0) % 8;
        match (choice, c) {
            (1, _) => spelled.extend(c.to_uppercase()),
            (2, 's') => spelled.push('\u{17f}'),
            (2, 'k') => spelled.push('\u{212a}'),
            (3, '!'..='~') if c != '/' => {
                let wide = char::from_u32(u32::from(c) - 0x21 + 0xff01);
                spelled.extend(wide);
            }
            (4, '/') => spelled.push_str("./"),
            (5, '/') => spelled.push_str(" /"),
            (6, '/') => spelled.push_str(".pr-data/"),
            _ => spelled.push(c),
        }
    }
    spelled.push_str(
        ["", ".", " ", ". ", ".pr-data"][usize::from(seed.first().copied().unwrap_or(0)) % 5],
    );
    spelled
}

proptest! {
    #[test]
    fn no_spelling_of_a_protected_name_passes(
        at in 0_usize..14,
        below in prop::sample::select(vec!["", "sub/", "a/b/"]),
        seed in prop::collection::vec(any::<u8>(), 1..12),
    ) {
        let names = [
            ".github/workflows/ci.yml", ".gitmodules", "agents.md", ".opencode/plugin/x.js", "codeowners", "action.yml", "jenkinsfile",
            ".husky/pre-commit", ".pre-commit-config.yaml", ".env", "keys/server.pem", "id_rsa", ".circleci/config.yml", ".cursor/rules",
        ];
        let path = format!("{below}{}", spelled(names[at], &seed));
        let gate = gate_with(vec![issue("x", &path)], &["**"]);
        let changes = [edited(&path)];
        prop_assert!(gate.judge(&changes, &ground(&changes)).is_err(), "{path:?}");
    }

    #[test]
    fn no_path_makes_the_gate_panic(path in any::<String>(), old in any::<Option<String>>(), new in any::<Option<String>>()) {
        let _ = judged(&[change(&path, old.as_deref(), new.as_deref())]);
    }
}
