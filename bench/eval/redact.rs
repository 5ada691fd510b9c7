//! How well secrets are taken out, measured on samples with and without one. Separate from repetition, because it
//! measures another rule on another kind of file.

mod realistic;

use super::{percent, share, wire, without_place};
use realistic::realistic;
use reviewer_text::redact::Redactor;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt;

/// Why a file of samples cannot be measured on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSamples {
    #[error(
        "line {line} is not a sample ({reason}); each line must be a JSON object with the \"text\" and its \"spans\", the \
         list of secrets in it"
    )]
    Line { line: usize, reason: String },
    #[error(
        "there are no samples in it; give one JSON object a line with the \"text\" and its \"spans\""
    )]
    Empty,
}

/// Why a file of ordinary texts cannot be measured on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTexts {
    #[error(
        "line {line} holds no text ({reason}); each line must be a JSON object with a \"text\", or with the texts \"a\" \
         and \"b\""
    )]
    Line { line: usize, reason: String },
    #[error(
        "there are no texts in it; give one JSON object a line with a \"text\", or with the texts \"a\" and \"b\""
    )]
    Empty,
}

/// Realistic secrets drawn for each listed one.
const DRAWS: u8 = 5;

/// How many secrets were listed, and how many of them are gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gone {
    pub secrets: u32,
    pub gone: u32,
}

/// The counts of the secrets of some samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Secrets {
    /// The secrets as listed.
    pub given: Gone,
    /// Realistic ones in their place.
    pub realistic: Gone,
}

/// The counts of one file of samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redaction {
    /// Samples that list a secret.
    pub with: u32,
    /// Samples that list none, of texts for which no other sample does.
    pub without: u32,
    /// Samples that list none, of a text for which another sample does: they do not count as texts without a secret.
    pub contradicted: u32,
    /// The secrets that redaction may be fitted to.
    pub fitted: Secrets,
    /// The secrets of the rules that are held out.
    pub held_out: Secrets,
    pub changed: u32,
    /// The lines of listed secrets that stayed.
    pub missed_lines: Vec<usize>,
    /// The lines of which a realistic secret stayed.
    pub missed_realistic_lines: BTreeSet<usize>,
    /// The lines of samples without a secret that changed.
    pub changed_lines: Vec<usize>,
}

/// The counts of ordinary texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ordinary {
    pub texts: u32,
    pub changed: u32,
}

/// Measures on a file with a sample a line; empty lines are passed over.
pub fn redaction(file: &str) -> Result<Redaction, BadSamples> {
    let samples: Vec<(usize, wire::Sample)> =
        parsed(file).map_err(|(line, reason)| BadSamples::Line { line, reason })?;
    if samples.is_empty() {
        return Err(BadSamples::Empty);
    }
    let secretive: BTreeSet<&str> = samples
        .iter()
        .filter(|(_, sample)| !sample.spans.is_empty())
        .map(|(_, sample)| sample.text.as_str())
        .collect();
    let redactor = Redactor::new([]);
    let mut counts = Redaction::default();
    for (line, sample) in &samples {
        if !sample.spans.is_empty() {
            counts.add_secrets(&redactor, *line, sample);
        } else if secretive.contains(sample.text.as_str()) {
            counts.contradicted += 1;
        } else {
            let changed = redactor.clean(&sample.text) != sample.text;
            counts.without += 1;
            counts.changed += u32::from(changed);
            counts.changed_lines.extend(changed.then_some(*line));
        }
    }
    Ok(counts)
}

/// Measures on the distinct texts of a file of comments or of pairs, which hold no secrets.
pub fn ordinary(file: &str) -> Result<Ordinary, BadTexts> {
    let lines: Vec<(usize, wire::Texts)> =
        parsed(file).map_err(|(line, reason)| BadTexts::Line { line, reason })?;
    let texts: BTreeSet<String> = lines
        .into_iter()
        .flat_map(|(_, line)| [line.text, line.a, line.b])
        .flatten()
        .collect();
    if texts.is_empty() {
        return Err(BadTexts::Empty);
    }
    let redactor = Redactor::new([]);
    let mut counts = Ordinary::default();
    for text in texts {
        counts.texts += 1;
        counts.changed += u32::from(redactor.clean(&text) != text);
    }
    Ok(counts)
}

