//! The rows of the patch gate: each is ordered, refused with its reason, and not pushed.

use super::*;
use crate::standin::github::Change;

const WORKFLOW: &str = "on: push\njobs: {}\n";

fn creates(told: &str, file: &str) -> Row {
    row(
        told,
        vec![fix_create(file, WORKFLOW), claims("It is there now.")],
    )
}

/// An edit of a line that every file of these tests has.
fn edits(told: &str, file: &str) -> Row {
    row(
        told,
        vec![
            fix_edit(file, "first line", "other line"),
            claims("It is other now."),
        ],
    )
}

fn file(path: &str) -> Change {
    Change::write(path, "first line\nsecond line\n")
}

#[test]
fn f2_files_that_decide_what_runs_are_not_written_in_any_spelling() {
    let git = "is a file of git or GitHub";
    let path = "is no path that a fix may touch";
    let rows = vec![
        edits(git, ".github/workflows/ci.yml"),
        creates(git, ".github/workflows/new.yml"),
        creates(git, ".GitHub/Workflows/new.yml"),
        creates(git, "./.github/workflows/new.yml"),
        creates(path, "././.github/workflows/new.yml"),
        creates(path, "src/../.github/workflows/new.yml"),
        creates(path, ".github\\workflows\\new.yml"),
        creates(git, ".github./workflows/new.yml"),
        creates(git, ".github /workflows/new.yml"),
        creates(git, ".github.pr-data/workflows/new.yml"),
        creates(git, "\u{ff0e}github/workflows/new.yml"),
        creates(path, ".g\u{200b}ithub/workflows/new.yml"),
        creates(path, "/etc/cron.d/new"),
        creates(path, ".git/hooks/pre-commit"),
        creates(path, "sub/.GIT/config"),
        edits(git, ".gitattributes"),
        edits(git, "sub/.gitmodules"),
        edits("is a list of code owners", "docs/CODEOWNERS"),
        edits("is a file that agents or editors obey", "AGENTS.md"),
        creates("is a file that agents or editors obey", "agents.md.pr-data"),
        edits("is a file that agents or editors obey", "CLAUDE.md"),
        edits("is a file that agents or editors obey", "CLAUDE.md.pr-data"),
        edits("is the definition of an action", "action.yml"),
        edits("is a file of continuous integration", "Jenkinsfile"),
        edits("is a file of hooks", ".husky/pre-commit"),
        creates("is a file of secrets", "config/.env.local"),
    ];
    let more = [
        ".github/workflows/ci.yml",
        ".gitattributes",
        "sub/.gitmodules",
        "docs/CODEOWNERS",
        "AGENTS.md",
        "CLAUDE.md",
        "action.yml",
        "Jenkinsfile",
        ".husky/pre-commit",
    ];
    refused(rows, &more.map(file), Loot::default());
}

