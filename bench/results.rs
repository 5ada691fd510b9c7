//! The tools beside each other as a page of Markdown: what is claimed first, then every number.

use super::course::Size;
use super::measure::Measured;
use super::prefix;
use super::table::{TARGET, median};
use super::tools::{Case, ROUNDS};
use std::fmt::Write as _;

/// One row of the tables.
struct Row {
    name: &'static str,
    of: fn(&Measured) -> f64,
    show: fn(f64) -> String,
}

const ROWS: [Row; 9] = [
    Row {
        name: "wall time",
        of: |m| m.wall.as_secs_f64(),
        show: seconds,
    },
    Row {
        name: "processor time",
        of: |m| m.cpu.as_secs_f64(),
        show: seconds,
    },
    Row {
        name: "peak memory",
        of: |m| exact(m.peak_kib) * 1.024e-3,
        show: |megabytes| format!("{megabytes:.0} MB"),
    },
    GITHUB,
    Row {
        name: "model requests",
        of: |m| exact(m.requests.len()),
        show: count,
    },
    Row {
        name: "input tokens",
        of: |m| exact(prefix::all(&m.requests)) / BYTES_A_TOKEN,
        show: count,
    },
    UNCACHED,
    Row {
        name: "findings stated",
        of: |m| exact(m.findings),
        show: count,
    },
    NOTIFICATIONS,
];

const GITHUB: Row = Row {
    name: "GitHub requests",
    of: |m| exact(m.github_requests),
    show: count,
};
const UNCACHED: Row = Row {
    name: "input tokens, uncached",
    of: |m| exact(prefix::new(&m.requests)) / BYTES_A_TOKEN,
    show: count,
};
const NOTIFICATIONS: Row = Row {
    name: "notifications",
    of: |m| exact(m.notifications),
    show: count,
};

const BYTES_A_TOKEN: f64 = 4.0;

fn seconds(value: f64) -> String {
    format!("{value:.1} s")
}

/// With a comma for thousands.
fn count(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Counts here are far below 2^52.
fn exact<T: TryInto<u32>>(count: T) -> f64 {
    count.try_into().map_or(f64::NAN, f64::from)
}

impl Row {
    /// The median of all rounds; nothing where there was none.
    fn value(&self, runs: &[Measured]) -> Option<f64> {
        (!runs.is_empty()).then(|| median(runs.iter().map(self.of)))
    }

    fn shown(&self, runs: &[Measured]) -> String {
        self.value(runs).map_or_else(|| "–".into(), self.show)
    }
}

pub fn page(cases: &[Case], wall_ratio: f64) -> String {
    let mut out = String::from(
        "## What is claimed\n\nFigures are ours and PR-Agent's, small, medium and large, each opened and pushed to.\n\n\
         | | figures | holds |\n| --- | --- | --- |\n",
    );
    claim(
        &mut out,
        "at most one notification for a push, and no more than PR-Agent",
        &NOTIFICATIONS,
        cases.iter(),
        |ours, theirs| ours <= 1.0 && ours <= theirs,
    );
    claim(
        &mut out,
        "fewer GitHub requests than PR-Agent",
        &GITHUB,
        cases.iter(),
        |ours, theirs| ours < theirs,
    );
    let large = cases
        .iter()
        .filter(|case| case.pushed && case.size != Size::Small);
    claim(
        &mut out,
        "fewer uncached input tokens than PR-Agent on a second push, medium and large",
        &UNCACHED,
        large,
        |ours, theirs| ours < theirs,
    );
    let _ = writeln!(
        out,
        "| at most {TARGET} times the wall time of bare OpenCode, medium, median of pairs | {wall_ratio:.3} | {} |",
        said(wall_ratio <= TARGET)
    );
    for case in cases {
        table(&mut out, case);
    }
    out.push_str(&notes());
    out
}

fn said(holds: bool) -> &'static str {
    if holds { "yes" } else { "**no**" }
}

fn claim<'a>(
    out: &mut String,
    text: &str,
    row: &Row,
    cases: impl Iterator<Item = &'a Case>,
    holds: fn(f64, f64) -> bool,
) {
    let mut figures = Vec::new();
    let mut all = true;
    for case in cases {
        if let (Some(ours), Some(theirs)) = (row.value(&case.ours), row.value(&case.pr_agent)) {
            all &= holds(ours, theirs);
            figures.push(format!("{} to {}", (row.show)(ours), (row.show)(theirs)));
        }
    }
    let verdict = if figures.is_empty() {
        "not measured"
    } else {
        said(all)
    };
    let _ = writeln!(out, "| {text} | {} | {verdict} |", figures.join("; "));
}

fn table(out: &mut String, case: &Case) {
    let event = if case.pushed {
        "a second push"
    } else {
        "opened"
    };
    let _ = write!(
        out,
        "\n## {:?} pull request ({} files), {event}\n\n| | this action | bare OpenCode | PR-Agent | to PR-Agent |\n| --- | ---: | ---: | ---: | ---: |\n",
        case.size,
        case.size.files(),
    );
    for row in &ROWS {
        let ratio = row.value(&case.ours).zip(row.value(&case.pr_agent));
        let ratio = ratio.filter(|(_, theirs)| *theirs > 0.0);
        let ratio = ratio.map_or_else(
            || "–".into(),
            |(ours, theirs)| format!("{:.2}", ours / theirs),
        );
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {ratio} |",
            row.name,
            row.shown(&case.ours),
            row.shown(&case.bare),
            row.shown(&case.pr_agent),
        );
    }
}

fn notes() -> String {
    format!(
        "
## How to read it

- All tools talk to the same stand-ins for GitHub and the model, on this machine. The model answers at once and says the same
  to all; what it finds is planted in three files. So times are what a tool adds to the model's own, and depend on the machine,
  while counts do not. Times and memory are medians of {ROUNDS} runs.
- Bare OpenCode gets the files, the tools and the prompts of a whole review ready-made, and posts nothing. It remembers nothing,
  so that after a push it reviews everything again.
- PR-Agent runs as its own action does, with `/review` and `/improve`, on a push too; everything else is its default. It shows the
  model no more than 32,000 tokens of a change at once.
- Tokens are bytes of messages and tool descriptions, by four. Uncached are those that a request does not have in common with
  the one before, from the start on: providers charge a fraction for the others.
- A finding is stated wherever its sentence stands in a text that was posted or edited. For bare OpenCode: would be posted.
- Notifications are comments, replies and reviews that were posted, a review with all its comments being one. Edits make none.
- Memory is what the process and its children hold at the same time, looked at every 20 ms; a child that shares its parent's memory,
  because it has not begun its own program yet, is not counted. GitHub requests include git's.
"
    )
}
