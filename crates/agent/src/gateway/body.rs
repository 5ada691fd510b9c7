//! Reads a request's body: is it one JSON object, does it ask for the configured model, and does it hold nothing but
//! what its wire format lists? Pure. serde_json parses, and a visitor follows the table of the wire format: it builds no
//! tree, and keeps nothing of what it reads but the keys of the objects that are open.
//!
//! An accepted body is sent on byte for byte. Another parser cannot read it otherwise: no key stands twice in an object
//! after unescaping, none differs from a listed one in its spelling only, and the JSON is strict, with nothing after
//! it.

use super::shapes::{NEVER_AT_TOP, Shape, Wire};
use super::url_like::{is_address, is_inline};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

/// No object of an adapter has more keys; they are kept while it is read.
const MOST_KEYS: usize = 10_000;
/// Names of the sidecar's choice are shown up to this length.
const LONGEST_NAME: usize = 48;
const LONGEST_PATH: usize = 160;
/// A tool that does nothing. OpenCode offers it where an endpoint wants a tool and the run has none left.
const NOOP: &str = "_noop";

/// The reason for not passing on a body. Paths are made of plain names, without indices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BodyFault {
    #[error("its body is not one JSON object")]
    NotAnObject,
    #[error("its body names no model")]
    NoModel,
    #[error("its body names another model")]
    OtherModel,
    #[error("its body names the model more than once, or in an odd spelling")]
    TwoModels,
    #[error(
        "its body has the key {0}, which may lead to another model or host, or have the provider keep or do things"
    )]
    Never(String),
    #[error("its body has a key that is not plain ASCII")]
    OddKey,
    #[error("its body has the key {0} in an odd spelling")]
    OddSpelling(String),
    #[error("its body has the key {0} more than once")]
    Twice(String),
    #[error("its body has more keys in one object than any request of OpenCode")]
    ManyKeys,
    #[error("its body has an unknown {kind} at {path}")]
    Unknown { kind: &'static str, path: String },
    #[error("its body has {value} at {path}, which is none of the known values")]
    Value { value: String, path: String },
    #[error("its body has an address at {0}, where only inline data is passed on")]
    Address(String),
    #[error("its body has {value} at {path}, which is no tool of this run")]
    Tool { value: String, path: String },
    #[error(
        "its body has an item without type and role at {0}, which may stand for one that the provider keeps"
    )]
    Untyped(String),
    #[error("its body does not set {0} to false")]
    NotOff(String),
}

/// The requirements that a body has to meet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// `None`: the model is named elsewhere, and must not be named here.
    pub(super) model: Option<&'a str>,
    pub(super) wire: &'static Wire,
    /// The tools of the run.
    pub(super) tools: &'a [String],
}

/// Judges a whole body.
pub(super) fn judge(body: &[u8], wanted: &Wanted<'_>) -> Result<(), BodyFault> {
    let reader = Reader {
        wanted,
        fault: RefCell::new(None),
    };
    let place = BodyPlace::Top;
    let top = Spot {
        reader: &reader,
        shape: &wanted.wire.body,
        place: &place,
    };
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = top.deserialize(&mut json).and_then(|()| json.end());
    match (read, reader.fault.take()) {
        (_, Some(fault)) => Err(fault),
        (Err(_), None) => Err(BodyFault::NotAnObject),
        (Ok(()), None) => Ok(()),
    }
}

struct Reader<'a> {
    wanted: &'a Wanted<'a>,
    /// The first fault. The parser's own errors could not carry it.
    fault: RefCell<Option<BodyFault>>,
}

/// A position inside a body.
#[derive(Clone, Copy)]
enum BodyPlace<'a> {
    Top,
    Key(&'a BodyPlace<'a>, &'a str),
    Item(&'a BodyPlace<'a>),
}

impl fmt::Display for BodyPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Key(BodyPlace::Top, key) => f.write_str(plain(key)),
            Self::Key(above, key) => write!(f, "{above}.{}", plain(key)),
            Self::Item(above) => write!(f, "{above}[]"),
        }
    }
}

/// A name that the sidecar chose, fit for a log and a sentence.
pub(super) fn plain(name: &str) -> &str {
    let fit = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte);
    let short = (1..=LONGEST_NAME).contains(&name.len());
    if short && name.bytes().all(fit) {
        name
    } else {
        "…"
    }
}

