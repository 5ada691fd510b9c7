//! Reads a request's body as it passes: is it one JSON object, and does it ask for the configured model? Pure and
//! incremental, because a request must be judged without being kept: what is wrong is known before its last byte.

/// No request of an adapter nests deeper.
const DEEPEST: usize = 256;
/// Longer keys are told apart from short ones, and that is all.
const LONGEST_KEY: usize = 64;

/// Keys by which some endpoints take another model, or go to another place with a key of their own.
const ASTRAY: &[&str] = &[
    "models",
    "fallbacks",
    "fallback_models",
    "api_base",
    "api_key",
    "base_url",
];

/// Why a body is not passed on.
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
    #[error("its body has the key {0}, which may lead to another model or host")]
    Astray(&'static str),
    #[error("its body has a key that is not plain ASCII")]
    OddKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but white space yet.
    Start,
    /// After `{`, or after a comma in an object.
    Key {
        may_close: bool,
    },
    Colon,
    /// After a colon, `[`, or a comma in an array.
    Value {
        may_close: bool,
    },
    AfterValue,
    Text,
    Escape,
    /// How many of the four digits have come, and their value.
    Unicode(u8, u16),
    Number,
    /// What has to follow of `true`, `false` or `null`.
    Word(&'static [u8]),
    Done,
}

/// Follows one body.
#[derive(Debug)]
pub(super) struct Scanner {
    /// `None`: the model is named elsewhere, and must not be named here.
    model: Option<String>,
    state: State,
    /// `true` for an object.
    open: Vec<bool>,
    /// Whether the text that is read is a key.
    in_key: bool,
    /// The text that is read, where it matters. A byte that is no ASCII stands for whatever is none.
    text: Vec<u8>,
    /// The value that follows names the model.
    at_model: bool,
    seen: bool,
}

impl Scanner {
    pub(super) fn new(model: Option<String>) -> Self {
        Self {
            model,
            state: State::Start,
            open: Vec::new(),
            in_key: false,
            text: Vec::new(),
            at_model: false,
            seen: false,
        }
    }

    /// The next bytes. After a fault the rest does not matter.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), BodyFault> {
        bytes.iter().try_for_each(|byte| self.step(*byte))
    }

    /// Nothing follows.
    pub(super) fn finish(&self) -> Result<(), BodyFault> {
        if self.state == State::Done {
            Ok(())
        } else {
            Err(BodyFault::NotAnObject)
        }
    }

    fn step(&mut self, byte: u8) -> Result<(), BodyFault> {
        match self.state {
            State::Text | State::Escape | State::Unicode(..) => return self.in_text(byte),
            State::Word([next, rest @ ..]) if *next == byte => {
                self.state = match rest {
                    [] => State::AfterValue,
                    rest => State::Word(rest),
                };
                return Ok(());
            }
            State::Word(_) => return Err(BodyFault::NotAnObject),
            State::Number if matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') => {
                return Ok(());
            }
            State::Number => self.state = State::AfterValue,
            _ => {}
        }
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(());
        }
        self.state = match (self.state, byte) {
            (State::Start, b'{') => self.enter(true)?,
            (State::Key { .. }, b'"') => self.text(true),
            (State::Key { may_close: true } | State::AfterValue, b'}') => self.leave(true)?,
            (State::Value { may_close: true } | State::AfterValue, b']') => self.leave(false)?,
            (State::Value { .. }, byte) => self.value(byte)?,
            (State::AfterValue, b',') if self.open.last() == Some(&true) => {
                State::Key { may_close: false }
            }
            (State::Colon, b':') | (State::AfterValue, b',') => State::Value { may_close: false },
            _ => return Err(BodyFault::NotAnObject),
        };
        Ok(())
    }

    fn value(&mut self, byte: u8) -> Result<State, BodyFault> {
        if self.at_model && byte != b'"' {
            return Err(BodyFault::OtherModel);
        }
        Ok(match byte {
            b'"' => self.text(false),
            b'{' => self.enter(true)?,
            b'[' => self.enter(false)?,
            b't' => State::Word(b"rue"),
            b'f' => State::Word(b"alse"),
            b'n' => State::Word(b"ull"),
            b'-' | b'0'..=b'9' => State::Number,
            _ => return Err(BodyFault::NotAnObject),
        })
    }

    fn text(&mut self, key: bool) -> State {
        self.in_key = key;
        self.text.clear();
        State::Text
    }

    fn enter(&mut self, object: bool) -> Result<State, BodyFault> {
        if self.open.len() == DEEPEST {
            return Err(BodyFault::NotAnObject);
        }
        self.open.push(object);
        Ok(if object {
            State::Key { may_close: true }
        } else {
            State::Value { may_close: true }
        })
    }

    fn leave(&mut self, object: bool) -> Result<State, BodyFault> {
        if self.open.pop() != Some(object) {
            return Err(BodyFault::NotAnObject);
        }
        if !self.open.is_empty() {
            return Ok(State::AfterValue);
        }
        if self.model.is_some() && !self.seen {
            return Err(BodyFault::NoModel);
        }
        Ok(State::Done)
    }

    fn in_text(&mut self, byte: u8) -> Result<(), BodyFault> {
        self.state = match (self.state, byte) {
            (State::Text, b'"') => self.end_of_text()?,
            (State::Text, b'\\') => State::Escape,
            (State::Text, 0..0x20) => return Err(BodyFault::NotAnObject),
            (State::Text, byte) => self.append(byte),
            (State::Escape, b'u') => State::Unicode(0, 0),
            (State::Escape, b'"' | b'\\' | b'/') => self.append(byte),
            (State::Escape, b'b' | b'f' | b'n' | b'r' | b't') => self.append(0),
            (State::Unicode(count, unit), byte) => {
                let digit = char::from(byte).to_digit(16);
                let digit = digit.ok_or(BodyFault::NotAnObject)?;
                let unit = (unit << 4) | u16::try_from(digit).unwrap_or_default();
                if count == 3 {
                    self.append(u8::try_from(unit).unwrap_or(0xFF))
                } else {
                    State::Unicode(count + 1, unit)
                }
            }
            _ => return Err(BodyFault::NotAnObject),
        };
        Ok(())
    }

    fn append(&mut self, byte: u8) -> State {
        let longest = match &self.model {
            Some(model) if !self.in_key => model.len() + 1,
            _ => LONGEST_KEY,
        };
        if self.open.len() == 1 && (self.in_key || self.at_model) && self.text.len() < longest {
            self.text.push(byte);
        }
        State::Text
    }

    fn end_of_text(&mut self) -> Result<State, BodyFault> {
        if self.in_key {
            if self.open.len() == 1 {
                self.judge_key()?;
            }
            return Ok(State::Colon);
        }
        if self.at_model {
            if self.model.as_ref().map(String::as_bytes) != Some(&self.text) {
                return Err(BodyFault::OtherModel);
            }
            (self.seen, self.at_model) = (true, false);
        }
        Ok(State::AfterValue)
    }

    fn judge_key(&mut self) -> Result<(), BodyFault> {
        if !self.text.iter().all(u8::is_ascii_graphic) {
            return Err(BodyFault::OddKey);
        }
        let is = |name: &&&str| self.text.eq_ignore_ascii_case(name.as_bytes());
        if let Some(name) = ASTRAY.iter().find(is) {
            return Err(BodyFault::Astray(name));
        }
        if self.text.eq_ignore_ascii_case(b"model") {
            if self.text != b"model" || self.seen {
                return Err(BodyFault::TwoModels);
            }
            if self.model.is_none() {
                return Err(BodyFault::OtherModel);
            }
            self.at_model = true;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
