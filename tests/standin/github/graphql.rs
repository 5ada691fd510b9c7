//! GraphQL: a query is validated against GitHub's schema and executed over a tree of nodes that are made when they
//! are asked for. Separate from `nodes`, which says what the objects hold.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::OnceLock;

use apollo_compiler::resolvers::{Execution, FieldError, ObjectValue, ResolveInfo, ResolvedValue};
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use serde_json::{Value, json};

use super::graphql_cost::Cost;
use super::nodes;
use super::reply::Reply;
use super::state::{Identity, State};

const SCHEMA: &str = include_str!("../../schema/github.graphql");

fn schema() -> &'static Valid<Schema> {
    static PARSED: OnceLock<Valid<Schema>> = OnceLock::new();
    PARSED.get_or_init(
        || match Schema::parse_and_validate(SCHEMA, "github.graphql") {
            Ok(schema) => schema,
            Err(problem) => panic!(
                "the subset of GitHub's schema is not valid: {}",
                problem.errors
            ),
        },
    )
}

/// What the resolvers share during one request.
pub struct Context {
    pub state: RefCell<State>,
    pub identity: Identity,
    /// Of the query.
    pub cost: Cost,
    /// The `type` that GitHub gives an error, by its message.
    types: RefCell<BTreeMap<String, &'static str>>,
    /// Fields that the schema has and the stand-in does not answer.
    unanswered: RefCell<Vec<String>>,
}

impl Context {
    pub fn error(&self, kind: &'static str, message: impl Into<String>) -> FieldError {
        let message = message.into();
        self.types.borrow_mut().insert(message.clone(), kind);
        FieldError { message }
    }
}

type Resolver<'c> = dyn Fn(&JsonMap) -> Result<Node<'c>, FieldError> + 'c;

#[derive(Clone)]
pub enum Node<'c> {
    Leaf(Value),
    Object(Rc<Object<'c>>),
    List(Vec<Node<'c>>),
    /// Made from the field's arguments.
    Lazy(Rc<Resolver<'c>>),
}

pub struct Object<'c> {
    context: &'c Context,
    typename: &'static str,
    fields: BTreeMap<&'static str, Node<'c>>,
}

impl<'c> Node<'c> {
    /// An object whose plain fields are the keys of a JSON object.
    pub fn object(
        context: &'c Context,
        typename: &'static str,
        fields: Vec<(&'static str, Node<'c>)>,
    ) -> Self {
        Self::Object(Rc::new(Object {
            context,
            typename,
            fields: fields.into_iter().collect(),
        }))
    }

    pub fn lazy(make: impl Fn(&JsonMap) -> Result<Node<'c>, FieldError> + 'c) -> Self {
        Self::Lazy(Rc::new(make))
    }

    pub fn null() -> Self {
        Self::Leaf(Value::Null)
    }

    fn resolved<'a>(self) -> ResolvedValue<'a>
    where
        'c: 'a,
    {
        match self {
            Self::Leaf(value) => ResolvedValue::Leaf(JsonValue::from(value)),
            Self::Object(object) => ResolvedValue::Object(Box::new(Shared(object))),
            Self::List(items) => {
                ResolvedValue::List(Box::new(items.into_iter().map(|item| Ok(item.resolved()))))
            }
            Self::Lazy(_) => ResolvedValue::Leaf(JsonValue::Null),
        }
    }
}

impl<T: Into<Value>> From<T> for Node<'_> {
    fn from(value: T) -> Self {
        Self::Leaf(value.into())
    }
}

struct Shared<'c>(Rc<Object<'c>>);

impl ObjectValue for Shared<'_> {
    fn type_name(&self) -> &str {
        self.0.typename
    }

    fn resolve_field<'a>(
        &'a self,
        info: &'a ResolveInfo<'a>,
    ) -> Result<ResolvedValue<'a>, FieldError> {
        let field = info.field_name();
        let Some(node) = self.0.fields.get(field) else {
            let missing = format!("{}.{field}", self.0.typename);
            self.0.context.unanswered.borrow_mut().push(missing);
            return Err(self.unknown_field_error(info));
        };
        match node {
            Node::Lazy(make) => Ok(make(info.arguments())?.resolved()),
            other => Ok(other.clone().resolved()),
        }
    }
}

/// A list in pages.
pub fn connection<'c>(
    context: &'c Context,
    typename: &'static str,
    name: &'static str,
    items: Vec<Node<'c>>,
) -> Node<'c> {
    Node::lazy(move |arguments| {
        let (start, end) = window(context, name, arguments, items.len())?;
        let edge = |index: usize| {
            if start < end {
                cursor(index).into()
            } else {
                Node::null()
            }
        };
        let page = Node::object(
            context,
            "PageInfo",
            vec![
                ("hasNextPage", (end < items.len()).into()),
                ("hasPreviousPage", (start > 0).into()),
                ("startCursor", edge(start + 1)),
                ("endCursor", edge(end)),
            ],
        );
        let fields = vec![
            ("totalCount", items.len().into()),
            ("pageInfo", page),
            ("nodes", Node::List(items[start..end].to_vec())),
        ];
        Ok(Node::object(context, typename, fields))
    })
}

