//! The models that could not be used and those that went on in their place, in the report.

use super::Report;
use crate::publish::comment::fallback::went_on;
use crate::review::fallback::Fallback;
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

impl From<&Fallback> for FallbackReport {
    fn from(fallback: &Fallback) -> Self {
        let (tokens, cost_usd) = fallback.taken();
        Self {
            reviewer: fallback.reviewer.clone(),
            model: fallback.model.to_string(),
            fallback: fallback.instead.to_string(),
            since: fallback.since.clone(),
            cause: fallback.cause.name(),
            reason: fallback.why.clone(),
            tokens: tokens.number,
            cost_usd,
        }
    }
}

impl Report {
    /// Enters the fallbacks of the run so far, each with a warning and its model. Those that stand there already are brought up to
    /// date.
    pub fn set_fallbacks(&mut self, fallbacks: &[Fallback], is_panel: bool) {
        for fallback in fallbacks {
            let warning = went_on(fallback, is_panel);
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
            let instead = fallback.instead.to_string();
            if !self.model.split(", ").any(|model| model == instead) {
                self.model = format!("{}, {instead}", self.model);
            }
        }
        self.fallbacks = fallbacks.iter().map(FallbackReport::from).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelChoice;
    use crate::review::fallback::Cause;
    use crate::review::limits::Used;
    use std::sync::Arc;

    #[test]
    fn a_fallback_is_entered_once_with_its_model_and_a_warning() {
        let model = |name: &str| ModelChoice {
            provider: "openai".into(),
            name: name.into(),
            ..ModelChoice::default()
        };
        let fallback = Fallback {
            reviewer: "general".into(),
            model: model("gpt-5"),
            instead: model("gpt-5-mini"),
            since: "pass 2 of 4".into(),
            cause: Cause::Quota,
            why: "No credit is left.".into(),
            before: Used::default(),
            usage: Arc::default(),
        };
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
    }
}
