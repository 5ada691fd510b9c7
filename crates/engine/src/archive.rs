//! The file of an exported store: a head, a line of JSON for each thing, and a seal that tells a whole file from a part of one.
//! Separate, because both drivers write and read the same file, and neither knows the other.

pub(crate) mod wire;

use data_encoding::HEXLOWER;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{self, BufRead, Read, Seek, Write};
use wire::{Head, Last, Line, Seal};

const FORMAT: &str = "opencode-reviewer store";
const VERSION: u32 = 1;
const LONGEST_HEAD: u64 = 4_096;

/// The reason why a file cannot be imported, or not be written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("the file is no exported store; name one that `serve export` has written")]
    Foreign,
    #[error(
        "the file has version {found} of the format, and this program knows {VERSION}; import it with the version that wrote it"
    )]
    OtherVersion { found: u64 },
    #[error(
        "the file is cut off or was changed: its last line does not fit the others; export the store again"
    )]
    Broken,
    #[error("line {line} of the file cannot be read ({why}); export the store again")]
    Unreadable { line: u64, why: String },
    #[error("the file cannot be read or written: {0}")]
    Io(#[from] io::Error),
}

type Result<T> = std::result::Result<T, FileError>;

/// The number of things that were moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    pub lives: u64,
    pub effects: u64,
    pub timers: u64,
    pub agents: u64,
    pub tokens: u64,
    pub cells: u64,
    pub deliveries: u64,
}

impl Moved {
    fn count(&mut self, line: &Line) {
        match line {
            Line::Agent(_) => self.agents += 1,
            Line::Token(_) => self.tokens += 1,
            Line::Cell(_) => self.cells += 1,
            Line::Delivery(_) => self.deliveries += 1,
            Line::Life(whole) => {
                self.lives += 1;
                self.effects += whole.effects.len() as u64;
                self.timers += whole.timers.len() as u64;
            }
        }
    }
}

/// The lines so far, by their number and the hash of their bytes.
#[derive(Default)]
struct Sum {
    lines: u64,
    hash: Sha256,
}

impl Sum {
    fn add(&mut self, line: &[u8]) {
        self.hash.update(line);
        self.lines += 1;
    }

    fn seal(&self) -> Seal {
        Seal {
            lines: self.lines,
            sha256: HEXLOWER.encode(&self.hash.clone().finalize()),
        }
    }
}

/// Writes a file, line by line.
pub(crate) struct Writer<'a> {
    to: &'a mut (dyn Write + Send),
    sum: Sum,
    moved: Moved,
}

impl<'a> Writer<'a> {
    /// Begins a file with its head.
    pub(crate) fn begin(to: &'a mut (dyn Write + Send), store: &str, at: i64) -> Result<Self> {
        let mut writer = Self {
            to,
            sum: Sum::default(),
            moved: Moved::default(),
        };
        writer.write(&Head {
            format: FORMAT.to_owned(),
            version: VERSION,
            store: store.to_owned(),
            at,
        })?;
        Ok(writer)
    }

    pub(crate) fn put(&mut self, line: &Line) -> Result<()> {
        self.moved.count(line);
        self.write(line)
    }

    /// Ends the file with its seal.
    pub(crate) fn end(mut self) -> Result<Moved> {
        let end = self.sum.seal();
        self.write(&Last { end })?;
        self.to.flush()?;
        Ok(self.moved)
    }

    fn write(&mut self, line: &impl Serialize) -> Result<()> {
        let mut bytes = serde_json::to_vec(line).map_err(io::Error::from)?;
        bytes.push(b'\n');
        self.sum.add(&bytes);
        self.to.write_all(&bytes)?;
        Ok(())
    }
}

/// A file that can be read twice.
pub trait Source: BufRead + Seek + Send {}

impl<T: BufRead + Seek + Send> Source for T {}

/// Reads a file that is whole, line by line.
pub(crate) struct Reader<'a> {
    from: &'a mut dyn Source,
    sum: Sum,
    pub(crate) head: Head,
    /// Of the whole file.
    pub(crate) sha256: String,
    moved: Moved,
    ended: bool,
}

impl<'a> Reader<'a> {
    /// Reads a file once to its end, and begins anew if it is whole.
    pub(crate) fn open(from: &'a mut dyn Source) -> Result<Self> {
        from.rewind()?;
        let mut sum = Sum::default();
        let head = read_head(from, &mut sum)?;
        let mut reader = Self {
            from,
            sum,
            head,
            sha256: String::new(),
            moved: Moved::default(),
            ended: false,
        };
        while reader.next()?.is_some() {}
        reader.sha256 = reader.sum.seal().sha256;
        reader.from.rewind()?;
        (reader.sum, reader.moved) = (Sum::default(), Moved::default());
        reader.ended = false;
        read_head(reader.from, &mut reader.sum)?;
        Ok(reader)
    }

    /// The next line; none after the seal.
    pub(crate) fn next(&mut self) -> Result<Option<Line>> {
        if self.ended {
            return Ok(None);
        }
        let bytes = line(self.from)?.ok_or(FileError::Broken)?;
        if let Ok(Last { end }) = serde_json::from_slice(&bytes) {
            self.ended = self.from.fill_buf()?.is_empty() && end == self.sum.seal();
            return if self.ended {
                Ok(None)
            } else {
                Err(FileError::Broken)
            };
        }
        let read = serde_json::from_slice(&bytes);
        self.sum.add(&bytes);
        let line: Line = read.map_err(|error| FileError::Unreadable {
            line: self.sum.lines,
            why: error.to_string(),
        })?;
        self.moved.count(&line);
        Ok(Some(line))
    }

    /// The things that were read so far.
    pub(crate) fn moved(&self) -> Moved {
        self.moved
    }
}

fn read_head(from: &mut dyn Source, sum: &mut Sum) -> Result<Head> {
    // A file of something else can be one long line.
    let bytes = line(&mut Read::take(&mut *from, LONGEST_HEAD))?.ok_or(FileError::Foreign)?;
    let told: Value = serde_json::from_slice(&bytes).map_err(|_| FileError::Foreign)?;
    let version = told["version"]
        .as_u64()
        .filter(|_| told["format"] == FORMAT);
    let version = version.ok_or(FileError::Foreign)?;
    if version != u64::from(VERSION) {
        return Err(FileError::OtherVersion { found: version });
    }
    sum.add(&bytes);
    serde_json::from_value(told).map_err(|_| FileError::Foreign)
}

/// The next line with its end; none at the end of the file. A line without an end is a part of one.
fn line(from: &mut (impl BufRead + ?Sized)) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.read_until(b'\n', &mut bytes)?;
    Ok(bytes.ends_with(b"\n").then_some(bytes))
}

#[cfg(test)]
#[path = "archive/tests.rs"]
mod tests;
