//! The JSON Schema of the file, for editors. The table of inputs has the shapes that the reader takes, too.

use super::{INSTRUCTIONS, LONGEST_TEXT, MOST_INSTRUCTIONS, SKIP};
use crate::config::Shape;
use crate::config::inputs::INPUTS;
use serde_json::{Map, Value, json};

#[must_use]
pub fn schema() -> Value {
    let mut properties = Map::new();
    for input in INPUTS {
        if let Some(shape) = input.in_file {
            properties.insert(input.name.into(), shape.described(input.help));
        }
    }
    let texts = |help: &str| Shape::Texts.described(help);
    let paths = texts("Globs of the files that the instruction is about; all files unless given.");
    properties.insert(INSTRUCTIONS.into(), json!({
        "description": "What the reviewer is to heed besides AGENTS.md, where files of these paths change.",
        "type": "array",
        "maxItems": MOST_INSTRUCTIONS,
        "items": {
            "type": "object",
            "properties": {
                "paths": paths,
                "text": { "description": "The instruction.", "type": "string", "minLength": 1, "maxLength": LONGEST_TEXT },
            },
            "required": ["text"],
            "additionalProperties": false,
        },
    }));
    let above_zero = |help: &str| Shape::Whole(1, None).described(help);
    properties.insert(SKIP.into(), json!({
        "description": "Pull requests that are not reviewed. A mention reviews them all the same, but for the labels.",
        "type": "object",
        "properties": {
            "labels": texts("A pull request with one of these labels is not reviewed."),
            "authors": texts("Pull requests of these accounts are not reviewed, for example renovate[bot]."),
            "drafts": { "description": "Whether drafts are left alone; true unless given.", "type": "boolean" },
            "max_changed_files": above_zero("A pull request that changes more files is not reviewed."),
            "max_changed_lines": above_zero("A pull request that changes more lines is not reviewed."),
        },
        "additionalProperties": false,
    }));
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://raw.githubusercontent.com/org/opencode-reviewer/v1/schema/opencode-reviewer.schema.json",
        "title": "Settings of opencode-reviewer (.github/opencode-reviewer.yml)",
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": false,
    })
}
