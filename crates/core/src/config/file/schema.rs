//! The JSON Schema of the file, for editors. The table of inputs has the shapes that the reader takes, too.

use super::fix::{ABSOLUTE, LONGEST_ARGUMENT, MOST_ARGUMENTS, MOST_COMMANDS, MOST_PATHS};
use super::lifecycle::NAME;
use super::{FIX, INSTRUCTIONS, LIFECYCLE, LONGEST_TEXT, MOST_INSTRUCTIONS, SKIP};
use crate::config::Shape;
use crate::config::fix::MINUTES;
use crate::config::inputs::INPUTS;
use crate::config::lifecycle::{FIX_CYCLES, MOST_REVIEWERS};
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
    properties.insert(LIFECYCLE.into(), of_the_service());
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

fn of_the_service() -> Value {
    let flag = |help: &str| Shape::Flag.described(help);
    let name = json!({ "type": "string", "pattern": NAME });
    let kind = json!({ "description": "agent unless given.", "enum": ["agent", "human"] });
    let escalated = json!({
        "type": "object",
        "properties": { "name": name, "type": kind },
        "required": ["name"],
        "additionalProperties": false,
    });
    let escalated = json!({ "anyOf": [name, escalated] });
    let names = json!({ "type": "array", "maxItems": MOST_REVIEWERS, "items": escalated });
    let (least, most) = FIX_CYCLES.into_inner();
    let cycles = Shape::Whole(least.into(), Some(most.into()));
    let reviewer = json!({
        "type": "object",
        "properties": {
            "name": { "description": "The agent's name, or the person's login.", "type": "string", "pattern": NAME },
            "type": kind,
            "can_escalate": {
                "description": "Agents and people whom this reviewer may add: an agent by its name alone, a person who is no reviewer with type: human.",
                "anyOf": [name, names],
            },
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    json!({
        "description": "The service: who reviews, and what becomes of approved pull requests.",
        "type": ["object", "null"],
        "properties": {
            "enabled": flag("Whether the service takes care of pull requests; true unless given."),
            "reviewers": {
                "description": "Reviewers in the order in which they look; an agent by its name alone. One agent, quality, unless given.",
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_REVIEWERS,
                "items": { "anyOf": [name, reviewer] },
            },
            "auto_merge": flag("Whether the service merges what everybody has approved; false unless given."),
            "require_human_approval": flag("Whether a person has to approve, too; false unless given."),
            "max_fix_cycles": cycles.described("Fix sessions in a row before a person is called; 2 unless given."),
        },
        "additionalProperties": false,
    })
}
