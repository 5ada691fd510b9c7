//! The pull request on a terminal: the log while it comes, then the review, the check and the summary as a person
//! would see them. Separate, because it only shows what the stand-in for GitHub holds.

use super::standin::github::state::{PullRequest, ReviewComment, State};
use super::standin::world::{Ran, World};
use regex::Regex;
use reviewer_text::count::{grouped, plural};
use std::io::IsTerminal as _;
use std::time::Duration;

/// Lines shown above and below the ones that a comment is about.
const AROUND: u64 = 2;

/// Colour only for a person at a terminal who did not refuse it.
pub struct Page {
    colour: bool,
}

pub const BOLD: &str = "1";
pub const DIM: &str = "2";
const RED: &str = "31";
pub const GREEN: &str = "32";
pub const CYAN: &str = "36";

impl Page {
    pub fn for_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            colour: !refused && std::io::stdout().is_terminal(),
        }
    }

    pub fn opening(&self, world: &World, model: &str) {
        self.title(world);
        println!("The action runs, with the model {model}.\n");
    }

    /// The pull request, and who wants to merge what.
    pub fn title(&self, world: &World) {
        let (pull, repository) = world.github.with(|state| {
            (
                state.pulls[&world.pull].clone(),
                state.repository.full_name.clone(),
            )
        });
        let title = format!("{repository}#{}: {}", pull.number, pull.title);
        println!("{}", self.paint(BOLD, &title));
        println!(
            "{} wants to merge {} into {}.",
            pull.author, pull.head.branch, pull.base.branch
        );
    }

    /// A line of the action's log, with the runner's commands shown as the runner shows them.
    pub fn log(&self, line: &str) {
        if let Some(title) = line.strip_prefix("::group::") {
            println!("  {}", self.paint(CYAN, &format!("▾ {title}")));
        } else if let Some((level, message)) = annotation(line) {
            println!("  {} {message}", self.paint(RED, &format!("{level}:")));
        } else if !line.starts_with("::") {
            println!("    {}", self.paint(DIM, line));
        }
    }

    pub fn review(&self, world: &World) {
        let (pull, reviews, mut comments) = world.github.with(|state| {
            (
                state.pulls[&world.pull].clone(),
                state.reviews.clone(),
                state.comments.clone(),
            )
        });
        self.heading("The review, as it stands on the pull request");
        for review in &reviews {
            println!(
                "{} reviewed: {}\n",
                self.paint(BOLD, &review.user),
                visible(&review.body)
            );
        }
        if comments.is_empty() {
            println!("No comments.\n");
        }
        comments.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        for comment in &comments {
            println!("{}", self.paint(BOLD, &place(comment)));
            for line in world.github.with(|state| code(state, &pull, comment)) {
                self.code_line(&line);
            }
            println!("\n{}\n", indented(&visible(&comment.body)));
        }
    }

    fn code_line(&self, line: &CodeLine) {
        let colour = match line.mark {
            '-' => RED,
            '+' => GREEN,
            _ => DIM,
        };
        let text = format!("{:>6} {} {}", line.number, line.mark, line.text);
        println!("{}", self.paint(colour, &text));
    }

    /// The commits of the pull request, the newest first.
    pub fn commits(&self, world: &World) {
        self.heading("The commits");
        let (base, head) = world.github.with(|state| {
            let pull = &state.pulls[&world.pull];
            (pull.base.sha.clone(), pull.head.sha.clone())
        });
        let log = world.github.with(|state| {
            let range = format!("{base}..{head}");
            state
                .git
                .ask(&["log", "--stat", "--format=%h %an%n%n%B", &range])
        });
        println!("{}\n", indented(log.unwrap_or_default().trim_end()));
    }

    /// The comments below the description.
    pub fn conversation(&self, world: &World) {
        self.heading("The conversation");
        let (comments, labels) = world.github.with(|state| {
            let labels = state.pulls[&world.pull].labels.clone();
            (state.issue_comments.clone(), labels)
        });
        for comment in &comments {
            let body = visible(&comment.body);
            println!(
                "{}\n\n{}\n",
                self.paint(BOLD, &comment.user),
                indented(body.trim())
            );
        }
        if !labels.is_empty() {
            println!("Labels: {}\n", labels.join(", "));
        }
    }

    pub fn check(&self, world: &World) {
        self.heading("The check");
        let runs = world.github.with(|state| state.check_runs.clone());
        for run in runs {
            let conclusion = run.conclusion.unwrap_or(run.status);
            let colour = if conclusion == "success" { GREEN } else { RED };
            println!(
                "{}: {}. {}.\n",
                self.paint(BOLD, &run.name),
                self.paint(colour, &conclusion),
                run.title.unwrap_or_default()
            );
        }
    }

    pub fn summary(&self, markdown: &str) {
        self.heading("The step summary");
        println!("{}\n", indented(markdown.trim_end()));
    }

    /// How the model's one mistake ended.
    pub fn correction(&self, refusal: &str) {
        self.heading("A mistake on the way");
        println!(
            "The model gave one line wrong on purpose, was refused, and corrected itself from the refusal:\n"
        );
        println!("{}\n", self.paint(DIM, &indented(refusal.trim())));
    }

    pub fn closing(&self, world: &World, ran: &Ran, took: Duration, scripted: bool) {
        let mut parts = Vec::new();
        if scripted {
            parts.push(plural(world.model.requests().len(), "model request"));
        }
        if let Some(tokens) = ran.outputs.get("tokens").and_then(|text| text.parse().ok()) {
            parts.push(format!("{} tokens", grouped(tokens)));
        }
        let reviews = world.github.with(|state| state.reviews.len());
        parts.push(plural(world.github.requests().len(), "GitHub request"));
        parts.push(plural(reviews, "review"));
        parts.push(format!("{:.1} s", took.as_secs_f64()));
        parts.push(format!("verdict {}", ran.status()));
        println!("{}", self.paint(BOLD, &parts.join(" · ")));
    }

    pub fn heading(&self, text: &str) {
        let rule = "─".repeat(text.chars().count());
        println!("\n{}\n{}\n", self.paint(BOLD, text), self.paint(DIM, &rule));
    }

    pub fn paint(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// `::warning title=…::message`.
fn annotation(line: &str) -> Option<(&str, &str)> {
    let (command, message) = line.strip_prefix("::")?.split_once("::")?;
    let level = command.split(' ').next()?;
    ["error", "warning", "notice"]
        .contains(&level)
        .then_some((level, message))
}

/// What a browser shows: HTML comments are for machines.
pub fn visible(markdown: &str) -> String {
    match Regex::new(r"(?s)<!--.*?-->") {
        Ok(comment) => comment.replace_all(markdown, "").trim_end().to_owned(),
        Err(_) => markdown.to_owned(),
    }
}

fn indented(text: &str) -> String {
    let indent = |line: &str| {
        if line.is_empty() {
            String::new()
        } else {
            format!("    {line}")
        }
    };
    text.lines().map(indent).collect::<Vec<_>>().join("\n")
}

fn place(comment: &ReviewComment) -> String {
    let (lines, noun) = match (comment.start_line, comment.line) {
        (Some(first), Some(last)) if first != last => (format!("{first}-{last}"), "lines"),
        (_, Some(line)) => (line.to_string(), "line"),
        (_, None) => return comment.path.clone(),
    };
    match comment.side.as_str() {
        "LEFT" => format!("{}, removed {noun} {lines}", comment.path),
        _ => format!("{}:{lines}", comment.path),
    }
}

struct CodeLine {
    number: u64,
    /// `+` or `-` where the comment is.
    mark: char,
    text: String,
}

/// The lines around a comment, from the side of the change that it is about.
fn code(state: &State, pull: &PullRequest, comment: &ReviewComment) -> Vec<CodeLine> {
    let Some(last) = comment.line else {
        return Vec::new();
    };
    let first = comment.start_line.unwrap_or(last);
    let base = state.git.merge_base(&pull.base.sha, &pull.head.sha);
    let (commit, sign) = match comment.side.as_str() {
        "LEFT" => (base.unwrap_or_default(), '-'),
        _ => (pull.head.sha.clone(), '+'),
    };
    let file = state
        .git
        .ask(&["show", &format!("{commit}:{}", comment.path)]);
    let shown = first.saturating_sub(AROUND)..=last + AROUND;
    (1..)
        .zip(file.unwrap_or_default().lines())
        .filter(|(number, _)| shown.contains(number))
        .map(|(number, text)| CodeLine {
            number,
            mark: if (first..=last).contains(&number) {
                sign
            } else {
                ' '
            },
            text: text.to_owned(),
        })
        .collect()
}
