//! How well the panel's clusters put together what belongs together, on published findings of real review tools. The data is no
//! part of the project: OPENCODE_REVIEWER_EVAL_DATA names the folder that holds it. The figures are printed and written nowhere.

pub mod fit;
pub mod pairs;
mod places;
mod triples;
mod wire;

#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "the bars of repetition are fitted there, too, in the same tests"
)]
#[path = "../eval/folds.rs"]
mod folds;

use anyhow::{Context as _, Result};
use reviewer_core::domain::{Anchor, Assessment, Finding, PassNumber, Score, Support};
use reviewer_core::panel::{Claim, ClaimId};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const FOLDER: &str = "OPENCODE_REVIEWER_EVAL_DATA";
pub const FINDINGS: &str = "panel-findings.jsonl";
pub const LABELLED: &str = "dedupe-pairs.jsonl";
const LOCATED: &str = "located-comments.jsonl";

/// Measures on all files. With `shown`, merges of located comments are printed for a person to judge.
pub fn run(shown: bool) -> Result<String> {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    let Some(folder) = folder.map(PathBuf::from) else {
        return Ok(format!(
            "skipped: {FOLDER} is not set; it names the folder with panel-findings.jsonl\n"
        ));
    };
    let read = |name: &str| {
        let file = folder.join(name);
        std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))
    };
    let [findings, labelled, located] = [FINDINGS, LABELLED, LOCATED].map(read);
    let (findings, labelled) = (findings?, labelled?);
    let [pairs, within] = scored(&labelled, &findings)?;
    let changes = changes(lines(&findings, FINDINGS)?);
    let labelled: Vec<wire::Pair> = lines(&labelled, LABELLED)?;
    let located: Vec<wire::Located> = lines(&located?, LOCATED)?;
    let words = [
        pairs::report("dedupe-pairs", &pairs),
        pairs::report(
            "dedupe-pairs, each pair once",
            &pairs::labelled(&wire::Pair::once(&labelled)),
        ),
        pairs::report("panel-findings", &within),
        pairs::report(
            "panel-findings, without the names of the reviewers",
            &pairs::within(&changes, false),
        ),
        format!(
            "the bar that dedupe-pairs and panel-findings support: {:.2}\n",
            fit::shipped(&[&pairs, &within])
        ),
    ];
    Ok([
        words.concat(),
        places::report(&located, shown),
        triples::report(&changes),
        triples::validated(&changes),
    ]
    .join("\n"))
}

/// The pairs of both labelled files: those of the first, and those within the changes of the second.
pub fn scored(labelled: &str, findings: &str) -> Result<[Vec<pairs::Scored>; 2]> {
    let labelled: Vec<wire::Pair> = lines(labelled, LABELLED)?;
    let changes = changes(lines(findings, FINDINGS)?);
    Ok([pairs::labelled(&labelled), pairs::within(&changes, true)])
}

fn lines<T: DeserializeOwned>(text: &str, name: &str) -> Result<Vec<T>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let read = |line| serde_json::from_str(line).with_context(|| format!("a line of {name}"));
    lines.map(read).collect()
}

/// A pull request with its known defects and all findings of all tools.
#[derive(Debug, Default)]
struct Change {
    known: usize,
    findings: Vec<Raised>,
}

#[derive(Debug)]
struct Raised {
    tool: String,
    text: String,
    /// The known defects that it names.
    defects: BTreeSet<String>,
}

/// A finding that names two known defects has a line for each: they are one finding here, because a tool said it once.
fn changes(lines: Vec<wire::Line>) -> Vec<Change> {
    let mut changes: BTreeMap<String, Change> = BTreeMap::new();
    for line in lines {
        match line {
            wire::Line::Gold { change, ids } => {
                changes.entry(change).or_default().known = ids.len();
            }
            wire::Line::Finding {
                change,
                reviewer,
                text,
                gold,
            } => changes.entry(change).or_default().add(reviewer, text, gold),
        }
    }
    changes.into_values().collect()
}

impl Change {
    fn add(&mut self, tool: String, text: String, defect: Option<String>) {
        let mut said = self.findings.iter_mut();
        match said.find(|finding| finding.tool == tool && finding.text == text) {
            Some(finding) => finding.defects.extend(defect),
            None => self.findings.push(Raised {
                tool,
                text,
                defects: defect.into_iter().collect(),
            }),
        }
    }
}

/// A claim on a file as a whole, which is near everything in it.
fn claim(seat: usize, number: usize, file: &str, text: &str) -> Result<Claim> {
    let number = u32::try_from(number)?;
    let finding = Finding {
        id: format!("{seat}-{number}").parse()?,
        file: file.to_owned(),
        anchor: Anchor::File,
        anchor_hash: String::new(),
        body: text.to_owned(),
        assessment: Assessment {
            finding: String::new(),
            assessment: String::new(),
            score: Score::new(5).context("a score")?,
        },
        category: None,
        pass: PassNumber::FIRST,
        reviewer: String::new(),
        support: Support::default(),
    };
    Ok(Claim {
        id: ClaimId { seat, number },
        finding,
        withdrawn: false,
        blocks: false,
    })
}

/// A share in percent; `n/a` of nothing.
fn percent(part: usize, whole: usize) -> String {
    in_percent(ratio(part, whole))
}

fn in_percent(share: Option<f64>) -> String {
    share.map_or_else(
        || "n/a".to_owned(),
        |share| format!("{:.1} %", share * 100.0),
    )
}

fn ratio(part: usize, whole: usize) -> Option<f64> {
    let [part, whole] = [part, whole].map(|count| u32::try_from(count).ok());
    let whole = whole.filter(|whole| *whole > 0)?;
    Some(f64::from(part?) / f64::from(whole))
}