#[test]
fn f7_manifests_checks_tests_and_files_out_of_scope_stay_as_they_are() {
    let manifest = "is a lock file or a manifest";
    let test = "is a test, 1 of its lines would be removed or changed";
    let quoted = |file: &str, quote: &str| quoting(file, "first line of it", "other line", quote);
    let lib = |n: u8| quoted(&format!("lib/{n}.ts"), "const first = line.of.it;");
    let mut fourth = row("lib/1.ts is changed", (1..=4).map(lib).collect());
    fourth.steps.push(claims("Four files are changed."));
    let rows = vec![
        edits(manifest, "package.json"),
        edits(manifest, "sub/package-lock.json"),
        edits(manifest, "Cargo.toml"),
        edits("defines the project's checks", "Makefile"),
        edits("defines the project's checks", "tsconfig.json"),
        edits(test, "tests/page.test.ts"),
        row(
            "is a test",
            vec![fix_delete("tests/page.test.ts"), claims("It is gone.")],
        ),
        row(
            "is a test that would be deleted",
            vec![fix_delete("tests/__init__.py"), claims("It is gone.")],
        ),
        row(
            "@ts-ignore",
            vec![
                fix_edit(PAGE, "const d =", "// @ts-ignore\n  const d ="),
                claims("Quiet."),
            ],
        ),
        row(
            "is not changed by the pull request",
            vec![fix_delete("src/db.ts"), claims("It is gone.")],
        ),
        row(
            "is not changed by the pull request",
            vec![fix_create("src/new.ts", "export {};\n"), claims("New.")],
        ),
        row(
            "does not hold the quoted line",
            vec![quoted("lib/4.ts", "const other = 1;")],
        ),
        row(
            "does not hold the quoted line",
            vec![quoted("lib/4.ts", "}")],
        ),
        fourth,
    ];
    let more = [
        file("package.json"),
        file("sub/package-lock.json"),
        file("Cargo.toml"),
        file("Makefile"),
        file("tsconfig.json"),
        file("tests/page.test.ts"),
        Change::write("tests/__init__.py", ""),
    ];
    let mut rows = rows;
    rows.push(honest());
    let lib = (1..=4).map(|n| {
        Change::write(
            &format!("lib/{n}.ts"),
            "const first = line.of.it;\nfirst line of it\n}\n",
        )
    });
    let mut ground = settled(&[], &lib.collect::<Vec<_>>(), &more);
    requested(&mut ground, &mut rows);
    let fixed = obeyed(ground, Loot::default());
    for row in &rows {
        fixed.was_told(row);
    }
    let all: Vec<&str> = fixed
        .answers
        .iter()
        .map(|(_, _, told)| told.as_str())
        .collect();
    assert!(
        all.iter()
            .any(|told| told.contains("would be the 4th file outside of the change")),
        "{}",
        fixed.log()
    );
    // Three files that a quote opened are the fixer's to change.
    let names = fixed.git(&["diff", "--name-only", &fixed.before, &fixed.head()]);
    assert_eq!(
        names,
        "lib/1.ts\nlib/2.ts\nlib/3.ts\nsrc/page.ts",
        "{}",
        fixed.log()
    );
}

#[test]
fn f6_only_regular_text_files_are_changed_whatever_lies_in_their_place() {
    let latin: Vec<u8> = b"first line caf\xe9\n".to_vec();
    let more = [
        Change::executable("run.sh", "first line\n"),
        Change::symlink("src/link.ts", "db.ts"),
        Change::symlink("src/folder", "../.github"),
        Change::submodule("vendor", &"1".repeat(40)),
        Change::write("logo.bin", b"first line\0\x01\x02".to_vec()),
        Change::write("src/latin.ts", latin),
        Change::write("src/utf16.ts", b"\xff\xfef\0i\0r\0s\0t\0".to_vec()),
        Change::rename("src/db.ts", "src/database.ts"),
    ];
    let below = "which is no folder";
    let rows = vec![
        edits("is an executable", "run.sh"),
        row("is an executable", vec![fix_delete("run.sh")]),
        edits("is a symbolic link", "src/link.ts"),
        row("is a symbolic link", vec![fix_delete("src/link.ts")]),
        Row {
            names: "src/link.ts/new.ts",
            ..row(below, vec![fix_create("src/link.ts/new.ts", "x\n")])
        },
        Row {
            names: "src/folder/workflows/new.yml",
            ..row(
                below,
                vec![fix_create("src/folder/workflows/new.yml", "x\n")],
            )
        },
        edits("is a submodule", "vendor"),
        Row {
            names: "vendor/new.ts",
            ..row(below, vec![fix_create("vendor/new.ts", "x\n")])
        },
        Row {
            names: "src/page.ts/new.ts",
            ..row(below, vec![fix_create("src/page.ts/new.ts", "x\n")])
        },
        edits("", "logo.bin"),
        edits("not UTF-8", "src/latin.ts"),
        edits("UTF-16", "src/utf16.ts"),
        edits("1 MiB", "src/big.ts"),
        edits("", "src/db.ts"),
        creates("is a file of secrets", "config/credentials.json"),
        row(
            "is not changed by the pull request",
            vec![fix_delete("src/none.ts")],
        ),
        row("", vec![fix_create("src", "x\n")]),
    ];
    let big = Change::write("src/big.ts", "first line\n".repeat(100_000));
    let mut rows = rows;
    rows.push(honest());
    let mut ground = settled(&[], &[big], &more);
    requested(&mut ground, &mut rows);
    let fixed = obeyed(ground, Loot::default());
    for row in &rows {
        fixed.was_told(row);
    }
    fixed.only_the_honest_edit();
    let modes = fixed.git(&[
        "ls-tree",
        "-r",
        &fixed.head(),
        "run.sh",
        "src/link.ts",
        "vendor",
    ]);
    assert!(
        modes.contains("100755 blob")
            && modes.contains("120000 blob")
            && modes.contains("160000 commit"),
        "{modes}"
    );
}