/// One value, before it is read.
#[derive(Clone, Copy)]
struct Spot<'a> {
    reader: &'a Reader<'a>,
    shape: &'a Shape,
    place: &'a BodyPlace<'a>,
}

/// A value that is neither an object nor a list.
#[derive(Clone, Copy)]
enum Scalar<'a> {
    Null,
    False,
    Text(&'a str),
    Other,
}

impl Spot<'_> {
    fn path(&self) -> String {
        let path = self.place.to_string();
        match path.char_indices().rev().nth(LONGEST_PATH) {
            Some((from, _)) => format!("…{}", &path[from..]),
            None => path,
        }
    }

    fn path_of(&self, key: &str) -> String {
        let place = &BodyPlace::Key(self.place, key);
        Spot { place, ..*self }.path()
    }

    fn shown(value: Scalar<'_>) -> String {
        match value {
            Scalar::Text(text) => format!("the value {}", plain(text)),
            _ => "another value".to_owned(),
        }
    }

    /// A value that is read to its end.
    fn one<E: Error>(self, value: Scalar<'_>) -> Result<(), E> {
        if let BodyPlace::Top = self.place {
            return self.told(Err(BodyFault::NotAnObject));
        }
        self.told(self.scalar(value))
    }

    fn scalar(&self, value: Scalar<'_>) -> Result<(), BodyFault> {
        let (wanted, path) = (self.reader.wanted, || self.path());
        let passes = match (self.shape, value) {
            (Shape::Off, value) => matches!(value, Scalar::False),
            (Shape::Model, Scalar::Text(name)) => wanted.model == Some(name),
            (Shape::Is(words), Scalar::Text(word)) => words.contains(&word),
            (Shape::Tool, Scalar::Text(name)) => is_offered(name, wanted.tools),
            (Shape::Data, Scalar::Text(url)) => url.starts_with("data:"),
            (Shape::Inline, Scalar::Text(data)) => is_inline(data),
            (Shape::Plain | Shape::Object(_) | Shape::Each(_), Scalar::Text(text)) => {
                !is_address(text)
            }
            (Shape::Tool | Shape::Data | Shape::Inline | Shape::List(Shape::Only(_)), value) => {
                matches!(value, Scalar::Null)
            }
            (shape, _) => matches!(
                shape,
                Shape::Free
                    | Shape::Text
                    | Shape::Plain
                    | Shape::List(_)
                    | Shape::Object(_)
                    | Shape::Each(_)
            ),
        };
        if passes {
            return Ok(());
        }
        Err(match self.shape {
            Shape::Off => BodyFault::NotOff(path()),
            Shape::Model => BodyFault::OtherModel,
            Shape::Is(_) => BodyFault::Value {
                value: Self::shown(value),
                path: path(),
            },
            Shape::Tool => BodyFault::Tool {
                value: Self::shown(value),
                path: path(),
            },
            Shape::Never => BodyFault::Never(path()),
            Shape::Unlisted | Shape::List(_) | Shape::Only(_) | Shape::Item(_) => {
                self.unknown("value")
            }
            _ => BodyFault::Address(path()),
        })
    }

    /// The shape of each item, if this may be a list.
    fn items(&self) -> Result<&Shape, BodyFault> {
        match self.shape {
            Shape::Free => Ok(self.shape),
            Shape::List(item) => Ok(item),
            _ => Err(self.unknown("list")),
        }
    }

    fn unknown(&self, kind: &'static str) -> BodyFault {
        match (self.shape, self.place) {
            (_, BodyPlace::Top) => BodyFault::NotAnObject,
            (Shape::Model, _) => BodyFault::OtherModel,
            (Shape::Never, _) => BodyFault::Never(self.path()),
            _ => BodyFault::Unknown {
                kind,
                path: self.path(),
            },
        }
    }

    /// Fails unless an object may stand here.
    fn opens(&self) -> Result<(), BodyFault> {
        match self.shape {
            Shape::Free
            | Shape::Data
            | Shape::Each(_)
            | Shape::Object(_)
            | Shape::Only(_)
            | Shape::Item(_) => Ok(()),
            _ => Err(self.unknown("object")),
        }
    }

    /// The shape of what stands under this key of an object.
    fn under(&self, key: &str) -> Result<&Shape, BodyFault> {
        const DATA: &[(&str, Shape)] = &[("url", Shape::Data)];
        if let Shape::Free = self.shape {
            return Ok(self.shape);
        }
        if !is_plain(key) {
            return Err(BodyFault::OddKey);
        }
        if let BodyPlace::Top = self.place
            && let Some(shape) = self.at_top(key)?
        {
            return Ok(shape);
        }
        let listed = match self.shape {
            Shape::Each(shape) => return Ok(shape),
            Shape::Object(listed) | Shape::Only(listed) | Shape::Item(listed) => *listed,
            Shape::Data => DATA,
            _ => &[],
        };
        if let Some((_, shape)) = listed.iter().find(|(name, _)| *name == key) {
            return Ok(shape);
        }
        if listed.iter().any(|(name, _)| is_alike(name, key)) {
            return Err(BodyFault::OddSpelling(self.path_of(key)));
        }
        Ok(match self.shape {
            Shape::Only(_) => &Shape::Unlisted,
            _ => &Shape::Plain,
        })
    }

    fn at_top(&self, key: &str) -> Result<Option<&'static Shape>, BodyFault> {
        if NEVER_AT_TOP.iter().any(|name| is_alike(name, key)) {
            return Err(BodyFault::Never(self.path_of(key)));
        }
        if !key.eq_ignore_ascii_case("model") {
            return Ok(None);
        }
        if key != "model" {
            return Err(BodyFault::TwoModels);
        }
        if self.reader.wanted.model.is_none() {
            return Err(BodyFault::OtherModel);
        }
        Ok(Some(&Shape::Model))
    }

    /// The fault for a key that stands twice.
    fn twice(&self, key: &str) -> BodyFault {
        match (self.place, key) {
            (BodyPlace::Top, "model") => BodyFault::TwoModels,
            _ => BodyFault::Twice(self.path_of(key)),
        }
    }

    /// At the end of the object with these keys.
    fn complete(&self, keys: &HashSet<Cow<'_, str>>) -> Result<(), BodyFault> {
        let named = keys.contains("type") || keys.contains("role");
        if matches!(self.shape, Shape::Item(_)) && !named {
            return Err(BodyFault::Untyped(self.path()));
        }
        let BodyPlace::Top = self.place else {
            return Ok(());
        };
        let wanted = self.reader.wanted;
        if wanted.model.is_some() && !keys.contains("model") {
            return Err(BodyFault::NoModel);
        }
        let mut required = wanted.wire.required.iter();
        let missing = required.find(|key| !keys.contains(**key));
        missing.map_or(Ok(()), |key| Err(BodyFault::NotOff((*key).to_owned())))
    }

    /// The same as the parser's kind of error, with the fault kept beside.
    fn told<T, E: Error>(&self, judged: Result<T, BodyFault>) -> Result<T, E> {
        judged.map_err(|fault| {
            let error = E::custom(&fault);
            self.reader.fault.replace(Some(fault));
            error
        })
    }
}

