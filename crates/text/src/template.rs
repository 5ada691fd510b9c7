//! Prompt templates with strict placeholders: one that is unknown or unused is an error, so that a prompt and
//! the code that fills it cannot drift apart.

/// A mismatch between a template and its values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("the prompt asks for {{{{{0}}}}}, which nobody gives")]
    Unknown(String),
    #[error("the prompt has no place for {{{{{0}}}}}")]
    Unused(String),
}

/// Replaces each `{{name}}` by its value. Values are inserted as they are and not searched again.
pub fn render(template: &str, values: &[(&str, &str)]) -> Result<String, TemplateError> {
    let mut out = String::with_capacity(template.len());
    let mut used = vec![false; values.len()];
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, tail)) = after.split_once("}}") else {
            return Err(TemplateError::Unknown(after.chars().take(20).collect()));
        };
        let Some(index) = values.iter().position(|(key, _)| *key == name) else {
            return Err(TemplateError::Unknown(name.to_owned()));
        };
        used[index] = true;
        out.push_str(values[index].1);
        rest = tail;
    }
    out.push_str(rest);
    match used.iter().position(|used| !used) {
        Some(index) => Err(TemplateError::Unused(values[index].0.to_owned())),
        None => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_inserted_once_and_not_read_again() {
        let text = render("a {{x}} b {{y}} {{x}}", &[("x", "{{y}}"), ("y", "2")]);
        assert_eq!(text.as_deref(), Ok("a {{y}} b 2 {{y}}"));
    }

    #[test]
    fn a_prompt_and_its_values_must_agree() {
        let unknown = render("{{x}}", &[]);
        assert_eq!(unknown, Err(TemplateError::Unknown("x".into())));
        let unused = render("plain", &[("x", "1")]);
        assert_eq!(unused, Err(TemplateError::Unused("x".into())));
    }
}
