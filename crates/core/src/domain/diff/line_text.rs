//! The text of a line as a stretch of a buffer that the lines of a hunk share. Separate because a string for each line
//! would cost more than most lines hold.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The text of one line, without its line feed. A copy shares the buffer.
#[derive(Clone, Default)]
pub struct LineText {
    buffer: Arc<String>,
    start: u32,
    end: u32,
}

impl LineText {
    /// A stretch of a buffer; empty where the buffer has no such stretch.
    pub(super) fn within(buffer: &Arc<String>, range: Range<u32>) -> Self {
        Self {
            buffer: Arc::clone(buffer),
            start: range.start,
            end: range.end,
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        let range = usize::try_from(self.start)
            .ok()
            .zip(usize::try_from(self.end).ok());
        range
            .and_then(|(start, end)| self.buffer.get(start..end))
            .unwrap_or_default()
    }
}

impl Deref for LineText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<String> for LineText {
    fn from(text: String) -> Self {
        Self {
            start: 0,
            end: u32::try_from(text.len()).unwrap_or(u32::MAX),
            buffer: Arc::new(text),
        }
    }
}

impl From<&str> for LineText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl PartialEq for LineText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for LineText {}

impl PartialEq<&str> for LineText {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for LineText {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

impl fmt::Debug for LineText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for LineText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
