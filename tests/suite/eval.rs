//! Repetition, redaction and the panel's words rule, measured: the bars that they must clear on published pairs and samples, and the program
//! that prints the figures. The data is not part of the project; OPENCODE_REVIEWER_EVAL_DATA names the folder that holds it.

#[path = "../../bench/eval/mod.rs"]
mod measures;
#[allow(
    dead_code,
    reason = "`make panel` measures whole panels, too, and for longer"
)]
#[path = "../../bench/panel/mod.rs"]
mod panel;

use reviewer_core::panel::words::Bars;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub const FOLDER: &str = "OPENCODE_REVIEWER_EVAL_DATA";

/// A published file, or why it is not at hand.
pub fn published(name: &str) -> Result<String, String> {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    let folder = folder.ok_or_else(|| format!("{FOLDER} is not set"))?;
    let file = PathBuf::from(folder).join(name);
    if file.is_file() {
        Ok(std::fs::read_to_string(file).expect("the data is text"))
    } else {
        Err(format!("there is no {}", file.display()))
    }
}

fn eval(arguments: &[&OsStr]) -> Output {
    let built = Path::new(env!("CARGO_BIN_EXE_opencode-reviewer"));
    let program = built.with_file_name("examples").join("eval");
    assert!(program.is_file(), "run `cargo build --examples` first");
    Command::new(program)
        .args(arguments)
        .env_clear()
        .output()
        .expect("the program runs")
}

fn eval_dedupe(file: &Path) -> Output {
    eval(&["dedupe".as_ref(), file.as_ref()])
}

#[test]
fn both_tiers_clear_their_bars_on_published_pairs() {
    let text = match published("dedupe-pairs.jsonl") {
        Ok(text) => text,
        Err(reason) => {
            println!("skipped: {reason}; {FOLDER} names a folder with dedupe-pairs.jsonl");
            return;
        }
    };
    let report = measures::dedupe(&text).expect("the pairs are well-formed");
    println!("{report}");
    let unseen = report.unseen.expect("pairs that share no text").counts;
    for (on, counts) in [("all pairs", report.shipped), ("unseen pairs", unseen)] {
        for (name, tier, least, most) in [
            ("near-certain", counts.near_certain, 0.38, 0.025),
            ("possible", counts.possible, 0.88, 0.16),
        ] {
            let recall = counts.recall(tier).expect("pairs that are the same");
            let mistaken = counts
                .false_positive_rate(tier)
                .expect("pairs that are not");
            assert!(
                recall >= least && mistaken <= most,
                "{name} on {on}: recall {recall:.3}, wanted {least}; false positives {mistaken:.3}, allowed {most}"
            );
        }
    }
}

