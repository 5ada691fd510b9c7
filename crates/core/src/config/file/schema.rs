//! The JSON Schema of the file, for editors. The table of inputs has the shapes that the reader takes, too.

use super::fix::{ABSOLUTE, LONGEST_ARGUMENT, MOST_ARGUMENTS, MOST_COMMANDS, MOST_PATHS};
use super::{FIX, INSTRUCTIONS, LONGEST_TEXT, MOST_INSTRUCTIONS, SKIP};
use crate::config::Shape;
use crate::config::fix::MINUTES;
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
    properties.insert(FIX.into(), of_fixes());
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://raw.githubusercontent.com/org/opencode-reviewer/v1/schema/opencode-reviewer.schema.json",
        "title": "Settings of opencode-reviewer (.github/opencode-reviewer.yml)",
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": false,
    })
}

fn of_fixes() -> Value {
    let paths = |help: &str| {
        let path = json!({ "type": "string", "pattern": ABSOLUTE });
        let paths = json!({ "type": "array", "maxItems": MOST_PATHS, "items": path });
        json!({ "description": help, "anyOf": [path, paths] })
    };
    let argument = json!({ "type": "string", "maxLength": LONGEST_ARGUMENT });
    let program = json!({ "type": "string", "minLength": 1, "maxLength": LONGEST_ARGUMENT });
    let timeout = Shape::Whole(*MINUTES.start(), Some(*MINUTES.end()));
    json!({
        "description": "How fixes are verified, and what they may touch.",
        "type": "object",
        "properties": {
            "verify": {
                "description": "Commands that a fix has to pass, each a list of texts: the program and its arguments. No shell reads them.",
                "type": "array",
                "maxItems": MOST_COMMANDS,
                "items": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MOST_ARGUMENTS,
                    "items": [program],
                    "additionalItems": argument,
                },
            },
            "allow": Shape::Globs.described("Globs of files outside the change that a fix may touch."),
            "verify_read": paths("Absolute paths that these commands may read, besides the system's own."),
            "verify_exec": paths("Absolute paths that these commands may read and execute from: toolchains."),
            "timeout_minutes": timeout.described("Minutes for a fix session, and for one run of all these commands; 10 unless given."),
        },
        "additionalProperties": false,
    })
}
