//! The part of a reviewer in the system prompt: its focus on a panel, or its persona and whom it may call.

use crate::config::{Focus, Persona};
use crate::domain::prefixed;
use reviewer_text::template::{self, TemplateError};

const GENERAL: &str = include_str!("../../prompts/focus-general.md");
const FOCUS: &str = include_str!("../../prompts/focus.md");
const PERSONA: &str = include_str!("../../prompts/persona.md");
const ESCALATION: &str = include_str!("../../prompts/escalation.md");

/// A reviewer's part.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// Among several reviewers.
    Focus(Focus),
    /// Under a name of its own.
    Persona(&'a Persona),
}

impl Part<'_> {
    /// The end of the system prompt. A persona's text is the operator's, and no foreign byte.
    pub(super) fn text(self, prefix: &str) -> Result<String, TemplateError> {
        match self {
            Self::Focus(focus) => match focus.subject() {
                Some(subject) => template::render(FOCUS, &[("subject", subject.trim_end())]),
                None => Ok(GENERAL.to_owned()),
            },
            Self::Persona(persona) => {
                let part = match persona.part() {
                    Some(part) => {
                        let values = [("name", persona.name.as_str()), ("persona", part)];
                        template::render(PERSONA, &values)?
                    }
                    None => String::new(),
                };
                Ok(format!("{part}{}", escalation(persona, prefix)?))
            }
        }
    }
}

fn escalation(persona: &Persona, prefix: &str) -> Result<String, TemplateError> {
    if persona.can_escalate.is_empty() {
        return Ok(String::new());
    }
    let names = persona.can_escalate.join(", ");
    template::render(&prefixed(ESCALATION, prefix), &[("names", &names)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persona_stands_where_the_focus_of_a_panel_stands() {
        let mut persona = Persona::named("quality");
        let alone = Part::Persona(&persona).text("").unwrap();
        assert!(
            alone.starts_with("\n# Your part\n\nYou review as quality. "),
            "{alone}"
        );
        let subject = Focus::Quality.subject().unwrap();
        assert!(alone.ends_with(subject), "{alone}");
        let panel = Part::Focus(Focus::Quality).text("").unwrap();
        assert!(panel.starts_with("\n# Your part on the panel\n"), "{panel}");
        assert!(panel.ends_with(&format!(" {subject}")), "{panel}");
        persona.text = Some("You know the {{ledger}}.".into());
        let own = Part::Persona(&persona).text("").unwrap();
        assert!(own.ends_with("\n\nYou know the {{ledger}}.\n"), "{own}");
    }

    #[test]
    fn who_may_escalate_is_told_to_whom_and_when() {
        let mut persona = Persona::named("quality");
        let told = |persona: &Persona| Part::Persona(persona).text("r2_").unwrap();
        assert!(!told(&persona).contains("escalate"));
        persona.can_escalate = vec!["security".into(), "octocat".into()];
        let text = told(&persona);
        assert!(
            text.contains("to this change: security, octocat. "),
            "{text}"
        );
        assert!(
            text.contains("`escalate` of `r2_submit_pass_results`"),
            "{text}"
        );
    }
}
