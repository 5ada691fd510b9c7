//! Values drawn from bytes. Separate, because every property needs them: a byte chooses, and what is chosen from is
//! what makes trouble, so that a small change of the bytes is a small change of the input.

use serde_json::{Map, Value, json};

/// Bytes that have not chosen yet. When they are used up, every choice is the first one.
#[derive(Debug, Clone)]
pub struct Draw<'a>(&'a [u8]);

impl<'a> Draw<'a> {
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// Yes or no.
    pub fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// All that is left, as it is.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// The text up to the next zero: ASCII as it is, a piece for every other byte, and 255 before the number of any
    /// character that there is.
    pub fn text(&mut self, pieces: &[&str]) -> String {
        let mut text = String::new();
        while !self.0.is_empty() {
            match self.byte() {
                0 => break,
                255 => {
                    let number = [self.byte(), self.byte(), self.byte()];
                    let number = u32::from_be_bytes([0, number[0], number[1], number[2]]);
                    text.push(char::from_u32(number).unwrap_or('\0'));
                }
                byte if byte.is_ascii() => text.push(char::from(byte)),
                byte => text.push_str(pieces[usize::from(byte - 0x80) % pieces.len()]),
            }
        }
        text
    }

    /// The value with a few places in it changed, left out or added to.
    #[must_use]
    pub fn bent(&mut self, mut value: Value, pieces: &[&str]) -> Value {
        for _ in 0..self.below(6) {
            self.bend(&mut value, pieces);
        }
        value
    }

    fn bend(&mut self, value: &mut Value, pieces: &[&str]) {
        let stop = self.byte() % 8 == 7;
        match value {
            Value::Object(fields) if !stop && !fields.is_empty() => {
                let place = self.below(fields.len());
                let name = fields.keys().nth(place).cloned().unwrap_or_default();
                match self.byte() % 8 {
                    0 => drop(fields.remove(&name)),
                    1 => {
                        let added = self.text(pieces);
                        let other = self.value(pieces);
                        fields.insert(added, other);
                    }
                    _ => self.bend(&mut fields[&name], pieces),
                }
            }
            Value::Array(items) if !stop && !items.is_empty() => {
                let place = self.below(items.len());
                self.bend(&mut items[place], pieces);
            }
            other => *other = self.value(pieces),
        }
    }

    /// Any kind of value, mostly text.
    pub fn value(&mut self, pieces: &[&str]) -> Value {
        match self.byte() % 16 {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(false),
            3 => json!(self.byte()),
            4 => json!(-i64::from(self.byte())),
            5 => json!(f64::from(self.byte()) + 0.5),
            6 => json!(u64::MAX),
            7 => json!(i64::MIN),
            8 => json!(u64::from(u32::MAX) + u64::from(self.byte() % 2)),
            9 => json!([self.text(pieces), self.byte()]),
            10 => {
                let name = self.text(pieces);
                let inner = self.text(pieces);
                Value::Object(Map::from_iter([(name, json!(inner))]))
            }
            11 => nested(usize::from(self.byte())),
            _ => Value::String(self.text(pieces)),
        }
    }
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Null, |inner, _| json!([inner]))
}
