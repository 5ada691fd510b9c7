//! The size of a query as GitHub counts it before it executes anything: the objects that it may answer, of which it refuses more
//! than 500,000, and the points that it counts against the limit of an hour. Only the query and its variables matter.

use apollo_compiler::ExecutableDocument;
use apollo_compiler::executable::{Field, Selection, SelectionSet};
use apollo_compiler::response::{JsonMap, JsonValue};

const MOST_NODES: u64 = 500_000;

/// A query that was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    pub nodes: u64,
    pub points: u64,
    /// Of the answer.
    pub bytes: usize,
}

/// The lists that have to be fetched, each as often as it stands in the answer.
#[derive(Default)]
struct Size {
    nodes: u64,
    lists: u64,
}

impl Cost {
    /// The cost, or GitHub's refusal.
    pub fn of(
        operation: Option<&str>,
        document: &ExecutableDocument,
        variables: &JsonMap,
    ) -> Result<Self, String> {
        let Ok(operation) = document.operations.get(operation) else {
            return Ok(Self::default());
        };
        let mut size = Size::default();
        let walk = Walk {
            document,
            variables,
        };
        walk.add(&operation.selection_set, 1, &mut size);
        if size.nodes > MOST_NODES {
            return Err(format!(
                "This query requests up to {} possible nodes which exceeds the maximum limit of 500,000.",
                size.nodes
            ));
        }
        Ok(Self {
            nodes: size.nodes,
            points: ((size.lists + 50) / 100).max(1),
            bytes: 0,
        })
    }
}

struct Walk<'a> {
    document: &'a ExecutableDocument,
    variables: &'a JsonMap,
}

impl Walk<'_> {
    fn add(&self, set: &SelectionSet, times: u64, size: &mut Size) {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    let times = self.enter(field, times, size);
                    self.add(&field.selection_set, times, size);
                }
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = self.document.fragments.get(&spread.fragment_name) {
                        self.add(&fragment.selection_set, times, size);
                    }
                }
                Selection::InlineFragment(fragment) => {
                    self.add(&fragment.selection_set, times, size);
                }
            }
        }
    }

    /// How often what is below a field stands in the answer.
    fn enter(&self, field: &Field, times: u64, size: &mut Size) -> u64 {
        if !field.ty().inner_named_type().ends_with("Connection") {
            return times;
        }
        let items = times
            * self
                .number(field, "first")
                .or(self.number(field, "last"))
                .unwrap_or(1);
        size.lists += times;
        size.nodes += items;
        items
    }

    fn number(&self, field: &Field, name: &str) -> Option<u64> {
        let argument = field.arguments.iter().find(|one| one.name == name)?;
        if let Some(variable) = argument.value.as_variable() {
            return self
                .variables
                .get(variable.as_str())
                .and_then(JsonValue::as_u64);
        }
        argument
            .value
            .to_i32()
            .and_then(|number| u64::try_from(number).ok())
    }
}