/// Which items a client asked for. GitHub demands that it says how many, and caps it.
fn window(
    context: &Context,
    name: &str,
    arguments: &JsonMap,
    total: usize,
) -> Result<(usize, usize), FieldError> {
    let number = |key: &str| usize::try_from(arguments.get(key)?.as_u64()?).ok();
    let (first, last) = (number("first"), number("last"));
    let Some(size) = first.or(last) else {
        let message = format!(
            "You must provide a `first` or `last` value to properly paginate the `{name}` connection."
        );
        return Err(context.error("MISSING_PAGINATION_BOUNDARIES", message));
    };
    if !(1..=100).contains(&size) {
        let message = format!(
            "Requesting {size} records on the `{name}` connection exceeds the `first` limit of 100 records."
        );
        return Err(context.error("EXCESSIVE_PAGINATION", message));
    }
    let after = arguments
        .get("after")
        .and_then(JsonValue::as_str)
        .map_or(0, cursor_index)
        .min(total);
    if first.is_some() {
        return Ok((after, (after + size).min(total)));
    }
    Ok((total.saturating_sub(size).max(after), total))
}

/// Opaque to clients, as GitHub's are.
fn cursor(index: usize) -> String {
    data_encoding::BASE64.encode(format!("cursor:{index}").as_bytes())
}

fn cursor_index(cursor: &str) -> usize {
    let text = data_encoding::BASE64
        .decode(cursor.as_bytes())
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| text.strip_prefix("cursor:")?.parse().ok())
        .unwrap_or(0)
}

pub fn answer(state: &mut State, identity: &Identity, body: &[u8]) -> Reply {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(query) = request["query"].as_str() else {
        state
            .violations
            .push("a GraphQL request without a query".into());
        return Reply::error(
            400,
            "A query attribute must be specified and must be a string.",
        );
    };
    let extra: Vec<_> = request
        .as_object()
        .into_iter()
        .flat_map(|keys| keys.keys())
        .filter(|key| !["query", "variables", "operationName"].contains(&key.as_str()))
        .collect();
    if !extra.is_empty() {
        state.violations.push(format!(
            "keys that a GraphQL request does not have: {extra:?}"
        ));
    }
    let document = match ExecutableDocument::parse_and_validate(schema(), query, "query.graphql") {
        Ok(document) => document,
        Err(problem) => {
            return refused(
                state,
                query,
                problem.errors.iter().map(|error| error.error.to_string()),
            );
        }
    };
    let variables: JsonMap =
        serde_json::from_value(request["variables"].clone()).unwrap_or_default();
    let operation = request["operationName"].as_str();
    let cost = match Cost::of(operation, &document, &variables) {
        Ok(cost) => cost,
        Err(message) => return refused(state, query, std::iter::once(message)),
    };
    // The resolvers own the state while they run: borrowed, its lifetime would be in every signature.
    let nothing = State::new(String::new(), "", PathBuf::new());
    let context = Context {
        state: RefCell::new(std::mem::replace(state, nothing)),
        identity: identity.clone(),
        cost,
        types: RefCell::default(),
        unanswered: RefCell::default(),
    };
    let executed = execute(&context, &document, operation, &variables);
    let (types, unanswered) = (context.types.into_inner(), context.unanswered.into_inner());
    *state = context.state.into_inner();
    let fields = unanswered
        .into_iter()
        .map(|field| format!("the stand-in does not answer the GraphQL field {field}"));
    state.violations.extend(fields);
    match executed {
        Ok(response) => answered(state, cost, &with_types(response, &types)),
        Err(message) => refused(state, query, std::iter::once(message)),
    }
}

fn answered(state: &mut State, cost: Cost, answer: &Value) -> Reply {
    let bytes = answer.to_string().len();
    state.queries.push(Cost { bytes, ..cost });
    Reply::json(200, answer)
}

fn execute(
    context: &Context,
    document: &Valid<ExecutableDocument>,
    operation: Option<&str>,
    variables: &JsonMap,
) -> Result<Value, String> {
    let operation = document
        .operations
        .get(operation)
        .map_err(|error| error.message().to_string())?;
    let root = nodes::root(context, operation.is_mutation());
    let response = Execution::new(schema(), document)
        .operation(operation)
        .raw_variable_values(variables)
        .execute_sync(&*root)
        .map_err(|error| error.message().to_string())?;
    serde_json::to_value(response).map_err(|error| error.to_string())
}

/// GitHub answers 200 to what is not valid, too.
fn refused(state: &mut State, query: &str, messages: impl Iterator<Item = String>) -> Reply {
    let messages: Vec<String> = messages.collect();
    state
        .violations
        .push(format!("GraphQL: {messages:?} in {query}"));
    let errors: Vec<Value> = messages
        .iter()
        .map(|message| json!({ "message": message }))
        .collect();
    Reply::json(200, &json!({ "errors": errors }))
}

/// GitHub puts the kind of an error at its top level; the executor puts its own words before the message.
fn with_types(mut response: Value, types: &BTreeMap<String, &'static str>) -> Value {
    let Some(fields) = response.as_object_mut() else {
        return response;
    };
    let Some(errors) = fields.get_mut("errors").and_then(Value::as_array_mut) else {
        return response;
    };
    for error in errors {
        let message = error["message"].as_str().unwrap_or_default();
        let message = message
            .strip_prefix("resolver error: ")
            .unwrap_or(message)
            .to_owned();
        if let Some(kind) = types.get(&message) {
            error["type"] = json!(kind);
        }
        error["message"] = json!(message);
    }
    response
}

/// The object at the root, as the executor wants it.
pub fn as_root<'c>(
    context: &'c Context,
    typename: &'static str,
    fields: Vec<(&'static str, Node<'c>)>,
) -> Box<dyn ObjectValue + 'c> {
    Box::new(Shared(Rc::new(Object {
        context,
        typename,
        fields: fields.into_iter().collect(),
    })))
}
