//! The results of the commands that verify a fix, and the judgement about them. An exit code is a hint for people and for the
//! model; it never closes a finding.

#[cfg(test)]
mod tests;

use std::fmt;

/// The end of a command that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Exit(i32),
    /// By its name where it has one, for example `SIGSEGV`.
    Signal(String),
    /// It was ended when its time was over; the minutes that all commands have together.
    TimedOut(u64),
    /// It was ended, because it took too much; what it took.
    TookTooMuch(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "failed with exit code {code}"),
            Self::Signal(name) => write!(f, "was ended by {name}"),
            Self::TimedOut(minutes) => {
                write!(
                    f,
                    "did not end within the {minutes} min that all commands have"
                )
            }
            Self::TookTooMuch(what) => write!(f, "was ended, because {what}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandOutcome {
    Passed,
    Failed(Ending),
    /// Nothing was run; why.
    NotRun(String),
}

/// A command, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    pub command: Vec<String>,
    pub outcome: CommandOutcome,
    /// The last part of its output: text of others, without secrets and hidden characters.
    pub output: String,
}

impl CommandResult {
    /// The command in one line, for people. Never for a shell.
    #[must_use]
    pub fn line(&self) -> String {
        self.command.join(" ")
    }

    #[must_use]
    pub fn sentence(&self) -> String {
        let line = self.line();
        match &self.outcome {
            CommandOutcome::Passed => format!("`{line}` passed."),
            CommandOutcome::Failed(ending) => format!("`{line}` {ending}."),
            CommandOutcome::NotRun(why) => format!("`{line}` was not run: {why}."),
        }
    }
}

/// All commands on one tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandRun {
    pub results: Vec<CommandResult>,
    /// Parts that the sandbox lacked, a clause each.
    pub gaps: Vec<String>,
    /// The reason why the commands could use no socket, not even to themselves; `None` where they had a network of their own.
    pub no_loopback: Option<String>,
    /// Links, submodules and the like that the files did not have.
    pub left_out: Vec<String>,
}

/// A command on the fix, in the light of the same command on the unchanged head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Passed,
    /// It does not count against the fix.
    FailedBefore(Ending),
    /// The fix has to be corrected.
    Broken(Ending),
    NotRun(String),
}

/// The proof of a fix by its own tests, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witness {
    /// The command that failed with the tests alone, and passed with the whole fix.
    ProvedBy(String),
    NotProved(String),
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProvedBy(command) => write!(f, "proved by `{command}`"),
            Self::NotProved(why) => write!(f, "not proved: {why}"),
        }
    }
}

/// The same commands, in the same order, on the head and on the head with the fix.
#[must_use]
pub fn standings(baseline: &CommandRun, fixed: &CommandRun) -> Vec<Standing> {
    let before = |command: &[String]| {
        let mut results = baseline.results.iter();
        let found = results.find(|result| result.command == command);
        found.is_some_and(|result| matches!(result.outcome, CommandOutcome::Failed(_)))
    };
    let results = fixed.results.iter();
    results
        .map(|result| match &result.outcome {
            CommandOutcome::Passed => Standing::Passed,
            CommandOutcome::NotRun(why) => Standing::NotRun(why.clone()),
            CommandOutcome::Failed(ending) if before(&result.command) => {
                Standing::FailedBefore(ending.clone())
            }
            CommandOutcome::Failed(ending) => Standing::Broken(ending.clone()),
        })
        .collect()
}

/// Judges what the tests of a fix show: a command has to pass on the head and on the fix, and fail on the head with the tests
/// alone. `without_fix` is that run; `None` where the fix adds no test.
#[must_use]
pub fn witness(
    baseline: &CommandRun,
    fixed: &CommandRun,
    without_fix: Option<&CommandRun>,
) -> Witness {
    let not_proved = |why: &str| Witness::NotProved(why.to_owned());
    let Some(without_fix) = without_fix else {
        return not_proved("the fix adds no test");
    };
    let passed = |run: &CommandRun, command: &[String]| {
        let mut results = run.results.iter();
        results.any(|one| one.command == command && one.outcome == CommandOutcome::Passed)
    };
    let usable: Vec<&CommandResult> = without_fix
        .results
        .iter()
        .filter(|one| passed(baseline, &one.command) && passed(fixed, &one.command))
        .collect();
    if usable.is_empty() {
        return not_proved("no command passes both on the head and on the fix");
    }
    let failed = |one: &&&CommandResult| {
        matches!(
            one.outcome,
            CommandOutcome::Failed(Ending::Exit(_) | Ending::Signal(_))
        )
    };
    match usable.iter().find(failed) {
        Some(command) => Witness::ProvedBy(command.line()),
        None => not_proved("the added tests also pass without the rest of the fix"),
    }
}

/// Everything that verifying a fix has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The id of the tree that was verified. Only this tree may be published as verified.
    pub tree: String,
    pub baseline: CommandRun,
    pub fixed: CommandRun,
    /// In the order of `fixed.results`.
    pub standings: Vec<Standing>,
    pub witness: Witness,
}

impl Verification {
    #[must_use]
    pub fn new(
        tree: String,
        baseline: CommandRun,
        fixed: CommandRun,
        without_fix: Option<&CommandRun>,
    ) -> Self {
        Self {
            tree,
            standings: standings(&baseline, &fixed),
            witness: witness(&baseline, &fixed, without_fix),
            baseline,
            fixed,
        }
    }

    /// The commands that the fix breaks: what the model is told.
    pub fn broken(&self) -> impl Iterator<Item = &CommandResult> {
        let both = self.fixed.results.iter().zip(&self.standings);
        both.filter(|(_, standing)| matches!(standing, Standing::Broken(_)))
            .map(|(result, _)| result)
    }

    /// True if at least one command passed, and none is broken by the fix or was not run.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        let fits = |one: &Standing| matches!(one, Standing::Passed | Standing::FailedBefore(_));
        self.standings.contains(&Standing::Passed) && self.standings.iter().all(fits)
    }
}

/// True if a path is one of a test, by the names that test runners go by.
#[must_use]
pub fn is_test_path(path: &str) -> bool {
    const FOLDERS: [&str; 7] = [
        "test",
        "tests",
        "__tests__",
        "spec",
        "specs",
        "testing",
        "e2e",
    ];
    let lower = path.to_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let stem = name.split('.').next().unwrap_or_default();
    let marked = |mark: &str| {
        [".", "_", "-"].iter().any(|sign| {
            name.contains(&format!("{sign}{mark}.")) || name.starts_with(&format!("{mark}{sign}"))
        })
    };
    // `FooTest.java` is a test, `latest.json` is none.
    let file = path.rsplit('/').next().unwrap_or_default();
    let cased = file.split('.').next().unwrap_or_default();
    let camel = ["Test", "Tests", "Spec"]
        .iter()
        .any(|end| cased.ends_with(end));
    folders.split('/').any(|folder| FOLDERS.contains(&folder))
        || FOLDERS.contains(&stem)
        || marked("test")
        || marked("tests")
        || marked("spec")
        || camel
}
