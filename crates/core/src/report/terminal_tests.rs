//! Reports as a terminal shows them.

use super::*;
use crate::domain::Side;
use crate::report::code::tests::{at, excerpt};
use crate::report::fixture::{finding, sample};

fn plain(lines: &[Line]) -> String {
    let line = |line: &Line| {
        line.iter()
            .map(|piece| piece.text.as_str())
            .collect::<String>()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn as_is(text: &str) -> String {
    text.to_owned()
}

#[test]
fn the_page_as_people_read_it() {
    let mut report = sample();
    report.pull_request = None;
    report.findings = vec![
        finding(7, "reported", None),
        finding(9, "reported", None),
        finding(2, "suppressed", Some("score 2 is below the threshold of 5")),
    ];
    report.threads.clear();
    report.reasons.clear();
    report.findings[1].body = "A key is in the code.\n\nTake it out.\n".into();
    let code = excerpt(at(Side::Right, None, 4));
    let code = Code::from([("f9".to_owned(), code)]);
    let hide = |text: &str| text.replace("hunter2", "***");
    insta::assert_snapshot!(
        "text",
        plain(&page(&report, &code, &hide, Layout::default()))
    );
}

#[test]
fn a_secret_of_several_lines_takes_the_code_with_it() {
    let mut report = sample();
    report.findings = vec![finding(9, "reported", None)];
    let code = excerpt(at(Side::Right, None, 6));
    let code = Code::from([("f9".to_owned(), code)]);
    let hide = |text: &str| text.replace("BEGIN\nEND", "***");
    let page = plain(&page(&report, &code, &hide, Layout::default()));
    assert!(!page.contains("END") && !page.contains("zwei"), "{page}");
}

#[test]
fn the_first_line_is_the_verdict() {
    for (verdict, words, style) in [
        ("clean", "Nothing to report.", Style::Good),
        (
            "findings",
            "3 findings, none of them blocking.",
            Style::Warning,
        ),
        ("blocking", "3 findings, 1 of them blocking.", Style::Bad),
        (
            "incomplete",
            "The review is incomplete; 3 findings so far.",
            Style::Bad,
        ),
    ] {
        let mut report = sample();
        report.verdict = verdict.into();
        let page = page(&report, &Code::new(), &as_is, Layout::default());
        assert_eq!(page[0], [piece(style, words)]);
    }
}

fn laid_out(report: &Report, width: usize) -> String {
    let layout = Layout {
        width,
        lists_files: false,
    };
    plain(&page(report, &Code::new(), &as_is, layout))
}

#[test]
fn text_is_wrapped_between_words_and_code_is_not() {
    let mut report = sample();
    report.threads.clear();
    report.findings = vec![finding(7, "reported", None)];
    report.findings[0].body =
        "The last page is lost where the count is no multiple of the size.\n\n\
        - Round up, as src/a-long-name-of-a-file-that-has-no-space.ts does it already.\n\n\
        ```ts\nconst pages = Math.ceil(count / size) || someDefaultThatIsLonger();\n```\n"
            .into();
    let text = laid_out(&report, 40);
    let expected = "  The last page is lost where the count\n  is no multiple of the size.\n\n  - Round up, as\n    \
        src/a-long-name-of-a-file-that-has-no-space.ts\n    does it already.\n\n  ```ts\n  \
        const pages = Math.ceil(count / size) || someDefaultThatIsLonger();\n  ```\n";
    assert!(text.contains(expected), "{text}");
    let verdict = plain(&wrapped(&[verdict(&report)], "", 20));
    assert!(verdict.lines().all(|line| line.len() <= 20), "{verdict}");
}

#[test]
fn the_words_after_a_break_look_like_those_before_it() {
    let pieces = [
        piece(Style::Warning, "warning: "),
        piece(Style::Plain, "Comments are not signed here."),
    ];
    assert_eq!(
        wrapped(&pieces, "  ", 24),
        [
            vec![
                piece(Style::Warning, "warning: "),
                piece(Style::Plain, "Comments are")
            ],
            vec![piece(Style::Plain, "  not signed here.")],
        ]
    );
}

#[test]
fn many_files_that_were_not_shown_are_one_line_unless_all_are_wanted() {
    let mut report = sample();
    report.left_out = (1..=60)
        .map(|n| format!("src/{n}.ts (the change is too large)"))
        .collect();
    let told = report.left_out.iter().take(50);
    report.reasons = told
        .map(|file| comment::coverage::not_shown(file))
        .collect();
    let text = laid_out(&report, 200);
    assert_eq!(text.matches("the change is too large").count(), 3, "{text}");
    assert!(
        text.contains("60 changed files were not shown to the model: src/1.ts"),
        "{text}"
    );
    assert!(text.contains(" and 57 more; -v lists them.\n"), "{text}");
    let layout = Layout {
        width: 80,
        lists_files: true,
    };
    let all = plain(&page(&report, &Code::new(), &as_is, layout));
    assert_eq!(all.matches("Not shown to the model: src/").count(), 60);
}

#[test]
fn an_endpoint_without_prices_has_an_unknown_cost() {
    let mut report = sample();
    report.cost_usd = 0.0;
    report.cost_known = false;
    assert!(laid_out(&report, 80).contains("tokens · cost unknown"));
}

#[test]
fn what_is_open_from_before_is_listed_by_score() {
    let text = laid_out(&sample(), 80);
    assert!(
        text.contains("\nOpen from earlier reviews:\n  src/a|b.ts"),
        "{text}"
    );
}

#[test]
fn the_last_line_breaks_between_its_figures() {
    let mut report = sample();
    report.findings = vec![finding(2, "suppressed", None)];
    report.threads.clear();
    let text = laid_out(&report, 40);
    let expected = "\nanthropic/claude · 36,140 tokens\n$0.0624 · not shown: 1";
    assert!(text.ends_with(expected), "{text}");
}
