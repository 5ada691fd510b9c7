//! The body of a review, as people read it.

use super::*;
use crate::domain::Score;
use crate::publish::comment::tests::{finding, with_voice};
use crate::state::block;

fn scored(score: u64) -> Finding {
    let mut found = finding("It is lost.");
    found.assessment.score = Score::new(score).unwrap();
    found
}

fn figures() -> Figures<'static> {
    Figures {
        files: 3,
        model: "anthropic/claude-sonnet-4-5",
        fallback: None,
        cost_usd: Some(0.2134),
        seconds: 100,
        details: Some("https://github.com/octo/shop/runs/9"),
    }
}

fn body(findings: &[&Finding], unanchored_findings: &[&Finding], partial: bool) -> String {
    with_voice(|voice| {
        let judged = &Judged::COMMENT;
        voice.review(
            findings,
            unanchored_findings,
            partial,
            None,
            &figures(),
            judged,
        )
    })
}

#[test]
fn the_review_counts_the_findings_and_lists_them_with_the_gravest_first() {
    let mut removed = scored(9);
    removed.anchor = Anchor::Line {
        side: Side::Left,
        start: Some(4),
        line: 6,
    };
    insta::assert_snapshot!(
        "review",
        body(&[&scored(7), &removed, &scored(5)], &[], false)
    );
}

#[test]
fn the_title_says_how_many_block() {
    let title = |scores: &[u64]| {
        let findings: Vec<Finding> = scores.iter().map(|score| scored(*score)).collect();
        let body = body(&findings.iter().collect::<Vec<_>>(), &[], false);
        body.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(title(&[7]), "### 1 finding");
    assert_eq!(title(&[7, 8]), "### 2 findings");
    assert_eq!(title(&[9]), "### 1 finding: it blocks the merge");
    assert_eq!(title(&[9, 7]), "### 2 findings: 1 blocks the merge");
    assert_eq!(title(&[9, 10, 7, 5]), "### 4 findings: 2 block the merge");
}

#[test]
fn a_finding_without_a_place_in_the_diff_is_told_in_full_below_the_table() {
    let found = scored(7);
    let partial = body(&[&found], &[&found], true);
    assert!(
        partial.contains("\n\nThe review was not completed; these"),
        "{partial}"
    );
    let whole =
        "|\n\n🟠 **The last page is lost.** Logic · 7/10 · `src/page.ts:8`\n\nIt is lost.\n\n<sub>";
    assert!(partial.contains(whole), "{partial}");
}

#[test]
fn a_file_name_cannot_break_the_table_or_call_anybody() {
    let mut found = scored(7);
    found.file = "a`@octocat`|b](x).ts".into();
    let review = body(&[&found], &[&found], false);
    let row = review.lines().nth(4).unwrap();
    assert_eq!(
        row,
        "| 🟠&nbsp;7 | [a`@octocat`\\|b\\]\\(x).ts:8](https://github.com/octo/shop/blob/\
         b0d63d1e3554f51be51c63421a254d61288447e6/a%60%40octocat%60%7Cb%5D%28x%29.ts#L8) | The last page is lost. |"
    );
    assert!(
        review.contains("· `` a`@octocat`|b](x).ts:8 ``\n"),
        "{review}"
    );
    assert!(!crate::event::mentions(&review, "@octocat"), "{review}");
}

#[test]
fn the_last_line_asks_nothing_of_the_reviewer_and_knows_no_price_that_nobody_knows() {
    let review = body(&[&scored(7)], &[], false);
    assert!(!crate::event::mentions(&review, "@bot"), "{review}");
    let own = Figures {
        cost_usd: None,
        details: None,
        ..figures()
    };
    let line = with_voice(|voice| voice.colophon(&own));
    assert_eq!(
        line,
        "<sub>`b0d63d1` · 3 files · anthropic/claude-sonnet-4-5 · cost unknown · 1 m 40 s · `@bot help`</sub>"
    );
    let fallback = Some("fallback openai/gpt-5 from pass 2 of 4 on");
    let line = with_voice(|voice| voice.colophon(&Figures { fallback, ..own }));
    let models = "anthropic/claude-sonnet-4-5 · fallback openai/gpt-5 from pass 2 of 4 on · cost";
    assert!(line.contains(models), "{line}");
}

#[test]
fn a_host_of_its_own_is_linked_to_and_no_page_to_nothing() {
    let found = scored(7);
    let linked = |page| with_voice(|voice| Voice { page, ..*voice }.address(&found));
    let ghes = linked("https://ghe.example/octo/shop/pull/1").unwrap();
    assert!(
        ghes.starts_with("https://ghe.example/octo/shop/blob/b0d63d1"),
        "{ghes}"
    );
    assert_eq!(linked(""), None);
}

#[test]
fn many_findings_fit_into_the_body_with_the_manifest_whole() {
    let mut found = scored(7);
    found.assessment.finding = "It is lost. ".repeat(100);
    found.body = "x ".repeat(5_000);
    let many = vec![&found; 200];
    let review = body(&many, &many[..20], false);
    assert!(review.len() <= MAX_BODY + 100, "{}", review.len());
    assert!(review.contains("more |\n\n") && review.contains("[truncated]"));
    assert!(review.contains("`@bot help`</sub>\n\n<!-- rmcoc:1 "));
    let manifest = block::parse(&review).hidden.unwrap();
    assert_eq!(manifest.findings.len(), 200);
}

#[test]
fn no_finding_below_the_table_is_cut_off_by_the_long_ones_before_it() {
    let mut findings: Vec<Finding> = (0..8)
        .map(|_| {
            let mut long = scored(7);
            long.body = format!("```\n{}", "It is lost. ".repeat(1_500));
            long
        })
        .collect();
    for (at, finding) in findings.iter_mut().enumerate() {
        finding.assessment.finding = format!("Defect {at} of the file.");
        finding.anchor = Anchor::File;
    }
    let mut short = scored(7);
    short.body = "It is read to its end.".into();
    findings.push(short);
    let findings: Vec<&Finding> = findings.iter().collect();
    let body = body(&findings, &findings, false);
    let (shown, _) = body.split_once("<sub>").unwrap();
    for at in 0..8 {
        assert!(
            shown.contains(&format!("**Defect {at} of the file.**")),
            "{at}"
        );
    }
    assert!(shown.contains("It is read to its end."));
    assert!(body.len() <= MAX_BODY + 100, "{}", body.len());
    assert!(block::parse(&body).hidden.is_some());
}

#[test]
fn the_table_gives_way_to_a_manifest_that_needs_the_room() {
    let mut found = scored(7);
    found.assessment.finding = "<".repeat(3_900);
    let listed = [&found; 30];
    let whole = body(&listed, &listed[..2], false);
    assert!(whole.len() < 65_536, "{}", whole.len());
    assert!(!whole.contains("| Where |"), "{whole}");
    assert!(block::parse(&whole).hidden.is_some());
    assert!(body(&listed, &[], false).contains("| Where |"));
}

#[test]
fn a_review_that_requests_changes_says_so_above_its_table_and_in_its_block() {
    let found = scored(9);
    let judged = Judged::new(crate::domain::ReviewEvent::RequestChanges);
    let body = with_voice(|voice| voice.review(&[&found], &[], false, None, &figures(), &judged));
    assert!(
        body.starts_with(
            "### 1 finding: it blocks the merge\n\nThe reviewer dismisses this request for changes"
        ),
        "{body}"
    );
    let hidden = block::parse(&body).hidden.unwrap();
    assert_eq!(hidden.event.as_deref(), Some("request_changes"));
}
