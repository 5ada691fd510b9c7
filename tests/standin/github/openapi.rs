//! GitHub's own description of its REST interface as the judge of requests and answers. Separate, because it knows
//! nothing of what the stand-in holds.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::reply::Request;

const DESCRIPTION: &str = include_str!("../../schema/github-openapi.json");

/// What the description says about a request.
#[derive(Debug)]
pub enum Checked {
    Unknown,
    Known {
        query: Vec<String>,
        body: Vec<String>,
    },
}

struct Operation {
    method: String,
    template: Vec<String>,
    query: BTreeMap<String, Value>,
    body: Option<Value>,
    body_required: bool,
    validator: Option<Validator>,
}

fn description() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let mut document = serde_json::from_str(DESCRIPTION).expect("the subset is JSON");
        to_json_schema(&mut document);
        document
    })
}

fn operations() -> &'static [Operation] {
    static OPERATIONS: OnceLock<Vec<Operation>> = OnceLock::new();
    OPERATIONS.get_or_init(|| {
        let paths = description()["paths"].as_object().expect("paths");
        let each = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods");
            methods
                .iter()
                .map(move |(method, operation)| read_operation(path, method, operation))
        });
        each.collect()
    })
}

fn read_operation(path: &str, method: &str, operation: &Value) -> Operation {
    let parameters = operation["parameters"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let query = parameters
        .iter()
        .map(resolve)
        .filter(|parameter| parameter["in"] == "query")
        .map(|parameter| {
            (
                parameter["name"].as_str().unwrap_or_default().to_owned(),
                parameter["schema"].clone(),
            )
        })
        .collect();
    let body = operation["requestBody"]["content"]["application/json"].get("schema");
    Operation {
        method: method.to_uppercase(),
        template: path
            .trim_start_matches('/')
            .split('/')
            .map(str::to_owned)
            .collect(),
        query,
        body: body.cloned(),
        body_required: operation["requestBody"]["required"] == true,
        validator: body.map(validator),
    }
}

/// Follows a reference inside the description; anything else is itself.
fn resolve(value: &Value) -> &Value {
    let pointer = value["$ref"]
        .as_str()
        .and_then(|reference| reference.strip_prefix('#'));
    pointer
        .and_then(|pointer| description().pointer(pointer))
        .unwrap_or(value)
}

fn validator(schema: &Value) -> Validator {
    let document = json!({ "allOf": [schema], "components": description()["components"] });
    jsonschema::validator_for(&document).expect("a schema of the subset compiles")
}

/// OpenAPI 3.0 says `nullable: true` where JSON Schema has a further type.
fn to_json_schema(node: &mut Value) {
    match node {
        Value::Array(items) => items.iter_mut().for_each(to_json_schema),
        Value::Object(object) => {
            object.values_mut().for_each(to_json_schema);
            if object.get("nullable") == Some(&Value::Bool(true)) {
                object.remove("nullable");
                *node = nullable(object);
            }
        }
        _ => {}
    }
}

fn nullable(schema: &Map<String, Value>) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

pub fn check(request: &Request) -> Checked {
    let found = operations().iter().find(|operation| {
        operation.method == request.method.as_str() && fits(&operation.template, &request.segments)
    });
    let Some(operation) = found else {
        return Checked::Unknown;
    };
    let query = request
        .query
        .iter()
        .filter_map(|(name, value)| query_problem(operation, name, value));
    Checked::Known {
        query: query.collect(),
        body: body_problems(operation, &request.body),
    }
}

fn fits(template: &[String], segments: &[String]) -> bool {
    // A path has slashes of its own.
    let long =
        template.last().is_some_and(|last| last == "{path}") && segments.len() > template.len();
    (long || template.len() == segments.len())
        && template.iter().zip(segments).all(|(pattern, segment)| {
            let accepts_any = !pattern.ends_with("_id}") && !pattern.ends_with("_number}");
            let number = segment.parse::<u64>().is_ok();
            if pattern.starts_with('{') {
                !segment.is_empty() && (accepts_any || number)
            } else {
                pattern == segment
            }
        })
}

fn query_problem(operation: &Operation, name: &str, value: &str) -> Option<String> {
    let Some(schema) = operation.query.get(name) else {
        return Some(format!("the query parameter {name} is not known"));
    };
    let number = schema["type"] != "integer" || value.parse::<i64>().is_ok();
    let listed = schema["enum"]
        .as_array()
        .is_none_or(|values| values.iter().any(|one| one == value));
    (!number || !listed).then(|| format!("the query parameter {name} cannot be {value}"))
}

fn body_problems(operation: &Operation, body: &Value) -> Vec<String> {
    let Some((schema, validator)) = operation.body.as_ref().zip(operation.validator.as_ref())
    else {
        return if body.is_null() {
            Vec::new()
        } else {
            vec!["the operation takes no body".into()]
        };
    };
    if body.is_null() && !operation.body_required {
        return Vec::new();
    }
    let mut problems: Vec<String> = validator
        .iter_errors(body)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    unknown_keys(&[schema], body, "", &mut problems);
    problems
}

/// The description never says that further keys are forbidden, so that a misspelt one would pass.
fn unknown_keys(schemas: &[&Value], value: &Value, at: &str, problems: &mut Vec<String>) {
    let alternatives: Vec<&Value> = schemas.iter().flat_map(|schema| branches(schema)).collect();
    match value {
        Value::Object(object) => {
            let described: Vec<_> = alternatives
                .iter()
                .filter(|schema| schema["properties"].is_object())
                .collect();
            if described.is_empty() {
                return;
            }
            for (key, value) in object {
                let inner: Vec<&Value> = described
                    .iter()
                    .filter_map(|schema| schema["properties"].get(key))
                    .collect();
                if inner.is_empty() {
                    problems.push(format!(
                        "{:?} is not a permitted key.",
                        format!("{at}{key}")
                    ));
                } else {
                    unknown_keys(&inner, value, &format!("{at}{key}."), problems);
                }
            }
        }
        Value::Array(items) => {
            let inner: Vec<&Value> = alternatives
                .iter()
                .filter_map(|schema| schema.get("items"))
                .collect();
            for item in items {
                unknown_keys(&inner, item, at, problems);
            }
        }
        _ => {}
    }
}

/// A schema, what it refers to, and everything it may be.
fn branches(schema: &Value) -> Vec<&Value> {
    let schema = resolve(schema);
    let inner = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|word| schema[word].as_array())
        .flatten();
    std::iter::once(schema)
        .chain(inner.flat_map(branches))
        .collect()
}

/// What the official description finds wrong with an answer to `method template`.
pub fn response_errors(method: &str, template: &str, status: u16, answer: &Value) -> Vec<String> {
    let operation = &description()["paths"][template][method];
    let schema =
        &operation["responses"][status.to_string()]["content"]["application/json"]["schema"];
    assert!(
        schema.is_object(),
        "the description has no answer {status} to {method} {template}"
    );
    validator(schema)
        .iter_errors(answer)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}
