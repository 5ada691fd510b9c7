//! Pages as browsers and people read them. What holds of every page is in `tests/properties/html.rs`.

use super::*;
use crate::domain::{Anchor, FileDiff, ReviewDecision, Score, Side};
use crate::html_property::{Node, hold};
use crate::panel::consensus::Consensus;
use crate::report::code::{Excerpt, tests as code};
use crate::report::consensus::{ConsensusReport, IssuesReport, RequesterReport};
use crate::report::conversations::{AnalyzerReport, ReviewStateReport, ThreadsReport};
use crate::report::document::{
    ExcusedReport, LedgerReport, LeftOutReport, PassReport, RunReport, SandboxReport,
    SuspicionReport,
};
use crate::report::events::{EventKind, EventReport};
use crate::report::findings::{ArgumentReport, FindingReport, ThreadReport};
use crate::report::fixture::{finding, sample};
use crate::report::reviewers::{RaisedReport, ReviewerReport, SourceReport};
use serde_json::json;
use std::rc::Rc;

const SERVER: &str = "https://example.test";
const MERGE_BASE: &str = "5ba6c2a1e3554f51be51c63421a254d61288447e";

fn as_is(text: &str) -> String {
    text.to_owned()
}

fn written(report: &Report, code: &Code) -> String {
    let material = Material {
        code,
        check: Some("https://example.test/octo/shop/runs/9"),
        clean: &as_is,
    };
    page(report, &material)
}

fn read(report: &Report) -> Rc<Node> {
    hold(&written(report, &Code::new()), Some(SERVER))
}

/// A finding of which every text is this one.
fn finding_of(words: &str, fate: &'static str) -> FindingReport {
    FindingReport {
        file: words.into(),
        place: words.into(),
        category: Some("security".into()),
        finding: words.into(),
        assessment: words.into(),
        body: words.into(),
        reason: Some(words.into()),
        url: Some(words.into()),
        raised_by: vec![words.into()],
        verified_by: vec![words.into()],
        contested: true,
        arguments: ["for", "against"]
            .map(|side| ArgumentReport {
                side,
                by: words.into(),
                reason: words.into(),
                quote: Some(words.into()),
            })
            .into(),
        also_at: vec![words.into()],
        ..finding(9, fate, None)
    }
}

fn raised_of(words: &str, kind: &'static str) -> RaisedReport {
    RaisedReport {
        id: words.into(),
        priority: "P0",
        category: Some(words.into()),
        file: words.into(),
        line: Some(3),
        title: words.into(),
        description: words.into(),
        suggestion: words.into(),
        source: SourceReport {
            kind,
            name: words.into(),
            review_id: Some(7),
            timestamp: words.into(),
        },
    }
}

fn reviewer_of(words: &str) -> ReviewerReport {
    ReviewerReport {
        agent: words.into(),
        model: words.into(),
        finished: false,
        conclusion: Some("request_changes"),
        issues: issues(),
        findings: vec![raised_of(words, "agent")],
        full_report: words.into(),
        raised: 1,
        alone: 2,
        confirmed: 3,
        refuted: 4,
        stood: 5,
        conceded: 6,
        tokens: 7,
        cost_usd: 0.5,
        cost_usd_per_finding: None,
    }
}

fn issues() -> IssuesReport {
    IssuesReport {
        p0_blocking: 1,
        p1_critical: 2,
        p2_important: 3,
        p3_suggestion: 4,
    }
}

fn consensus_of(words: &str) -> ConsensusReport {
    let people = vec![RequesterReport {
        login: words.into(),
        association: "MEMBER",
    }];
    ConsensusReport {
        conclusion: None,
        consensus: Consensus::Approve,
        rule: None,
        because: words.into(),
        changes_requested_by: people.clone(),
        issues: issues(),
        raised: issues(),
        comments_analyzer: AnalyzerReport {
            agent: "comments-analyzer",
            pr_number: 1,
            review_state: ReviewStateReport {
                has_changes_requested: true,
                changes_requested_by: people,
            },
            stats: ThreadsReport {
                total_threads: 1,
                resolved_threads: 0,
                unresolved_threads: 1,
            },
            threads_truncated: true,
            issues: issues(),
            pending_issues: vec![raised_of(words, "human")],
            full_report: words.into(),
        },
        review_event: None,
    }
}

