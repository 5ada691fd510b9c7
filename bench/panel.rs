//! How well the panel's clusters put together what belongs together, on published findings of real review tools. The data is no
//! part of the project: OPENCODE_REVIEWER_EVAL_DATA names the folder that holds it. The figures are printed and written nowhere.

mod pairs;
mod places;
mod triples;
mod wire;

#[allow(dead_code, reason = "the bars of repetition are fitted there, too")]
#[path = "eval/folds.rs"]
mod folds;

use anyhow::{Context as _, Result};
use reviewer_core::domain::{Anchor, Assessment, Finding, PassNumber, Score, Support};
use reviewer_core::panel::{Claim, ClaimId};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const FOLDER: &str = "OPENCODE_REVIEWER_EVAL_DATA";

/// Measures on all files. With `shown`, merges of located comments are printed for a person to judge.
pub fn run(shown: bool) -> Result<String> {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    let Some(folder) = folder.map(PathBuf::from) else {
        return Ok(format!(
            "skipped: {FOLDER} is not set; it names the folder with panel-findings.jsonl\n"
        ));
    };
    let changes = changes(lines(&folder, "panel-findings.jsonl")?);
    let labelled: Vec<wire::Pair> = lines(&folder, "dedupe-pairs.jsonl")?;
    let located: Vec<wire::Located> = lines(&folder, "located-comments.jsonl")?;
    let words = [
        pairs::report("dedupe-pairs", &pairs::labelled(&labelled)),
        pairs::report(
            "dedupe-pairs, each pair once",
            &pairs::labelled(&wire::Pair::once(&labelled)),
        ),
        pairs::report("panel-findings", &pairs::within(&changes, true)),
        pairs::report(
            "panel-findings, repeated words at full weight",
            &pairs::within(&changes, false),
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

fn lines<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<T>> {
    let file = folder.join(name);
    let text =
        std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
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
    ratio(part, whole).map_or_else(
        || "n/a".to_owned(),
        |share| format!("{:.1} %", share * 100.0),
    )
}

fn ratio(part: usize, whole: usize) -> Option<f64> {
    let [part, whole] = [part, whole].map(|count| u32::try_from(count).ok());
    let whole = whole.filter(|whole| *whole > 0)?;
    Some(f64::from(part?) / f64::from(whole))
}
