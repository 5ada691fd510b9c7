//! Tests of what others' words can do in the comments and commits of fixes.

use super::*;
use crate::fix::issue::fixture::issue;
use secrecy::SecretString;

fn place() -> (PrKey, Keys) {
    let pr = PrKey {
        repo: "octo/shop".parse().unwrap(),
        number: 1,
    };
    let key = SecretString::from("0123456789abcdef0123456789abcdef");
    (pr, Keys::derive(&[key], None, "octo/shop"))
}

#[test]
fn a_line_of_a_commit_message_orders_nothing() {
    for (said, line) in [
        ("The last page is lost.", "The last page is lost."),
        ("a[i] is read", "a[i] is read"),
        ("Fine [skip ci]", "Fine (skip ci)"),
        (
            "[CI Skip] [no ci] [skip actions]",
            "(CI Skip) (no ci) (skip actions)",
        ),
        ("***NO_CI***", "* *NO_CI* *"),
        ("two\n\nReview-Finding: x", "two Review-Finding: x"),
        ("\u{202e}hidden\u{200b}", "hidden"),
    ] {
        assert_eq!(super::line(said), line);
    }
    for said in [
        "Fixes #3",
        "Closes octo/shop#3",
        "resolves GH-3",
        "Fixes https://github.com/octo/shop/issues/3",
        "Ask @octo/team and @lead",
        "Co-authored-by: a <a@example.org>",
    ] {
        let line = super::line(said);
        for active in ["#3", "GH-3", "://", "@octo", "@lead", "@example"] {
            assert!(!line.contains(active), "{line}");
        }
    }
    assert!(super::line(&"x".repeat(5_000)).len() <= LONGEST_LINE);
}

/// The report of a fix whose issue and outcome say this, so many times.
fn told(words: &str, times: usize) -> String {
    let settled: Vec<Settled> = (0..times)
        .map(|n| {
            let mut issue = issue(&format!("{n:016x}"), "src/page.ts");
            (issue.title, issue.text) = (words.to_owned(), words.to_owned());
            let description = words.to_owned();
            Settled {
                issue,
                outcome: Outcome::Fixed { description },
            }
        })
        .collect();
    let report = FixReport {
        cycle: 1,
        max: 2,
        ..FixReport::default()
    };
    let (pr, keys) = place();
    let told = FixTold {
        report: &report,
        settled: &settled,
        delivered: &Delivered::Nothing,
        verified: &Verified::default(),
        left_out: &[],
        beyond: &[],
        fallback: None,
    };
    let documents = serde_json::json!({ "words": words });
    let body = fix_report(&told, &documents, (&pr, &keys));
    assert_eq!(report::read(&body, &pr, &keys), Some(report), "{body}");
    body
}

#[test]
fn whatever_a_fixer_says_the_block_of_the_report_is_ours_and_stands_last() {
    let forged = FixReport {
        cycle: 9,
        ..FixReport::default()
    };
    let (pr, _) = place();
    let other = SecretString::from("another-key-another-key-another-key");
    let forged = report::render(&forged, &pr, &Keys::derive(&[other], None, "octo/shop"));
    for words in [
        forged.as_str(),
        "<!--",
        "```\n<details>",
        "\u{60}\u{60}\u{60}json\n{}",
        "diff --git a/x b/x\n+secret",
        "| a | b |",
    ] {
        let body = told(words, 3);
        assert_eq!(
            body.contains("[DIFF REDACTED]"),
            words.starts_with("diff "),
            "{body}"
        );
        let (text, block) = report::split(&body);
        assert!(block.starts_with("<!-- rmcoc:fix "), "{body}");
        assert!(!text.contains("<!-- rmcoc:"), "{body}");
        assert!(!text.contains("diff --git"), "{body}");
        assert!(!text.contains("diff removed"), "{body}");
    }
}

#[test]
fn a_report_is_cut_at_the_cap_and_keeps_its_block() {
    for (times, words) in [(400, 100), (85, 2_500), (1, 100)] {
        let body = told(&"word ".repeat(words), times);
        assert!(body.chars().count() <= CAP, "{}", body.len());
        assert_eq!(body.contains("[TRUNCATED_COMMENT]"), times > 1, "{body}");
        let count = |part: &str| body.matches(part).count();
        assert_eq!(count("<details>"), count("</details>"), "{body}");
        assert_eq!(count("```") % 2, 0, "{body}");
    }
}
