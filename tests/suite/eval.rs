//! Repetition, measured: the bars that the two tiers must clear on published pairs, and the command that prints the
//! figures. The pairs are not part of the project; OPENCODE_REVIEWER_EVAL_DATA names the folder that holds them.

use opencode_reviewer::eval;
use std::path::PathBuf;
use std::process::{Command, Output};

const FOLDER: &str = "OPENCODE_REVIEWER_EVAL_DATA";

/// The published pairs, or why they are not at hand.
fn pairs() -> Result<PathBuf, String> {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    let folder = folder.ok_or_else(|| format!("{FOLDER} is not set"))?;
    let file = PathBuf::from(folder).join("dedupe-pairs.jsonl");
    if file.is_file() {
        Ok(file)
    } else {
        Err(format!("there is no {}", file.display()))
    }
}

fn eval_dedupe(file: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_opencode-reviewer"))
        .args(["eval", "dedupe"])
        .arg(file)
        .env_clear()
        .output()
        .expect("the binary runs")
}

#[test]
fn both_tiers_clear_their_bars_on_published_pairs() {
    let file = match pairs() {
        Ok(file) => file,
        Err(reason) => {
            println!("skipped: {reason}; {FOLDER} names a folder with dedupe-pairs.jsonl");
            return;
        }
    };
    let text = std::fs::read_to_string(file).expect("the pairs are text");
    let counts = eval::dedupe(&text).expect("the pairs are well-formed");
    println!("{counts}");
    for (name, tier, least, most) in [
        ("near-certain", counts.near_certain, 0.30, 0.025),
        ("possible", counts.possible, 0.88, 0.16),
    ] {
        let recall = counts.recall(tier).expect("pairs that are the same");
        let mistaken = counts
            .false_positive_rate(tier)
            .expect("pairs that are not");
        assert!(
            recall >= least,
            "{name}: recall {recall:.3}, wanted {least}"
        );
        assert!(
            mistaken <= most,
            "{name}: false positives {mistaken:.3}, allowed {most}"
        );
    }
}

#[test]
fn anybody_can_measure_on_their_own_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pairs.jsonl");
    let pairs = r#"{"same": true, "a": "The page loop is off by one.", "b": "Off by one in the page loop"}
{"same": false, "a": "The page loop is off by one.", "b": "The token is written to the log."}
"#;
    std::fs::write(&file, pairs).unwrap();
    let output = eval_dedupe(&file);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "pairs         2 (1 same, 1 different)\n\
         near-certain  recall 100.0 % (1 of 1)  false positives 0.0 % (0 of 1)\n\
         possible      recall 100.0 % (1 of 1)  false positives 0.0 % (0 of 1)\n"
    );
}

#[test]
fn a_file_that_holds_no_pairs_gets_one_sentence_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pairs.jsonl");
    std::fs::write(
        &file,
        "{\"same\": true, \"a\": \"x\", \"b\": \"y\"}\n{\"same\": true}\n",
    )
    .unwrap();
    for (path, wanted) in [
        (file.clone(), "line 2 is not a pair (missing field `a`)"),
        (
            folder.path().join("other.jsonl"),
            "cannot be read (No such file",
        ),
    ] {
        let output = eval_dedupe(&path);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with("error: ") && said.contains(wanted),
            "{said}"
        );
        assert_eq!(
            (said.lines().count(), output.stdout.len()),
            (1, 0),
            "{said}"
        );
    }
}
