//! SARIF 2.1.0 as tools write it: the few fields that are read. A tool ran over the code of a pull request, so each list is cut and
//! everything else is passed over.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// The runs of a file, the results of a run, and the rules of one part of a tool that are read. With them, a file of any content
/// stays within some 60 MB.
const RUNS: usize = 10;
const RESULTS: usize = 5_000;
const RULES: usize = 5_000;
const EXTENSIONS: usize = 10;
const ARTIFACTS: usize = 20_000;
const FEW: usize = 10;

type Text = Option<Box<str>>;

/// The parts by which a SARIF file is recognised.
#[derive(Deserialize)]
pub(super) struct Head {
    pub version: Option<Scalar>,
    pub runs: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct Log {
    pub runs: Capped<Run, RUNS>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub tool: Tool,
    /// Null where the tool could not begin.
    pub results: Option<Capped<Finding, RESULTS>>,
    pub original_uri_base_ids: Option<CappedMap<ArtifactLocation, FEW>>,
    pub artifacts: Option<Capped<Artifact, ARTIFACTS>>,
    pub invocations: Option<Capped<Invocation, FEW>>,
}

#[derive(Deserialize)]
pub(super) struct Tool {
    pub driver: Component,
    pub extensions: Option<Capped<Component, EXTENSIONS>>,
}

#[derive(Deserialize)]
pub(super) struct Component {
    pub name: Text,
    pub rules: Option<Capped<Rule, RULES>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    pub id: Text,
    pub short_description: Option<Message>,
    pub default_configuration: Option<Configuration>,
    pub message_strings: Option<Box<CappedMap<Message, FEW>>>,
    pub properties: Option<Properties>,
}

#[derive(Deserialize)]
pub(super) struct Configuration {
    pub level: Text,
}

#[derive(Deserialize)]
pub(super) struct Properties {
    #[serde(rename = "security-severity")]
    pub security_severity: Option<Scalar>,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub text: Text,
    /// The name of a text of the rule.
    pub id: Text,
    pub arguments: Option<Capped<Box<str>, FEW>>,
}

/// A result, under another name than the language's own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    pub rule_id: Text,
    pub rule_index: Option<i64>,
    pub rule: Option<Box<RuleReference>>,
    pub kind: Text,
    pub level: Text,
    pub message: Option<Message>,
    pub locations: Option<Capped<Location, FEW>>,
    pub suppressions: Option<Capped<Suppression, FEW>>,
    pub baseline_state: Text,
    pub properties: Option<Properties>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RuleReference {
    pub id: Text,
    pub index: Option<i64>,
    pub tool_component: Option<Index>,
}

#[derive(Deserialize)]
pub(super) struct Index {
    pub index: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct Suppression {
    pub status: Text,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    pub physical_location: Option<PhysicalLocation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub artifact_location: Option<ArtifactLocation>,
    pub region: Option<Region>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    pub uri: Text,
    pub uri_base_id: Text,
    pub index: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct Artifact {
    pub location: Option<ArtifactLocation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub start_line: Option<i64>,
    pub end_line: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub execution_successful: Option<bool>,
}

/// The first elements of a list, and the number of the others.
pub(super) struct Capped<T, const MOST: usize> {
    pub kept: Vec<T>,
    pub more: usize,
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Capped<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<T, const MOST: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for List<T, MOST> {
            type Value = Capped<T, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let (mut kept, mut more) = (Vec::new(), 0);
                while kept.len() < MOST {
                    match list.next_element()? {
                        Some(element) => kept.push(element),
                        None => return Ok(Capped { kept, more }),
                    }
                }
                while list.next_element::<IgnoredAny>()?.is_some() {
                    more += 1;
                }
                Ok(Capped { kept, more })
            }
        }
        deserializer.deserialize_seq(List(PhantomData))
    }
}

/// The first entries of a map.
pub(super) struct CappedMap<T, const MOST: usize>(pub BTreeMap<Box<str>, T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for CappedMap<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map<T, const MOST: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Map<T, MOST> {
            type Value = CappedMap<T, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut kept = BTreeMap::new();
                while kept.len() < MOST {
                    match map.next_entry()? {
                        Some((name, value)) => drop(kept.insert(name, value)),
                        None => return Ok(CappedMap(kept)),
                    }
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(CappedMap(kept))
            }
        }
        deserializer.deserialize_map(Map(PhantomData))
    }
}

/// A value that some write as text and others as a number; nothing where it is neither.
pub(super) struct Scalar(pub Option<String>);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(Some(text.to_owned())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar(Some(number.to_string())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar(Some(number.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(Some(number.to_string())))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
                Ok(Scalar(None))
            }

            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar(None))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar(None))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