/// A report of which every text that others may have written is this one.
#[expect(clippy::too_many_lines, reason = "a list of fields")]
fn report_of(words: &str) -> Report {
    let texts = || vec![words.to_owned()];
    let pass = |finished| PassReport {
        reviewer: Some(words.into()),
        section: None,
        number: 1,
        title: "Atomic diff review".into(),
        finished,
        summary: words.into(),
        tool_calls: 1,
        tokens: 1,
        cost_usd: 0.1,
        seconds: 1,
    };
    Report {
        pull_request: Some(words.into()),
        pull_request_url: Some(format!("{SERVER}/octo/shop/pull/1")),
        merge_base: MERGE_BASE.into(),
        reasons: texts(),
        model: words.into(),
        sandbox: Some(SandboxReport {
            complete: false,
            missing: texts(),
            user: 1,
            landlock_abi: None,
        }),
        ledger: LedgerReport {
            runs: vec![RunReport {
                day: "2026-11-15".into(),
                tokens: 1,
                cost_usd: 0.1,
            }],
            tokens: 1,
            cost_usd: 0.1,
        },
        sensitivity_evidence: texts(),
        passes: vec![pass(true), pass(false)],
        sections: vec![],
        reviewers: vec![reviewer_of(words)],
        findings: [
            "published",
            "reported",
            "unpublished",
            "suppressed",
            "withdrawn",
            "combined",
        ]
        .map(|fate| finding_of(words, fate))
        .into(),
        threads: vec![ThreadReport {
            file: words.into(),
            finding: words.into(),
            assessment: words.into(),
            url: words.into(),
            category: Some("logic".into()),
            ..sample().threads.remove(0)
        }],
        excused: vec![ExcusedReport {
            path: words.into(),
            reason: "lock file",
        }],
        left_out: texts(),
        left_out_unchanged: LeftOutReport::new(words.into(), &[words])
            .into_iter()
            .collect(),
        masked: texts(),
        suspicions: vec![SuspicionReport {
            kind: "html_comments",
            count: 1,
            places: texts(),
            words: words.into(),
        }],
        warnings: texts(),
        notes: texts(),
        review_url: Some(words.into()),
        decision: Some(ReviewDecision::ChangesRequested),
        comment: Some(words.into()),
        escalations: texts(),
        consensus: Some(consensus_of(words)),
        events: vec![EventReport {
            at: "2026-11-15T00:00:00Z".into(),
            event: EventKind::FixFailed,
            details: json!({ "why": words }),
        }],
        green: Some(words.into()),
        ..sample()
    }
}

/// The code of the report's findings, with a line of these words that is meant.
fn code_of(words: &str) -> Code {
    let line = words.replace(['\n', '\r'], " ");
    let patch = format!("@@ -1,2 +1,3 @@\n a\n-b {line}\n+c\n+d {line}\n");
    let diff = FileDiff {
        hunks: FileDiff::parse_hunks(patch).expect("hunks"),
        ..FileDiff::default()
    };
    let anchor = Anchor::Line {
        side: Side::Right,
        start: None,
        line: 3,
    };
    let excerpt = Excerpt::new(&diff, anchor).expect("lines");
    Code::from([("f9".to_owned(), excerpt)])
}

/// Ways out of text: into an element, an attribute, a script, a style, an address, the end of the page.
const ATTACKS: [&str; 24] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</code></pre></article></main></body></html><h1>Approved</h1>",
    "<!-- --><svg/onload=alert(1)><math><mi//xlink:href=\"data:x,<script>alert(1)</script>\">",
    "<iframe srcdoc=\"&lt;script&gt;alert(1)&lt;/script&gt;\"></iframe><object data=x><embed src=x>",
    "<meta http-equiv=refresh content=\"0;url=https://evil.example/\"><base href=https://evil.example/>",
    "<form action=https://evil.example/><input name=a autofocus onfocus=alert(1)><button formaction=x>",
    "<link rel=stylesheet href=https://evil.example/x.css><style>@import 'https://evil.example/x.css'</style>",
    "[click](javascript:alert(1)) <javascript:alert(1)> [c](JaVaScRiPt:alert(1)) [d](data:text/html;base64,PHNjcmlwdD4=)",
    "[e](//evil.example) [f](https://evil.example/) https://evil.example/ ![g](https://evil.example/x.png)",
    "[h]: javascript:alert(1)\n\n[h] [i][h]",
    "javascript:alert(1)",
    "https://example.test@evil.example/",
    "https://evil.example/\" onclick=\"alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x&#62; &quot;",
    "```\n</code></pre><script>alert(1)</script>\n```\n\n~~~html\n<b>",
    "| a |\n| --- |\n| </td></table><script>alert(1)</script> |\n",
    "<plaintext><template><noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "\u{0}\u{1b}[2J\u{202e}gnp.exe\u{200b}\u{2028}\u{e0041}\u{feff}\u{85}\r\n\u{fffe}",
    "<ScRiPt\n>alert(1)</sCrIpT\t\n><img/src=\"x\"/onerror=\"alert(1)\"><a href=\"\u{1}javascript:alert(1)\">x</a>",
];

