//! The files that `init` writes into a repository, made of the examples: the workflow with another model and pin, the
//! settings with every line a comment. Pure.

mod steps;

pub use steps::steps;

use crate::config::inputs;
use crate::config::inputs::RawInputs;
use crate::config::shell;
use crate::fix::patch::LineDiff;
use std::fmt;

/// The kinds of workflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reviews each pull request of the repository's branches.
    Basic,
    /// Reviews when somebody asks.
    Mentions,
    /// Reviews, and its check gates the merge.
    Gate,
    /// The same for pull requests from forks.
    Forks,
    /// Fixes when somebody asks, verified by the repository's own steps.
    Fix,
}

impl Kind {
    /// The place of the workflow in a repository.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Fix => ".github/workflows/fix.yml",
            _ => ".github/workflows/review.yml",
        }
    }

    /// True if the check can be required: each pull request gets one.
    fn has_gate(self) -> bool {
        matches!(self, Self::Basic | Self::Gate | Self::Forks)
    }
}

/// The model and the provider's secret of the examples.
const MODEL: &str = "anthropic/claude-sonnet-4-5";
const SECRET: &str = "secrets.ANTHROPIC_API_KEY";
/// The places of a commit and of an image's digest in them, behind these signs.
const NO_COMMIT: &str = "@0000000000000000000000000000000000000000";
const NO_DIGEST: &str = "@sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// The model that a workflow uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub provider: String,
    pub name: String,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

impl Model {
    /// The model of `--provider` and `--model`, or a sentence about what is missing or does not fit.
    pub fn choose(provider: Option<&str>, model: Option<&str>) -> Result<Self, String> {
        let usual = Self::parse(MODEL)?;
        let chosen = match (provider, model) {
            (None, None) => usual,
            (Some(provider), None) if provider == usual.provider => usual,
            (Some(provider), None) => {
                return Err(format!(
                    "--provider {provider} needs a model; add --model {provider}/NAME. `opencode models {provider}` lists the \
                     names."
                ));
            }
            (Some(provider), Some(model)) if !model.contains('/') => {
                Self::parse(&format!("{provider}/{model}"))?
            }
            (_, Some(model)) => Self::parse(model)?,
        };
        match provider {
            Some(provider) if provider != chosen.provider => Err(format!(
                "--provider {provider} and --model {chosen} name two providers; leave one of the flags out."
            )),
            _ => Ok(chosen),
        }
    }

    /// As the input `model` is read, with its sentence where it cannot be.
    fn parse(text: &str) -> Result<Self, String> {
        let mut raw = RawInputs::default();
        raw.set("model", text);
        let reviewers = inputs::reviewer_choices(&raw).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            errors.join(" ")
        })?;
        let model = reviewers.into_iter().next().map(|one| one.model);
        let model = model.ok_or_else(|| format!("\"{text}\" names no model."))?;
        Ok(Self {
            provider: model.provider,
            name: model.name,
        })
    }

    /// The name of the secret that holds the provider's key.
    #[must_use]
    pub fn secret(&self) -> String {
        if let Some(known) = shell::known_key_variable(&self.provider) {
            return known.to_owned();
        }
        let upper = self.provider.chars().map(|c| match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
            _ => '_',
        });
        // GitHub takes no name that begins with a digit.
        format!(
            "{}_API_KEY",
            upper
                .collect::<String>()
                .trim_start_matches(|c: char| c.is_ascii_digit())
        )
    }
}

/// The release that a workflow is bound to: the commit of the action, or the digest of its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin(String);

impl Pin {
    /// A commit or a digest, as this kind of workflow needs it.
    pub fn parse(text: &str, kind: Kind) -> Result<Self, String> {
        let (digits, expected) = match kind {
            Kind::Fix => (
                text.strip_prefix("sha256:")
                    .filter(|digits| digits.len() == 64),
                "the digest of the release's image: sha256: and 64 hexadecimal digits",
            ),
            _ => (
                Some(text).filter(|digits| digits.len() == 40),
                "the commit of a release: 40 hexadecimal digits",
            ),
        };
        let is_hex = |digits: &str| {
            let mut bytes = digits.bytes();
            bytes.all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        if digits.is_some_and(is_hex) {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.escape_debug().take(80).collect();
        Err(format!("--pin is \"{shown}\"; expected {expected}."))
    }
}

/// A workflow that is ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    pub kind: Kind,
    pub text: String,
    /// True if it names a release.
    pub pinned: bool,
}

impl Workflow {
    /// From an example, with this model and pin.
    #[must_use]
    pub fn new(kind: Kind, example: &str, model: &Model, pin: Option<&Pin>) -> Self {
        let secret = format!("secrets.{}", model.secret());
        let text = example.replace(MODEL, &model.to_string());
        let text = text.replace(SECRET, &secret);
        let text = match pin {
            Some(pin) => pinned(&text, pin),
            None => text,
        };
        Self {
            kind,
            text,
            pinned: pin.is_some(),
        }
    }

    /// The names of the secrets that it reads, in their order.
    #[must_use]
    pub fn secrets(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for rest in self.text.split("${{ secrets.").skip(1) {
            let name = rest.split(' ').next().unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// The text with the pin in place of the zeros. The version behind them is another release's, so it goes.
fn pinned(text: &str, Pin(pin): &Pin) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let zeros = [NO_DIGEST, NO_COMMIT];
        match zeros.iter().find(|zeros| line.contains(**zeros)) {
            Some(zeros) => {
                let (before, _) = line.split_once(zeros).unwrap_or((line, ""));
                format!("{before}@{pin}\n")
            }
            None => line.to_owned(),
        }
    });
    lines.collect()
}

/// The settings of the example, every one a comment: each counts once its sign is taken away.
#[must_use]
pub fn settings(example: &str) -> String {
    let mut out = String::with_capacity(example.len() + 256);
    let mut told = false;
    for line in example.lines() {
        let is_comment = line.trim_start().starts_with('#');
        if line.is_empty() && !told {
            out.push_str(
                "# A setting counts once the # before it is gone; the values are examples.\n",
            );
            told = true;
        }
        match line {
            "" => {}
            line if is_comment => out.push_str(line),
            line => {
                out.push('#');
                out.push_str(line);
            }
        }
        out.push('\n');
    }
    out
}

/// The difference between a file that is there and what would be written, as a unified diff.
#[must_use]
pub fn diff(path: &str, there: &str, made: &str) -> String {
    let hunks = LineDiff::new(there.as_bytes(), made.as_bytes()).hunks();
    format!(
        "--- {path} (there)\n+++ {path} (init)\n{}",
        String::from_utf8_lossy(&hunks)
    )
}

#[cfg(test)]
#[path = "init/tests.rs"]
mod tests;
