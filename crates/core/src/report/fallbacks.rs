//! The models that could not be used and those that went on in their place, in the report.

use super::Report;
use crate::publish::comment::fallback::went_on;
use crate::review::fallback::{Fallback, Group};
use schemars::JsonSchema;
use serde::Serialize;

/// A model that could not be used, and the one that went on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FallbackReport {
    /// The reviewer whose model it was.
    pub reviewer: String,
    /// The model that could not be used, as provider/name.
    pub model: String,
    /// The model that went on, as provider/name.
    pub fallback: String,
    /// The stage in which it took over, such as `pass 2 of 4`.
    pub since: String,
    /// The number of sections of a large change that it reviewed, in part or whole; only where the change was reviewed in sections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sections: Option<usize>,
    #[schemars(extend("enum" = [
        "unknown_model", "quota", "rate_limit", "overloaded", "failing", "unreachable", "silent"
    ]))]
    pub cause: &'static str,
    /// The failure of the model.
    pub reason: String,
    /// The tokens that the other model took.
    pub tokens: u64,
    pub cost_usd: f64,
}

impl From<&Group<'_>> for FallbackReport {
    fn from(group: &Group<'_>) -> Self {
        let (tokens, cost_usd) = group.taken();
        let (first, sections) = (group.first, group.sections().len());
        Self {
            reviewer: first.reviewer.clone(),
            model: first.model.to_string(),
            fallback: first.instead.to_string(),
            since: first.since.clone(),
            sections: (sections > 0).then_some(sections),
            cause: first.cause.name(),
            reason: first.why.clone(),
            tokens,
            cost_usd,
        }
    }
}

impl Report {
    /// Enters the fallbacks of the run so far, each with a warning and its model, those of all sections of a change as one. Those that
    /// stand there already are brought up to date.
    pub fn set_fallbacks(&mut self, fallbacks: &[Fallback], is_panel: bool) {
        let groups = Group::all(fallbacks);
        for group in &groups {
            let warning = went_on(group, is_panel);
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
            let instead = group.first.instead.to_string();
            if !self.model.split(", ").any(|model| model == instead) {
                self.model = format!("{}, {instead}", self.model);
            }
        }
        self.fallbacks = groups.iter().map(FallbackReport::from).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelChoice;
    use crate::review::fallback::{Cause, Portion};
    use crate::review::limits::Used;
    use std::sync::Arc;

    fn fallback() -> Fallback {
        let model = |name: &str| ModelChoice {
            provider: "openai".into(),
            name: name.into(),
            ..ModelChoice::default()
        };
        Fallback {
            reviewer: "general".into(),
            portion: Portion::Whole,
            model: model("gpt-5"),
            instead: model("gpt-5-mini"),
            since: "pass 2 of 4".into(),
            cause: Cause::Quota,
            why: "No credit is left.".into(),
            before: Used::default(),
            usage: Arc::default(),
        }
    }

    #[test]
    fn a_fallback_is_entered_once_with_its_model_and_a_warning() {
        let fallback = fallback();
        let mut report = Report {
            model: "openai/gpt-5".into(),
            ..Report::default()
        };
        for _ in 0..2 {
            report.set_fallbacks(std::slice::from_ref(&fallback), false);
        }
        assert_eq!(report.model, "openai/gpt-5, openai/gpt-5-mini");
        assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
        assert_eq!(report.fallbacks.len(), 1);
        assert_eq!(report.fallbacks[0].cause, "quota");
        assert_eq!(report.fallbacks[0].sections, None);
    }

    #[test]
    fn all_sections_of_a_change_are_one_entry() {
        let mut report = Report::default();
        let sections: Vec<Fallback> = (1..=35)
            .map(|number| Fallback {
                portion: Portion::Section(number),
                why: format!("No credit is left, asked {number} times."),
                ..fallback()
            })
            .collect();
        report.set_fallbacks(&sections, false);
        assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
        assert!(
            report.warnings[0].contains("went on in its place, in 35 sections. "),
            "{}",
            report.warnings[0]
        );
        assert_eq!(report.fallbacks.len(), 1);
        assert_eq!(report.fallbacks[0].sections, Some(35));
    }
}