#[test]
fn hostile_text_in_every_place_is_text() {
    for attack in ATTACKS {
        let report = report_of(attack);
        let code = code_of(attack);
        let document = hold(&written(&report, &code), Some(SERVER));
        // As many as the page has by itself: one for each text would be an escape.
        assert_eq!(document.named("h1").len(), 1, "{attack}");
        assert_eq!(document.named("title").len(), 1, "{attack}");
        assert_eq!(document.named("article").len(), 4, "{attack}");
        let title = document.named("title")[0].text();
        assert!(title.starts_with("3 findings open"), "{title}");
    }
}

#[test]
fn hostile_addresses_of_the_report_itself_lead_nowhere() {
    for attack in ATTACKS {
        let mut report = report_of("x");
        report.pull_request_url = Some(attack.into());
        report.head = attack.into();
        report.merge_base = attack.into();
        let page = written(&report, &code_of(attack));
        let is_server = attack.starts_with("https://evil.example/");
        let document = hold(&page, is_server.then_some("https://evil.example"));
        for link in document.named("a") {
            let target = link.attribute("href").unwrap_or_default().to_owned();
            assert!(
                !target.contains("javascript") && !target.contains("onclick=\""),
                "{target}"
            );
        }
    }
}

#[test]
fn a_page_without_a_pull_request_leads_nowhere_but_to_itself() {
    let mut report = report_of("[x](https://example.test/) https://example.test/");
    (report.pull_request, report.pull_request_url) = (None, None);
    let document = hold(&written(&report, &code_of("x")), None);
    for link in document.named("a") {
        let target = link.attribute("href").unwrap_or_default();
        assert!(target.starts_with('#'), "{target}");
    }
    assert!(document.text().contains("The working tree"));
}

#[test]
fn no_text_reaches_the_page_with_a_secret() {
    let secret = "otter-4711-lake";
    let hide = |text: &str| text.replace(secret, "[redacted]");
    let words = format!("Before {secret} after.");
    let (report, code) = (report_of(&words), code_of(&words));
    let material = Material {
        code: &code,
        check: Some("https://example.test/otter-4711-lake"),
        clean: &hide,
    };
    let page = page(&report, &material);
    hold(&page, Some(SERVER));
    let at = page.find(secret);
    let around = at.map(|at| &page[at.saturating_sub(200)..(at + 40).min(page.len())]);
    assert_eq!(around, None);
    assert!(
        page.matches("[redacted]").count() > 40,
        "the texts are there"
    );
}

#[test]
fn a_secret_of_several_lines_takes_the_code_with_it() {
    let mut report = sample();
    report.findings = vec![finding(9, "reported", None)];
    let excerpt = code::excerpt(code::at(Side::Right, None, 6));
    let code = Code::from([("f9".to_owned(), excerpt)]);
    let hide = |text: &str| text.replace("BEGIN\n", "***");
    let material = Material {
        code: &code,
        check: None,
        clean: &hide,
    };
    let document = hold(&page(&report, &material), Some(SERVER));
    assert!(document.named("pre").is_empty());
    assert_eq!(
        hold(&written(&report, &code), Some(SERVER))
            .named("pre")
            .len(),
        1
    );
}

#[test]
fn a_finding_has_its_code_as_a_diff_with_links_to_the_commit_and_the_comment() {
    let mut report = sample();
    report.merge_base = MERGE_BASE.into();
    report.findings = vec![finding(9, "published", None)];
    report.findings[0].body =
        "Finding of 9.\n\nTake `it` out:\n\n```ts\nlet a = 1 < 2;\n```\n".into();
    report.findings[0].assessment = "Not 10, because data stays.".into();
    let excerpt = code::excerpt(code::at(Side::Right, Some(2), 3));
    let code = Code::from([("f9".to_owned(), excerpt)]);
    let document = hold(&written(&report, &code), Some(SERVER));
    let article = &document.named("article")[0];
    assert_eq!(article.named("h3")[0].text(), " Finding of 9.");
    let links = article.named("a");
    let targets: Vec<&str> = links
        .iter()
        .filter_map(|one| one.attribute("href"))
        .collect();
    let head = &report.head;
    let file = format!("{SERVER}/octo/shop/blob/{head}/src/page.ts#L3");
    assert_eq!(targets, [file.as_str(), "https://example.test/9"]);
    let blocks: Vec<String> = article.named("pre").iter().map(Node::text).collect();
    assert!(
        blocks[0].starts_with("1 one\n2-two\n3-three\n2+zwei\n3+\tdrei\n4+API_KEY=hunter2\n"),
        "{blocks:?}"
    );
    assert_eq!(blocks[1], "let a = 1 < 2;\n");
    let meant: String = article.named("mark").iter().map(Node::text).collect();
    assert_eq!(meant, "2+zwei\n3+\tdrei\n");
    let text = article.text();
    assert_eq!(text.matches("Finding of 9.").count(), 1, "{text}");
    assert!(
        text.contains("Why this scoreNot 10, because data stays."),
        "{text}"
    );
}