/// The lines with their numbers, or the number of a wrong line and what is wrong with it.
fn parsed<T: DeserializeOwned>(file: &str) -> Result<Vec<(usize, T)>, (usize, String)> {
    let lines = file.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            let parsed = serde_json::from_str(line);
            let value = parsed.map_err(|error| (index + 1, without_place(&error)))?;
            Ok((index + 1, value))
        })
        .collect()
}

/// Whether the samples of a rule are held out: the first byte of the SHA-256 of its name is a multiple of five.
fn held_out(rule: &str) -> bool {
    Sha256::digest(rule)[0].is_multiple_of(5)
}

impl Redaction {
    fn add_secrets(&mut self, redactor: &Redactor, line: usize, sample: &wire::Sample) {
        let part = if held_out(&sample.rule) {
            &mut self.held_out
        } else {
            &mut self.fitted
        };
        self.with += 1;
        let cleaned = redactor.clean(&sample.text);
        for secret in &sample.spans {
            let gone = !cleaned.contains(secret);
            part.given.add(gone);
            self.missed_lines.extend((!gone).then_some(line));
            let draws = (0..DRAWS).map(|number| realistic(secret, number));
            for drawn in draws.filter(|drawn| drawn != secret) {
                let text = sample.text.replace(secret, &drawn);
                let gone = !redactor.clean(&text).contains(&drawn);
                part.realistic.add(gone);
                self.missed_realistic_lines.extend((!gone).then_some(line));
            }
        }
    }

    /// All secrets, held out or not.
    #[must_use]
    pub fn secrets(&self) -> Secrets {
        Secrets {
            given: self.fitted.given.and(self.held_out.given),
            realistic: self.fitted.realistic.and(self.held_out.realistic),
        }
    }

    /// The share of the samples without a secret that changed; `None` where there are none.
    #[must_use]
    pub fn changed_rate(&self) -> Option<f64> {
        share(self.changed, self.without)
    }

    /// The lines to look at, in words.
    #[must_use]
    pub fn lines(&self) -> String {
        let list = |lines: &mut dyn Iterator<Item = &usize>| {
            let names: Vec<String> = lines.map(usize::to_string).collect();
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        };
        format!(
            "missed lines      {}\nmissed realistic  {}\nchanged lines     {}\n",
            list(&mut self.missed_lines.iter()),
            list(&mut self.missed_realistic_lines.iter()),
            list(&mut self.changed_lines.iter())
        )
    }
}

impl Gone {
    fn add(&mut self, gone: bool) {
        self.secrets += 1;
        self.gone += u32::from(gone);
    }

    fn and(self, other: Self) -> Self {
        Self {
            secrets: self.secrets + other.secrets,
            gone: self.gone + other.gone,
        }
    }

    /// The share that is gone; `None` where there are no secrets.
    #[must_use]
    pub fn recall(self) -> Option<f64> {
        share(self.gone, self.secrets)
    }
}

impl Ordinary {
    /// The share of the texts that changed; `None` where there are none.
    #[must_use]
    pub fn changed_rate(self) -> Option<f64> {
        share(self.changed, self.texts)
    }
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recall = percent(self.recall());
        write!(f, "{recall} gone ({} of {})", self.gone, self.secrets)
    }
}

impl fmt::Display for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "samples   {} ({} with a secret, {} without, {} said to be without whose text has one elsewhere)",
            self.with + self.without + self.contradicted,
            self.with,
            self.without,
            self.contradicted,
        )?;
        for (name, secrets) in [
            ("secrets", self.secrets()),
            ("fitted", self.fitted),
            ("held out", self.held_out),
        ] {
            let Secrets { given, realistic } = secrets;
            writeln!(f, "{name:<8}  {given}, realistic ones {realistic}")?;
        }
        writeln!(
            f,
            "without   {} changed ({} of {})",
            percent(self.changed_rate()),
            self.changed,
            self.without
        )
    }
}