/// True if a key is written in visible ASCII.
fn is_plain(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Some readers take keys in any case, or with and without underscores.
fn is_alike(name: &str, key: &str) -> bool {
    let letters = |text: &str| -> Vec<u8> {
        let letters = text.bytes().filter(|byte| *byte != b'_');
        letters.map(|byte| byte.to_ascii_lowercase()).collect()
    };
    name.len().abs_diff(key.len()) <= 4 && letters(name) == letters(key)
}

fn is_offered(name: &str, tools: &[String]) -> bool {
    name == NOOP || tools.iter().any(|tool| tool == name)
}

impl<'de> DeserializeSeed<'de> for Spot<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Spot<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.one(Scalar::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.one(if value { Scalar::Other } else { Scalar::False })
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.one(Scalar::Other)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.one(Scalar::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.one(Scalar::Other)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.one(Scalar::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let shape = self.told(self.items())?;
        let place = BodyPlace::Item(self.place);
        let item = Spot {
            shape,
            place: &place,
            ..self
        };
        while list.next_element_seed(item)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        self.told(self.opens())?;
        let mut keys = HashSet::new();
        while let Some(Key(key)) = object.next_key()? {
            if keys.contains(&key) {
                return self.told(Err(self.twice(&key)));
            }
            if keys.len() == MOST_KEYS {
                return self.told(Err(BodyFault::ManyKeys));
            }
            let shape = self.told(self.under(&key))?;
            let place = BodyPlace::Key(self.place, &key);
            object.next_value_seed(Spot {
                shape,
                place: &place,
                ..self
            })?;
            keys.insert(key);
        }
        self.told(self.complete(&keys))
    }
}

/// A key, borrowed from the body where it is not escaped.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
