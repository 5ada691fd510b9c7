//! The sensitivity of a repository, read from its manifests and README at the base, with the evidence named, so that
//! nobody has to guess why a finding weighed more.

use crate::domain::Sensitivity;

/// The files that say what a repository is for.
pub const MANIFESTS: &[&str] = &[
    "README.md",
    "README",
    "README.rst",
    "README.txt",
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "go.mod",
    "pom.xml",
    "composer.json",
];

/// Words that mean people are hurt when this leaks: personal data, money, health.
const HIGH: &[&str] = &[
    "bank",
    "banking",
    "billing",
    "checkout",
    "credit card",
    "financial",
    "finance",
    "fintech",
    "gdpr",
    "health records",
    "healthcare",
    "hipaa",
    "iban",
    "insurance",
    "invoice",
    "medical",
    "patient",
    "patients",
    "payment",
    "payments",
    "payroll",
    "pci",
    "personal data",
    "personally identifiable",
    "pii",
    "stripe",
    "plaid",
    "adyen",
    "braintree",
    "paypal",
    "wallet",
];

/// Words that mean that little is at stake.
const LOW: &[&str] = &[
    "demo",
    "example",
    "playground",
    "sample",
    "toy",
    "tutorial",
    "boilerplate",
];

/// The sensitivity and the words it rests on, each with its file.
#[must_use]
pub fn judge(files: &[(String, String)]) -> (Sensitivity, Vec<String>) {
    let high = evidence(files, HIGH);
    if !high.is_empty() {
        return (Sensitivity::High, high);
    }
    let low = evidence(files, LOW);
    if low.is_empty() {
        (Sensitivity::Moderate, Vec::new())
    } else {
        (Sensitivity::Low, low)
    }
}

/// The evidence for a high sensitivity as half a sentence.
#[must_use]
pub fn reason(evidence: &[String]) -> String {
    let first = evidence.first().map(String::as_str).unwrap_or_default();
    let named = first.strip_prefix('"');
    match named.and_then(|rest| rest.split_once("\" in ")) {
        Some((word, file)) if file.starts_with("README") => format!("the README speaks of {word}"),
        Some((word, file)) => format!("{file} speaks of {word}"),
        None => "sensitivity is set to high".into(),
    }
}

fn evidence(files: &[(String, String)], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        let text = normalised(text);
        let hits = words
            .iter()
            .filter(|word| text.contains(&format!(" {word} ")));
        found.extend(hits.map(|word| format!("\"{word}\" in {path}")));
    }
    found.truncate(5);
    found
}

/// Lower case, every run of other characters one blank, blanks at both ends: words are found as words.
fn normalised(text: &str) -> String {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty());
    let mut out = String::from(" ");
    for word in words {
        out.push_str(&word.to_lowercase());
        out.push(' ');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge_readme(text: &str) -> (Sensitivity, Vec<String>) {
        judge(&[("README.md".into(), text.into())])
    }

    #[test]
    fn money_and_people_make_a_repository_sensitive_and_the_word_is_named() {
        let (level, evidence) = judge_readme("# Shop\nTakes *payments* by credit-card.");
        assert_eq!(level, Sensitivity::High);
        assert_eq!(
            evidence,
            ["\"credit card\" in README.md", "\"payments\" in README.md"]
        );
    }

    #[test]
    fn the_reason_names_the_word_and_its_file() {
        let (_, evidence) = judge_readme("Takes payments.");
        assert_eq!(reason(&evidence), "the README speaks of payments");
        let (_, evidence) = judge(&[("package.json".into(), "\"stripe\": 1".into())]);
        assert_eq!(reason(&evidence), "package.json speaks of stripe");
        let set = ["set by the sensitivity input".to_owned()];
        assert_eq!(reason(&set), "sensitivity is set to high");
    }

    #[test]
    fn a_word_inside_a_word_is_not_evidence() {
        assert_eq!(
            judge_readme("A snowbank simulator").0,
            Sensitivity::Moderate
        );
        assert_eq!(judge_readme("A toy parser").0, Sensitivity::Low);
        assert_eq!(judge(&[]).0, Sensitivity::Moderate);
    }
}