#[test]
fn a_page_has_everything_that_the_report_tells() {
    let mut report = sample();
    report.sandbox = Some(SandboxReport {
        complete: true,
        missing: Vec::new(),
        user: 1,
        landlock_abi: Some(7),
    });
    let document = read(&report);
    let titles: Vec<String> = document.named("h2").iter().map(Node::text).collect();
    assert_eq!(
        titles,
        [
            "3 findings",
            "Open from earlier reviews",
            "Passes",
            "2 remarks not posted",
            "Coverage",
            "Costs of the pull request",
            "About this run",
        ]
    );
    let text = document.text();
    for told in [
        "3 findings open, 1 of them blocks",
        "octo/shop#1 at b0d63d1 · check",
        "3 files · anthropic/claude · 36,140 tokens · $0.0624 · 4 m 10 s",
        "Pass 2 of 4 was never submitted by the model.",
        "To turn this check green: fix the blocking finding and push.",
        "Warning: Comments are not signed.",
        "not published",
        "src/a|b.ts · Logic · 6/10 · DISPUTED · since a1b2c3d",
        "suppressed: score 2 is below the threshold of 5",
        "withdrawn: A guard handles it.",
        "Not in the snapshot: 1201 unchanged files",
        "a`b\\u{a}/.env",
        "and 1,180 more",
        "all days141,000$0.31",
        "Sensitivity: high (\"payments\" in README.md).",
        "HTML comments: 2 (description, <b>.md)",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
}

#[test]
fn the_reviewers_of_a_panel_stand_there_with_their_votes_and_what_they_cost() {
    let mut report = report_of("words");
    report.consensus.as_mut().expect("a consensus").conclusion = Some("needs_major_work");
    report.consensus.as_mut().expect("a consensus").rule = Some(1);
    let text = hold(&written(&report, &Code::new()), Some(SERVER)).text();
    for told in [
        "needs major work (rule 1: words).",
        "standing1234",
        "words (did not finish)words1234567$0.50–",
        "words: 1 finding, request changes",
        "Raised by words. Verified by words. Contested: another reviewer refutes it.",
        "For, words: words words",
        "Against, words: words words",
        "Also at words.",
        "Changes requested.",
        "Calls words to the pull request.",
        "fix failed",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
}

#[test]
fn a_page_is_valid_whatever_the_review_came_to() {
    for verdict in ["clean", "findings", "blocking", "incomplete", "", "other"] {
        let document = read(&Report {
            verdict: verdict.into(),
            reasons: vec!["Nothing has changed since main; there is nothing to review.".into()],
            model: "anthropic/claude".into(),
            head: "b0d63d1e3554f51be51c63421a254d61288447e6".into(),
            ..Report::default()
        });
        assert!(document.text().contains("nothing to review"));
        assert!(document.named("section").is_empty() && document.named("nav").is_empty());
    }
    read(&Report::default());
}

#[test]
fn a_large_report_is_cut_where_nobody_reads_on() {
    let mut report = sample();
    report.left_out = (0..20_000).map(|n| format!("src/{n}.ts")).collect();
    report.findings = vec![finding(9, "reported", None)];
    let long = format!("@@ -0,0 +1 @@\n+{}\n", "x".repeat(1 << 20));
    let diff = FileDiff {
        hunks: FileDiff::parse_hunks(long).expect("hunks"),
        ..FileDiff::default()
    };
    let excerpt = Excerpt::new(&diff, code::at(Side::Right, None, 1)).expect("lines");
    let code = Code::from([("f9".to_owned(), excerpt)]);
    let page = written(&report, &code);
    let document = hold(&page, Some(SERVER));
    assert!(page.len() < 100_000, "{}", page.len());
    assert!(document.text().contains("and 19,500 more"));
}

#[test]
fn the_policy_names_the_style_that_the_page_has() {
    let document = read(&sample());
    let style = document.named("style")[0].text();
    assert_eq!(style, STYLE);
    let hash = BASE64.encode(&Sha256::digest(&style));
    let policy = document.named("meta")[1]
        .attribute("content")
        .map(str::to_owned);
    assert!(policy.is_some_and(|policy| policy.contains(&hash)));
    for loaded in ["url(", "@import", "</", "<!--"] {
        assert!(!STYLE.contains(loaded), "{loaded}");
    }
    for theme in ["prefers-color-scheme: dark", "color-scheme: light dark"] {
        assert!(STYLE.contains(theme), "{theme}");
    }
}

#[test]
fn a_score_that_blocks_is_told_in_words() {
    let mut report = sample();
    report.blocking_from = Score::new(9);
    let text = read(&report).text();
    assert!(text.contains("9/10 · blocks"), "{text}");
}
