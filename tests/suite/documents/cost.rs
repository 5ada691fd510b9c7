//! What a review costs, computed from the tokens of the benchmark. Separate, because `make bench` writes the tokens anew, and
//! the README must not keep the dollars of an older measurement.

use super::{rows, text};
use std::fmt::Write;

/// US dollars for a million tokens. The README names them.
const UNCACHED: f64 = 3.0;
const CACHED: f64 = 0.3;
const OUTPUT: f64 = 15.0;
/// The benchmark does not measure output, because its model is scripted. The README says so.
const ASSUMED_OUTPUT: f64 = 5_000.0;

/// The input tokens of one tool on one pull request.
struct Input {
    total: u64,
    uncached: u64,
}

impl Input {
    /// The two rows of a section in one column.
    fn read(table: &[Vec<&str>], column: usize) -> Option<Self> {
        let cell = |name: &str| {
            let row = table.iter().find(|row| row[0] == name)?;
            row.get(column)?.replace(',', "").parse().ok()
        };
        Some(Self {
            total: cell("input tokens")?,
            uncached: cell("input tokens, uncached")?,
        })
    }

    fn cached(&self) -> u64 {
        self.total - self.uncached
    }

    fn dollars(&self) -> f64 {
        priced(self.uncached, UNCACHED) + priced(self.cached(), CACHED)
    }
}

fn priced(tokens: u64, price: f64) -> f64 {
    let tokens = u32::try_from(tokens).expect("fewer tokens than that");
    f64::from(tokens) * price / 1e6
}

/// The README's table: a row for each measured pull request.
pub(super) fn table() -> String {
    let results = text("bench/RESULTS.md");
    let mut table = String::from(
        "| pull request | uncached input | cached input | input | with output | PR-Agent's input |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let sections = results.split("\n## ").skip(1);
    let measured = sections.filter(|section| section.contains("\n| input tokens |"));
    for section in measured {
        let name = section.lines().next().expect("a heading");
        let cells = rows(section);
        let ours = Input::read(&cells, 1).unwrap_or_else(|| panic!("no tokens in {name:?}"));
        // It is left out where no Python could run it.
        let theirs = section.contains("PR-Agent").then(|| Input::read(&cells, 3));
        let theirs = match theirs.flatten() {
            Some(theirs) => format!("${:.2}", theirs.dollars()),
            None => "not measured".into(),
        };
        let input = ours.dollars();
        let whole = input + ASSUMED_OUTPUT * OUTPUT / 1e6;
        writeln!(
            table,
            "| {name} | {} | {} | ${input:.2} | **${whole:.2}** | {theirs} |",
            grouped(ours.uncached),
            grouped(ours.cached()),
        )
        .expect("text");
    }
    table
}

/// A number with commas.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
    let groups = rest.as_bytes().chunks(3);
    let groups = groups.map(|group| format!(",{}", String::from_utf8_lossy(group)));
    format!("{first}{}", groups.collect::<String>())
}

#[test]
fn the_readme_names_the_prices_that_it_computes_with() {
    let readme = text("README.md");
    let words = readme.replace('\n', " ");
    for price in [UNCACHED, CACHED, OUTPUT] {
        assert!(words.contains(&format!("${price:.2}")), "{price}");
    }
    let assumed = format!("assumes {ASSUMED_OUTPUT:.0} tokens").replace("5000", "5,000");
    assert!(words.contains(&assumed), "{assumed}");
    assert_eq!(
        table().lines().count(),
        8,
        "three sizes, opened and pushed to"
    );
}
