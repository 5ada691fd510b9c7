//! The end of the action's log: what was reviewed, the result with its links, and how to open the gate.

use super::document::Report;
use reviewer_text::count::{duration, plural, tokens};

/// Three lines, whatever the verdict is. `result` is the title of the check, `check` the check's page.
#[must_use]
pub fn last_lines(report: &Report, result: &str, check: Option<&str>) -> [String; 3] {
    let links = [report.review_url.as_deref(), check];
    let links: Vec<&str> = links.into_iter().flatten().collect();
    let links = match links.as_slice() {
        [] => String::new(),
        links => format!(" {}", links.join(" ")),
    };
    let gate = match (&report.green, report.verdict.as_str()) {
        (Some(green), _) => format!("To open the gate: {green}"),
        (None, "clean") => "The gate is open: nothing was found.".into(),
        (None, "findings") => "The gate is open: nothing that was found blocks.".into(),
        (None, _) => "The gate is closed.".into(),
    };
    [reviewed(report), format!("Result: {result}.{links}"), gate]
}

fn reviewed(report: &Report) -> String {
    let pull = report.pull_request.as_deref().unwrap_or("the working tree");
    let head = report.head.get(..7).unwrap_or_default();
    let files = plural(report.files, "file");
    if report.passes.is_empty() {
        return format!("{pull} at {head}: {files}, reviewed before; the model was not asked.");
    }
    format!(
        "Reviewed {pull} at {head}: {files}, {}, {}, {}.",
        tokens(report.tokens, report.tokens_estimated),
        report.cost(report.cost_usd),
        duration(report.seconds())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::sample;

    #[test]
    fn the_log_ends_with_what_was_reviewed_the_result_and_the_way_through_the_gate() {
        let mut report = sample();
        report.review_url = Some("https://example.test/pull/1#pullrequestreview-7".into());
        report.green = Some("fix the 🔴 finding and push.".into());
        let check = Some("https://example.test/runs/9");
        assert_eq!(
            last_lines(&report, "1 blocking finding open", check),
            [
                "Reviewed octo/shop#1 at b0d63d1: 3 files, 36,140 tokens, $0.0624, 4 m 10 s.",
                "Result: 1 blocking finding open. https://example.test/pull/1#pullrequestreview-7 https://example.test/runs/9",
                "To open the gate: fix the 🔴 finding and push.",
            ]
        );
    }

    #[test]
    fn a_green_check_has_an_open_gate() {
        let mut report = sample();
        (report.green, report.passes) = (None, Vec::new());
        report.verdict = "findings".into();
        let lines = last_lines(&report, "2 findings open", None);
        assert!(
            lines[0].ends_with("3 files, reviewed before; the model was not asked."),
            "{lines:?}"
        );
        assert_eq!(lines[1], "Result: 2 findings open.");
        assert_eq!(lines[2], "The gate is open: nothing that was found blocks.");
    }
}
