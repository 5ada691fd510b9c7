//! The sentences about a model that could not be used and the one that went on in its place.

use crate::review::fallback::{Fallback, Group};
use reviewer_text::capital::full_sentence;
use reviewer_text::count::plural;
use reviewer_text::sentence::sentence;
use std::collections::BTreeSet;

/// For the log, as the rest of a line about a stage.
#[must_use]
pub fn goes_on(fallback: &Fallback) -> String {
    let Fallback { model, cause, .. } = fallback;
    format!(": {model} {}; {} goes on", cause.told(), fallback.instead)
}

/// For the summary and the report. `is_panel`: there are several reviewers, so this one is named.
#[must_use]
pub(crate) fn went_on(group: &Group<'_>, is_panel: bool) -> String {
    let Fallback {
        model,
        instead,
        since,
        cause,
        ..
    } = group.first;
    let of = if is_panel {
        format!(" for the reviewer {}", group.first.reviewer)
    } else {
        String::new()
    };
    let place = in_sections(&group.sections()).unwrap_or_else(|| format!("from {since} on"));
    let why = full_sentence(&group.first.why);
    format!(
        "{model} {}; {instead} went on in its place{of}, {place}. {why}",
        cause.told()
    )
}

/// For the report of a fix.
#[must_use]
pub fn in_fix(fallback: &Fallback) -> String {
    let Fallback { model, cause, .. } = fallback;
    let instead = &fallback.instead;
    let told = format!("{model} {}; {instead} went on in its place.", cause.told());
    sentence(&told)
}

/// The sections in which a model went on; `None` where there are none.
fn in_sections(sections: &BTreeSet<usize>) -> Option<String> {
    match sections.len() {
        0 => None,
        1 => sections
            .first()
            .map(|number| format!("in section {number}")),
        several => Some(format!("in {}", plural(several, "section"))),
    }
}

/// The reason why a task was given up although there was another model.
#[must_use]
pub fn both_failed(fallback: &Fallback, second: &str) -> String {
    let Fallback { model, instead, .. } = fallback;
    let first = full_sentence(&fallback.why);
    let second = full_sentence(second);
    format!(
        "Neither {model} nor its fallback {instead} can be used. Of {model}: {first} Of {instead}: {second}"
    )
}

/// The reason of a model that is not tried, because another session of the run could not use it.
#[must_use]
pub fn failed_before(why: &str) -> String {
    format!("It failed before in this run: {why}")
}

/// The other models of a run, as a part of the line below a review; `None` where none was needed.
#[must_use]
pub fn footer(fallbacks: &[Fallback]) -> Option<String> {
    let groups = Group::all(fallbacks);
    let mut models: Vec<String> = Vec::new();
    for group in &groups {
        let model = group.first.instead.to_string();
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let sections = groups.iter().flat_map(Group::sections).collect();
    let place = match (in_sections(&sections), groups.as_slice()) {
        (_, []) => return None,
        (Some(sections), _) => format!(" {sections}"),
        (None, [one]) => format!(" from {} on", one.first.since),
        (None, _) => String::new(),
    };
    Some(sentence(&format!("fallback {}{place}", models.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelChoice;
    use crate::review::fallback::{Cause, Portion};
    use crate::review::limits::Used;
    use std::sync::Arc;

    fn model(provider: &str, name: &str) -> ModelChoice {
        ModelChoice {
            provider: provider.into(),
            name: name.into(),
            ..ModelChoice::default()
        }
    }

    fn fallback() -> Fallback {
        Fallback {
            reviewer: "security".into(),
            portion: Portion::Whole,
            model: model("anthropic", "claude"),
            instead: model("openai", "gpt-5"),
            since: "pass 2 of 4".into(),
            cause: Cause::Overloaded,
            why: "the model is overloaded: Not now (HTTP 529)".into(),
            before: Used::default(),
            usage: Arc::default(),
        }
    }

    #[test]
    fn both_models_the_cause_and_the_pass_are_told() {
        let one = fallback();
        let group = Group {
            first: &one,
            others: Vec::new(),
        };
        assert_eq!(
            went_on(&group, false),
            "anthropic/claude is overloaded; openai/gpt-5 went on in its place, from pass 2 of 4 on. The model is overloaded: \
             Not now (HTTP 529)."
        );
        let of_panel = went_on(&group, true);
        let named = "went on in its place for the reviewer security, from pass 2 of 4 on.";
        assert!(of_panel.contains(named), "{of_panel}");
        assert_eq!(
            goes_on(&one),
            ": anthropic/claude is overloaded; openai/gpt-5 goes on"
        );
        assert_eq!(
            both_failed(&one, "No credit."),
            "Neither anthropic/claude nor its fallback openai/gpt-5 can be used. Of anthropic/claude: The model is \
             overloaded: Not now (HTTP 529). Of openai/gpt-5: No credit."
        );
    }

    #[test]
    fn the_line_below_a_review_names_each_fallback_once() {
        assert_eq!(footer(&[]), None);
        let one = footer(&[fallback()]);
        let expected = "fallback openai/gpt-5 from pass 2 of 4 on";
        assert_eq!(one.as_deref(), Some(expected));
        let two = footer(&[fallback(), fallback()]);
        assert_eq!(two.as_deref(), Some("fallback openai/gpt-5"));
        let section = |number| Fallback {
            portion: Portion::Section(number),
            ..fallback()
        };
        let many = footer(&[section(1), section(2), section(4)]);
        assert_eq!(many.as_deref(), Some("fallback openai/gpt-5 in 3 sections"));
        let one = footer(&[section(4)]);
        assert_eq!(one.as_deref(), Some("fallback openai/gpt-5 in section 4"));
    }

    #[test]
    fn the_report_of_a_fix_names_both_models_and_no_words_of_the_endpoint() {
        let told = in_fix(&fallback());
        let expected = "anthropic/claude is overloaded; openai/gpt-5 went on in its place.";
        assert_eq!(told, expected);
    }
}