impl fmt::Display for Ordinary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "ordinary  {} changed ({} of {} distinct texts)",
            percent(self.changed_rate()),
            self.changed,
            self.texts
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, spans: &[&str]) -> String {
        serde_json::json!({"text": text, "spans": spans, "rule": "ignored"}).to_string()
    }

    #[test]
    fn a_file_of_samples_gives_recall_and_what_changed_needlessly() {
        let key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let file = [
            line(key, &[key]),
            line("the code is nine", &["nine"]),
            String::new(),
            line(key, &[]),
            line("plain", &[]),
            line("token = 'q7Zt0Xw3Lr9Vb5Ns1Kd8'", &[]),
        ]
        .join("\r\n");
        let counts = redaction(&file).unwrap();
        assert_eq!(
            format!("{counts}{}", counts.lines()),
            "samples   5 (2 with a secret, 2 without, 1 said to be without whose text has one elsewhere)\n\
             secrets   50.0 % gone (1 of 2), realistic ones 50.0 % gone (5 of 10)\n\
             fitted    50.0 % gone (1 of 2), realistic ones 50.0 % gone (5 of 10)\n\
             held out  n/a gone (0 of 0), realistic ones n/a gone (0 of 0)\n\
             without   50.0 % changed (1 of 2)\n\
             missed lines      2\n\
             missed realistic  2\n\
             changed lines     6\n"
        );
    }

    #[test]
    fn a_rule_is_held_out_by_its_name_alone() {
        let names = [
            "acme.1",
            "acme.2",
            "globex.1",
            "hooli.1",
            "initech.1",
            "umbrella.1",
        ];
        let out: Vec<&str> = names.into_iter().filter(|name| held_out(name)).collect();
        assert_eq!(out, ["acme.2"]);
        let sample = |rule: &str| {
            serde_json::json!({"text": "the code is nine", "spans": ["nine"], "rule": rule})
                .to_string()
        };
        let counts = redaction(&names.map(sample).join("\n")).unwrap();
        let secrets = [counts.fitted, counts.held_out].map(|part| part.given.secrets);
        assert_eq!(secrets, [5, 1]);
        assert_eq!(counts.secrets().realistic.secrets, 30);
    }

    #[test]
    fn a_secret_without_anything_random_has_no_realistic_form() {
        let counts = redaction(&line("see a-bucket/*", &["a-bucket/*"])).unwrap();
        let Secrets { given, realistic } = counts.secrets();
        assert_eq!((given.secrets, realistic.secrets), (1, 0));
    }

    #[test]
    fn ordinary_texts_are_counted_once_each() {
        let pair = |a: &str, b: &str| serde_json::json!({"same": true, "a": a, "b": b}).to_string();
        let file = [
            pair("a", "b"),
            pair("a", "password = 'q7Zt0Xw3'"),
            pair("c", "a"),
            serde_json::json!({"text": "d", "path": "src/a.rs"}).to_string(),
        ]
        .join("\n");
        let counts = ordinary(&file).unwrap();
        assert_eq!(
            counts.to_string(),
            "ordinary  20.0 % changed (1 of 5 distinct texts)\n"
        );
    }

    #[test]
    fn a_file_that_holds_no_samples_gets_one_sentence() {
        assert_eq!(
            redaction("{\"text\": \"x\", \"spans\": []}\n{\"text\": 1}")
                .unwrap_err()
                .to_string(),
            "line 2 is not a sample (invalid type: integer `1`, expected a string); each line must be a JSON object with \
             the \"text\" and its \"spans\", the list of secrets in it"
        );
        assert_eq!(redaction("\n \n"), Err(BadSamples::Empty));
        assert_eq!(ordinary("{}"), Err(BadTexts::Empty));
        assert_eq!(
            ordinary("{\"text\": 1}").unwrap_err().to_string(),
            "line 1 holds no text (invalid type: integer `1`, expected a string); each line must be a JSON object with a \
             \"text\", or with the texts \"a\" and \"b\""
        );
        let nothing = redaction(&line("x", &[])).unwrap();
        assert_eq!(
            (nothing.secrets().given.recall(), nothing.changed_rate()),
            (None, Some(0.0))
        );
        assert!(nothing.lines().contains("none"));
    }
}
