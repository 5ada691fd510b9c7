//! The JSON Schema of the file, for editors. Made from what the reader takes, so that the two cannot part.

use super::{HUMAN_REVIEWERS, IGNORE, INSTRUCTIONS, LONGEST_TEXT, MOST_INSTRUCTIONS, SINGLE, SKIP};
use crate::config::inputs;
use serde_json::{Map, Value, json};

#[must_use]
pub fn schema() -> Value {
    let mut properties = Map::new();
    for name in SINGLE {
        let mut property = single(name);
        property["description"] = json!(inputs::help(name));
        properties.insert((*name).to_owned(), property);
    }
    let texts = |help: &str| {
        let one = json!({ "type": "string", "minLength": 1 });
        json!({ "description": help, "anyOf": [one, { "type": "array", "items": one }] })
    };
    properties.insert(HUMAN_REVIEWERS.into(), texts(inputs::help(HUMAN_REVIEWERS)));
    properties.insert(IGNORE.into(), texts(inputs::help(IGNORE)));
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
    let above_zero = |help: &str| json!({ "description": help, "type": "integer", "minimum": 1 });
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

fn single(name: &str) -> Value {
    let score = json!({ "type": "integer", "minimum": 1, "maximum": 10 });
    let off = json!({ "enum": ["off", false] });
    let dollars = json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000 });
    let tokens = json!({ "type": "integer", "minimum": 1 });
    match name {
        "problem_score_threshold" => score,
        "score_elevation_threshold" => json!({ "type": "integer", "minimum": 1, "maximum": 100 }),
        "blocking_score_threshold" => json!({ "anyOf": [score, off] }),
        "fail_job" => json!({ "type": "boolean" }),
        "sensitivity" => json!({ "enum": ["auto", "high", "moderate", "low"] }),
        "review_timeout_minutes" => json!({ "type": "integer", "minimum": 1, "maximum": 360 }),
        "max_cost_usd" => dollars,
        "max_cost_usd_per_day" => json!({ "anyOf": [dollars, off] }),
        "max_tokens" => tokens,
        "max_tokens_per_day" => json!({ "anyOf": [tokens, off] }),
        _ => json!({ "type": "string", "minLength": 1 }),
    }
}
