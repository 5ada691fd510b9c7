//! How well secrets are taken out, measured on samples with and without one. Separate from repetition, because it
//! measures another rule on another kind of file.

use super::{BadPairs, percent, share, wire, without_place};
use crate::redact::Redactor;
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

/// The counts of one file of samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redaction {
    /// Samples that list a secret.
    pub with: u32,
    /// Samples that list none, of texts for which no other sample does.
    pub without: u32,
    /// Samples that list none, of a text for which another sample does: they do not count as texts without a secret.
    pub contradicted: u32,
    pub spans: u32,
    pub gone: u32,
    pub changed: u32,
    /// The lines of spans that stayed.
    pub missed_lines: Vec<usize>,
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
    let samples = samples(file)?;
    let secretive: BTreeSet<&str> = samples
        .iter()
        .filter(|(_, sample)| !sample.spans.is_empty())
        .map(|(_, sample)| sample.text.as_str())
        .collect();
    let redactor = Redactor::new([]);
    let mut counts = Redaction::default();
    for (line, sample) in &samples {
        let cleaned = redactor.clean(&sample.text);
        if !sample.spans.is_empty() {
            counts.with += 1;
            for span in &sample.spans {
                let gone = !cleaned.contains(span.as_str());
                counts.spans += 1;
                counts.gone += u32::from(gone);
                counts.missed_lines.extend((!gone).then_some(*line));
            }
        } else if secretive.contains(sample.text.as_str()) {
            counts.contradicted += 1;
        } else {
            let changed = cleaned != sample.text;
            counts.without += 1;
            counts.changed += u32::from(changed);
            counts.changed_lines.extend(changed.then_some(*line));
        }
    }
    Ok(counts)
}

/// Measures on the distinct texts of a file of pairs, which hold no secrets.
pub fn ordinary(file: &str) -> Result<Ordinary, BadPairs> {
    let redactor = Redactor::new([]);
    let pairs = super::pairs(file)?;
    let texts: BTreeSet<&str> = pairs
        .iter()
        .flat_map(|pair| [pair.a.as_str(), pair.b.as_str()])
        .collect();
    let mut counts = Ordinary::default();
    for text in texts {
        counts.texts += 1;
        counts.changed += u32::from(redactor.clean(text) != text);
    }
    Ok(counts)
}

fn samples(file: &str) -> Result<Vec<(usize, wire::Sample)>, BadSamples> {
    let mut samples = Vec::new();
    for (index, line) in file.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let sample = serde_json::from_str(line).map_err(|error| BadSamples::Line {
            line: index + 1,
            reason: without_place(&error),
        })?;
        samples.push((index + 1, sample));
    }
    if samples.is_empty() {
        return Err(BadSamples::Empty);
    }
    Ok(samples)
}

impl Redaction {
    /// The share of the listed secrets that are gone; `None` where there are none.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        share(self.gone, self.spans)
    }

    /// The share of the samples without a secret that changed; `None` where there are none.
    #[must_use]
    pub fn changed_rate(&self) -> Option<f64> {
        share(self.changed, self.without)
    }

    /// The lines to look at, in words.
    #[must_use]
    pub fn lines(&self) -> String {
        let list = |lines: &[usize]| {
            let names: Vec<String> = lines.iter().map(usize::to_string).collect();
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        };
        format!(
            "missed lines   {}\nchanged lines  {}\n",
            list(&self.missed_lines),
            list(&self.changed_lines)
        )
    }
}

impl Ordinary {
    /// The share of the texts that changed; `None` where there are none.
    #[must_use]
    pub fn changed_rate(&self) -> Option<f64> {
        share(self.changed, self.texts)
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
        writeln!(
            f,
            "secrets   {} gone ({} of {})",
            percent(self.recall()),
            self.gone,
            self.spans
        )?;
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
             secrets   50.0 % gone (1 of 2)\n\
             without   50.0 % changed (1 of 2)\n\
             missed lines   2\n\
             changed lines  6\n"
        );
    }

    #[test]
    fn ordinary_texts_are_counted_once_each() {
        let pair = |a: &str, b: &str| serde_json::json!({"same": true, "a": a, "b": b}).to_string();
        let file = [
            pair("a", "b"),
            pair("a", "password = 'q7Zt0Xw3'"),
            pair("c", "a"),
        ]
        .join("\n");
        let counts = ordinary(&file).unwrap();
        assert_eq!(
            counts.to_string(),
            "ordinary  25.0 % changed (1 of 4 distinct texts)\n"
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
        assert_eq!(ordinary(""), Err(BadPairs::Empty));
        let nothing = redaction(&line("x", &[])).unwrap();
        assert_eq!(
            (nothing.recall(), nothing.changed_rate()),
            (None, Some(0.0))
        );
        assert!(nothing.lines().contains("none"));
    }
}
