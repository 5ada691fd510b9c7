//! The arguments of a tool as JSON Schema, in as few words as the model needs: every request to the model carries them. A
//! call is judged by the parser, so that limits and metadata of the schema would only be paid for.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::sync::Arc;

/// Keys that the parser enforces, or that say nothing.
const NOISE: [&str; 5] = [
    "title",
    "format",
    "minimum",
    "additionalProperties",
    "default",
];

/// The schema of a type: definitions in their place, optional fields without `null`.
pub(super) fn of<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = Value::from(schema);
    shorten(&mut schema);
    match schema {
        Value::Object(fields) => Arc::new(fields),
        _ => Arc::default(),
    }
}

fn shorten(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        return;
    };
    for name in NOISE {
        fields.remove(name);
    }
    // Of an optional object: the object.
    if let Some(Value::Array(any)) = fields.remove("anyOf") {
        let given = any.into_iter().find(|one| one["type"] != "null");
        if let Some(Value::Object(given)) = given {
            for (name, value) in given {
                fields.entry(name).or_insert(value);
            }
            return shorten(schema);
        }
    }
    if let Some(Value::Array(types)) = fields.get("type") {
        let given = types.iter().find(|one| *one != "null").cloned();
        fields.insert("type".into(), given.unwrap_or(Value::Null));
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(shorten);
    }
    if let Some(items) = fields.get_mut("items") {
        shorten(items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is made")]
    struct Arguments {
        /// As the diff shows it.
        line: u32,
        title: Option<String>,
        /// The place of the fix.
        fixed_by: Option<Inner>,
        texts: Option<Vec<Inner>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is made")]
    struct Inner {
        file: String,
    }

    #[test]
    fn the_model_is_told_names_types_and_descriptions_and_nothing_else() {
        let inner = json!({
            "type": "object",
            "properties": { "file": { "type": "string" } },
            "required": ["file"],
        });
        let mut fixed_by = inner.clone();
        fixed_by["description"] = json!("The place of the fix.");
        let expected = json!({
            "type": "object",
            "properties": {
                "line": { "type": "integer", "description": "As the diff shows it." },
                "title": { "type": "string" },
                "fixed_by": fixed_by,
                "texts": { "type": "array", "items": inner },
            },
            "required": ["line"],
        });
        assert_eq!(Value::Object((*of::<Arguments>()).clone()), expected);
    }
}
