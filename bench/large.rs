//! What a large pull request costs our own process: processor time, peak memory, requests to GitHub. The model answers at
//! once, and the quick sidecar of the tests stands in for OpenCode, so that nothing else is in the numbers.

use super::measure;
use super::standin::github::Change;
use super::standin::model::Script;
use super::standin::world::{KEY, World};
use anyhow::{Context as _, Result, ensure};
use reviewer_core::domain::{
    Anchor, Assessment, Category, CommitSha, Finding, PassNumber, PrKey, Score, Side, Support,
};
use reviewer_core::publish::comment::Voice;
use reviewer_core::state::signature::Keys;
use std::fmt::Write as _;
use std::io::{Read as _, Seek as _};
use std::time::Duration;

const FILES: [usize; 4] = [10, 100, 1_000, 3_000];
const LINES_IN_A_FILE: usize = 34;
const COMMENTS: [usize; 3] = [100, 1_000, 10_000];
const IN_A_THREAD: usize = 20;
const ON_A_PAGE: usize = 100;
/// What the largest should stay under. Printed, never enforced, as everything here.
const TARGET: &str = "at the top at most 256 MB, 20 requests more than there are pages, and a verdict other than incomplete";
const BOT: &str = "github-actions[bot]";

/// One size.
struct Row {
    what: String,
    pages: usize,
    cpu: Duration,
    peak_kib: u64,
    requests: usize,
    /// Sessions that reviewed a section of it; 1 where one reviewed all.
    sections: usize,
    /// Of the first prompt.
    prompt_bytes: usize,
    verdict: String,
}

/// Reviews pull requests of growing size. Returns the table.
pub fn run() -> Result<String> {
    let mut rows = Vec::new();
    for files in FILES {
        eprintln!("a pull request with {files} files");
        let world = World::with(&changes(files), Script::new().into_behaviour());
        let what = format!("{files} files, {} lines", files * LINES_IN_A_FILE);
        rows.push(measured(what, files, 0, &world)?);
    }
    for comments in COMMENTS {
        eprintln!("a pull request with {comments} comments");
        let world = World::with(&[], Script::new().into_behaviour());
        discuss(&world, comments)?;
        let what = format!("{comments} comments, {} threads", comments / IN_A_THREAD);
        rows.push(measured(what, 1, comments, &world)?);
    }
    Ok(table(&rows))
}

fn changes(files: usize) -> Vec<Change> {
    let file = |number: usize| {
        let line = |line: usize| {
            format!(
                "export const value{line} = load(\"{number}\", {line}); // entry {line} of module {number}\n"
            )
        };
        let text: String = (1..=LINES_IN_A_FILE).map(line).collect();
        Change::write(&format!("src/module{}/file{number}.ts", number % 50), text)
    };
    (1..=files).map(file).collect()
}

/// Signed findings of ours, each with a long discussion.
fn discuss(world: &World, comments: usize) -> Result<()> {
    let key = KEY.to_owned().into();
    let keys = Keys::derive(&[], Some(&key), "octo/shop");
    let pr = PrKey {
        repo: "octo/shop".parse()?,
        number: world.pull,
    };
    let head = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    let head: CommitSha = head.parse()?;
    let voice = Voice {
        rounds: false,
        pr: &pr,
        keys: &keys,
        head: &head,
        run: "4711.1",
        fork: false,
        mention: "@review-my-code-bot",
        blocking: Score::new(9),
        page: "https://github.com/octo/shop/pull/1",
    };
    for number in 0..comments / IN_A_THREAD {
        let body = voice.finding(&finding(number)?);
        let root = world
            .github
            .remark(world.pull, BOT, ("src/page.ts", 8), &body);
        for reply in 1..IN_A_THREAD {
            let who = ["dev", "writer"][reply % 2];
            let words = format!("Word {reply}: callers of `pages` add one page for the rest.");
            world.github.reply(root, who, &words);
        }
    }
    Ok(())
}

fn finding(number: usize) -> Result<Finding> {
    Ok(Finding {
        id: format!("{number:016x}").parse()?,
        file: "src/page.ts".into(),
        anchor: Anchor::Line {
            side: Side::Right,
            start: None,
            line: 8,
        },
        anchor_hash: "689c49197975c92d".into(),
        body: "`pages` now rounds down, so a list whose length is no multiple of `size` loses its last page.".into(),
        assessment: Assessment {
            finding: format!("pages() rounds down and drops the last page, case {number}."),
            assessment: "Every list that does not fill its last page is cut, silently.".into(),
            score: Score::new(7).context("a score")?,
        },
        category: Some(Category::Logic),
        pass: PassNumber::FIRST,
        reviewer: "reviewer-1".into(),
        support: Support::default(),
    })
}

fn measured(what: String, files: usize, comments: usize, world: &World) -> Result<Row> {
    let mut log = tempfile::tempfile()?;
    let mut command = world.command(&world.opened().quick(), &["action"]);
    command.stdout(log.try_clone()?).stderr(log.try_clone()?);
    let child = command.spawn().context("starting the reviewer")?;
    let (ended, peak_kib) = measure::wait_watching(child, measure::own_peak_kib)?;
    let report = std::fs::read(world.workspace().join("opencode-review.json"));
    let mut said = String::new();
    log.rewind()?;
    log.read_to_string(&mut said)?;
    ensure!(report.is_ok(), "there is no report of {what}:\n{said}");
    let report: serde_json::Value = serde_json::from_slice(&report?)?;
    let asked = world.github.requests();
    let requests = asked
        .iter()
        .filter(|(_, route, _)| !route.contains(".git/"));
    // Of each list that there is.
    let (reviews, threads) = world
        .github
        .with(|state| (state.reviews.len(), state.threads.len()));
    let pages = [files, comments, reviews, threads];
    let prompts = world.model.requests();
    Ok(Row {
        pages: pages.iter().map(|items| items.div_ceil(ON_A_PAGE)).sum(),
        cpu: ended.own_cpu,
        peak_kib,
        requests: requests.count(),
        sections: report["sections"].as_array().map_or(1, Vec::len),
        prompt_bytes: prompts.first().map_or(0, |first| first.to_string().len()),
        verdict: report["verdict"].as_str().unwrap_or_default().to_owned(),
        what,
    })
}

fn table(rows: &[Row]) -> String {
    let mut out = format!(
        "\nA large pull request: our own process\n\n{:<28}{:>16}{:>14}{:>8}{:>10}{:>10}{:>15}  {}\n",
        "size",
        "processor time",
        "peak memory",
        "pages",
        "requests",
        "sections",
        "first prompt",
        "verdict"
    );
    for row in rows {
        let _ = writeln!(
            out,
            "{:<28}{:>13} ms{:>11} MB{:>8}{:>10}{:>10}{:>12} kB  {}",
            row.what,
            row.cpu.as_millis(),
            row.peak_kib / 1_000,
            row.pages,
            row.requests,
            row.sections,
            row.prompt_bytes / 1_000,
            row.verdict
        );
    }
    let _ = writeln!(out, "\ntarget: {TARGET}");
    out
}
