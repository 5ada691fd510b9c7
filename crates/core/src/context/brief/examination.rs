//! The part of the last prompt that only a reviewer among several gets: findings of others to verify, and pairs that may
//! have the same cause. Who raised them is not told.

use super::Brief;
use crate::domain::{Finding, prefixed};
use crate::review::desk::{Docket, finding_name, pair_name};
use reviewer_text::template::{self, TemplateError};

const EXAMINATION: &str = include_str!("../../prompts/examination.md");
/// The longest text of a finding that is shown.
const LONGEST: usize = 2_000;

impl Brief<'_> {
    pub(super) fn examination(&self, docket: &Docket) -> Result<String, TemplateError> {
        if docket.is_empty() {
            return Ok(String::new());
        }
        let findings = docket.findings.iter().enumerate().map(|(index, one)| {
            let text = self.fence.code("finding", &claim(&one.finding));
            format!("{}\n{text}", finding_name(index))
        });
        let pairs = docket.pairs.iter().enumerate().map(|(index, pair)| {
            let (one, other) = (&pair.findings.0, &pair.findings.1);
            let text = format!("A. {}\n\nB. {}", sentence(one), sentence(other));
            format!("{}\n{}", pair_name(index), self.fence.code("pair", &text))
        });
        let listed = |texts: Vec<String>| {
            if texts.is_empty() {
                "None.".to_owned()
            } else {
                texts.join("\n\n")
            }
        };
        let values = [
            ("findings", listed(findings.collect())),
            ("pairs", listed(pairs.collect())),
        ];
        let values = values
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        template::render(&prefixed(EXAMINATION, self.prefix), &values)
    }
}

fn sentence(finding: &Finding) -> String {
    format!("{}: {}", finding.place(), finding.assessment.finding)
}

/// Place, sentence and text of a finding. The score is left out: it would argue.
fn claim(finding: &Finding) -> String {
    let body = super::cut(&finding.body, LONGEST);
    format!("{}\n\n{body}", sentence(finding))
}