#[test]
fn at_most_3_percent_of_the_merges_by_words_are_wrong_on_published_findings() {
    let names = [panel::LABELLED, panel::FINDINGS];
    let (labelled, findings) = match names.map(published) {
        [Ok(labelled), Ok(findings)] => (labelled, findings),
        [Err(reason), _] | [_, Err(reason)] => {
            let names = names.join(", ");
            println!("skipped: {reason}; {FOLDER} names a folder with {names}");
            return;
        }
    };
    let sets = panel::scored(&labelled, &findings).expect("the findings are well-formed");
    let shipped = Bars::SHIPPED.same;
    let fitted = panel::fit::shipped(&[&sets[0], &sets[1]]);
    println!("bars: {shipped:.2} is shipped, the findings support {fitted:.2}");
    for ((name, pairs), least) in names.into_iter().zip(&sets).zip([0.10, 0.35]) {
        let all = panel::pairs::Merges::at(pairs, shipped);
        let (held_out, _) = panel::pairs::held_out(pairs);
        for (way, merges) in [("shipped bar", all), ("held out", held_out)] {
            let wrong = merges.wrong_share().expect("merges");
            let recall = merges.recall().expect("pairs that are the same");
            println!("{name}, {way}: wrong {wrong:.3}, recall {recall:.3}");
            assert!(
                wrong <= panel::fit::AIM && recall >= least,
                "{name}, {way}: wrong {wrong:.3}, allowed {}; recall {recall:.3}, wanted {least}",
                panel::fit::AIM
            );
        }
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
         possible      recall 100.0 % (1 of 1)  false positives 0.0 % (0 of 1)\n\
         unseen        n/a (all pairs are one group that shares texts)\n"
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

#[test]
fn secrets_are_gone_and_ordinary_texts_untouched_on_published_samples() {
    let names = [
        "secret-samples.jsonl",
        "dedupe-pairs.jsonl",
        "located-comments.jsonl",
    ];
    let [samples, pairs, comments] = names.map(published);
    let (samples, ordinary) = match (samples, pairs, comments) {
        (Ok(samples), Ok(pairs), Ok(comments)) => (samples, [pairs, comments]),
        (Err(reason), ..) | (_, Err(reason), _) | (.., Err(reason)) => {
            println!(
                "skipped: {reason}; {FOLDER} names a folder with {}",
                names.join(", ")
            );
            return;
        }
    };
    let counts = measures::redact::redaction(&samples).expect("the samples are well-formed");
    println!("{counts}{}", counts.lines());
    let (all, held_out) = (counts.secrets(), counts.held_out);
    for (name, secrets, least) in [
        ("all given", all.given, 0.95),
        ("all realistic", all.realistic, 0.90),
        ("held out, given", held_out.given, 0.90),
        ("held out, realistic", held_out.realistic, 0.90),
    ] {
        let recall = secrets.recall().expect("samples with a secret");
        assert!(recall >= least, "{name}: {secrets}, wanted {least}");
    }
    let changed = counts.changed_rate().expect("samples without a secret");
    assert!(changed <= 0.05, "changed {changed:.3}, allowed 0.05");
    for texts in ordinary {
        let ordinary = measures::redact::ordinary(&texts).expect("the texts are well-formed");
        println!("{ordinary}");
        let disturbed = ordinary.changed_rate().expect("ordinary texts");
        assert!(
            disturbed <= 0.005,
            "disturbed {disturbed:.4}, allowed 0.005"
        );
    }
}

#[test]
fn anybody_can_measure_redaction_on_their_own_samples() {
    let folder = tempfile::tempdir().unwrap();
    let samples = folder.path().join("samples.jsonl");
    let pairs = folder.path().join("pairs.jsonl");
    let comments = folder.path().join("comments.jsonl");
    std::fs::write(
        &samples,
        r#"{"text": "token = 'q7Zt0Xw3Lr9Vb5Ns1Kd8'", "spans": ["q7Zt0Xw3Lr9Vb5Ns1Kd8"]}
{"text": "The code word is owl.", "spans": ["owl"]}
{"text": "The page loop is off by one.", "spans": []}
"#,
    )
    .unwrap();
    std::fs::write(
        &pairs,
        r#"{"same": true, "a": "Off by one.", "b": "Too far by one."}"#,
    )
    .unwrap();
    std::fs::write(
        &comments,
        r#"{"path": "a.rs", "text": "The token is checked twice."}"#,
    )
    .unwrap();
    let figures = "samples   3 (2 with a secret, 1 without, 0 said to be without whose text has one elsewhere)\n\
                   secrets   50.0 % gone (1 of 2), realistic ones 50.0 % gone (5 of 10)\n\
                   fitted    50.0 % gone (1 of 2), realistic ones 50.0 % gone (5 of 10)\n\
                   held out  n/a gone (0 of 0), realistic ones n/a gone (0 of 0)\n\
                   without   0.0 % changed (0 of 1)\n";
    let plain = eval(&["redact".as_ref(), samples.as_ref()]);
    assert_eq!(plain.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&plain.stdout), figures);
    let all = eval(&[
        "redact".as_ref(),
        samples.as_ref(),
        "--lines".as_ref(),
        "--ordinary".as_ref(),
        pairs.as_ref(),
        "--ordinary".as_ref(),
        comments.as_ref(),
    ]);
    assert_eq!(
        String::from_utf8_lossy(&all.stdout),
        format!(
            "{figures}missed lines      2\nmissed realistic  2\nchanged lines     none\n\
             ordinary  0.0 % changed (0 of 2 distinct texts)\n\
             ordinary  0.0 % changed (0 of 1 distinct texts)\n"
        )
    );
}

#[test]
fn a_file_that_holds_no_samples_gets_one_sentence_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.jsonl");
    std::fs::write(
        &file,
        "{\"text\": \"x\", \"spans\": []}\n{\"text\": \"x\"}\n",
    )
    .unwrap();
    let missing = folder.path().join("other.jsonl");
    for (arguments, wanted) in [
        (
            vec!["redact".as_ref(), file.as_os_str()],
            "line 2 is not a sample (missing field `spans`)",
        ),
        (
            vec!["redact".as_ref(), missing.as_os_str()],
            "cannot be read (No such file",
        ),
    ] {
        let output = eval(&arguments);
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