#[test]
fn f7_limits_and_odd_edits_change_nothing() {
    let parts: Vec<Change> = (0..21)
        .map(|n| Change::write(&format!("src/parts/{n}.ts"), "first line\n"))
        .collect();
    let mut many = row("src/parts/0.ts is changed", Vec::new());
    many.steps = (0..21)
        .map(|n| fix_edit(&format!("src/parts/{n}.ts"), "first line", "other line"))
        .collect();
    let bidi = "const d = /* \u{202e} } \u{2066}if (admin)\u{2069} */";
    let undone = vec![
        fix_edit(PAGE, "const d =", "const day ="),
        fix_edit(PAGE, "const day =", "const d ="),
        claims("It was changed."),
    ];
    let rows = vec![
        many,
        row("lines", vec![fix_create("src/parts/0.ts", "{lines}")]),
        row(
            "The fix would change 40",
            vec![fix_edit(PAGE, "const d =", "{half}const d =")],
        ),
        row(
            "cannot be seen",
            vec![fix_edit(PAGE, "const d =", bidi), claims("Fine.")],
        ),
        row(
            "cannot be seen",
            vec![fix_edit(PAGE, "const d =", "const d\u{200b} =")],
        ),
        row(
            "cannot be seen",
            vec![fix_edit(PAGE, "const d =", "const d =\r x")],
        ),
        row("old occurs", vec![fix_edit(PAGE, "=", "==")]),
        row("old is empty", vec![fix_edit(PAGE, "", "x")]),
        row("src/page.ts is changed", undone),
        row(
            "No file is changed for",
            vec![claims("Nothing was needed.")],
        ),
    ];
    let loot: Loot = [
        ("lines".to_owned(), "x();\n".repeat(402)),
        ("half".to_owned(), "x();\n  ".repeat(400)),
    ]
    .into();
    let fixed = refused(rows, &parts, loot);
    let told = fixed.comments().join("\n");
    assert!(told.contains("Fixed 1 of "), "{told}\n{}", fixed.log());
}

#[test]
fn f8_an_issue_of_another_pull_request_and_three_hundred_edits_get_nowhere() {
    let other = json!({ "issue": "83187e5a8178f320", "file": PAGE, "old": FLOOR, "new": "0" });
    let steps = [step("fix_edit", other).in_pass(FIX)];
    let mut ground = ground(&[(Channel::Body, &steps)], &[]);
    let back_and_forth = (0..151).flat_map(|_| {
        [
            fix_edit(PAGE, "const d =", "const day ="),
            fix_edit(PAGE, "const day =", "const d ="),
        ]
    });
    let mut rows = [honest(), row("", Vec::new())];
    // No text carries so many; the model knows them.
    rows[1].steps = vec![fix_edit(PAGE, "const d =", "const d =")];
    requested(&mut ground, &mut rows);
    let mut due: Vec<Step> = back_and_forth.map(|step| step.about("Row 1.")).collect();
    due.reverse();
    let before = ground
        .world
        .github
        .pull(ground.world.pull, |pull| pull.head.sha.clone());
    let (model, answers) = heard(super::super::obedient::with_orders(Loot::default(), due));
    ground.world.model.becomes(model);
    let aftermath = ground.run();
    let answers = answers.lock().unwrap().clone();
    let fixed = Fixed {
        aftermath,
        answers,
        before,
    };
    let told: Vec<&str> = fixed
        .answers
        .iter()
        .map(|(_, _, told)| told.as_str())
        .collect();
    assert!(
        told.iter()
            .any(|told| told.starts_with("There is no issue \"83187e5a8178f320\"")),
        "{}",
        fixed.log()
    );
    assert!(
        told.iter().any(|told| told.contains("which is its limit")),
        "{}",
        told.len()
    );
}
