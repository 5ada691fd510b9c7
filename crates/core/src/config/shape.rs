//! The shape of a value in the repository's settings file, for its JSON Schema and for the reader of the file.

use serde_json::{Value, json};

/// The values that may stand behind a key of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Flag,
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number: at least, at most.
    Whole(u64, Option<u64>),
    Dollars,
    /// Amounts of dollars and tokens as one text or as a list, or `off`.
    PerDay,
    /// `off`, too. YAML has it as a word or as `false`.
    OrOff(&'static Shape),
    /// A list of texts, or one text.
    Texts,
    /// The same, for `ignore`: a glob may hold the comma that parts the items of an input.
    Globs,
}

/// An amount with its unit, as a pattern.
const AMOUNT: &str =
    r"(\$\s*\d+(\.\d+)?|\d+(\.\d+)?\s*[Uu][Ss][Dd]|\d+\s*[Tt][Oo][Kk][Ee][Nn][Ss]?)";

impl Shape {
    pub(super) const SCORE: Self = Self::Whole(1, Some(10));
    pub(super) const TOKENS: Self = Self::Whole(1, None);

    /// True where the file gives a list, and the input has a comma or newline.
    #[must_use]
    pub fn is_list(self) -> bool {
        matches!(self, Self::Texts | Self::Globs)
    }

    pub(super) fn takes_off(self) -> bool {
        matches!(self, Self::OrOff(_) | Self::PerDay)
    }

    pub(super) fn schema(self) -> Value {
        match self {
            Self::Flag => json!({ "type": "boolean" }),
            Self::Text => json!({ "type": "string", "minLength": 1 }),
            Self::Choice(words) => json!({ "enum": words }),
            Self::Whole(least, None) => json!({ "type": "integer", "minimum": least }),
            Self::Whole(least, Some(most)) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Self::Dollars => {
                json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000 })
            }
            Self::PerDay => {
                let one = json!({ "type": "string", "pattern": format!("^{AMOUNT}$") });
                let pair = json!({ "type": "string", "pattern": format!("^{AMOUNT}(\\s*[,\\n]\\s*{AMOUNT})?$") });
                let list = json!({ "type": "array", "minItems": 1, "maxItems": 2, "items": one });
                json!({ "anyOf": [pair, list, { "enum": ["off", false] }] })
            }
            Self::OrOff(other) => json!({ "anyOf": [other.schema(), { "enum": ["off", false] }] }),
            Self::Texts | Self::Globs => {
                let one = Self::Text.schema();
                json!({ "anyOf": [one, { "type": "array", "items": one }] })
            }
        }
    }

    /// The schema, with what an editor says about the key.
    pub(super) fn described(self, help: &str) -> Value {
        let mut schema = self.schema();
        schema["description"] = json!(help);
        schema
    }
}
