//! Cells: small texts by name that several processes share. A change names the version that it was made from, and is refused
//! where somebody else was first. Everything else about them is decided by whoever reads them, so it is the same on every store.

use crate::error::Result;
use crate::store::Store;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

/// A text by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub name: String,
    /// The number of changes, 1 for a new one.
    pub version: i64,
    pub text: String,
}

/// A change of a cell, made from the version that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellChange<'a> {
    /// Adds one where there is none of this name.
    Add(&'a str),
    Replace {
        seen: i64,
        text: &'a str,
    },
    Remove {
        seen: i64,
    },
}

impl<'a> CellChange<'a> {
    /// Replaces the cell that was found, or adds one where none was.
    #[must_use]
    pub fn write(found: Option<&Cell>, text: &'a str) -> Self {
        match found {
            Some(cell) => Self::Replace {
                seen: cell.version,
                text,
            },
            None => Self::Add(text),
        }
    }
}

impl Store {
    /// The cells whose names begin like this, in the order of their names.
    pub async fn cells(&self, prefix: &str) -> Result<Vec<Cell>> {
        // No name holds the last character there is.
        let end = format!("{prefix}\u{10ffff}");
        let query = sqlx::query(
            "SELECT name, version, text FROM cell WHERE name >= $1 AND name < $2 ORDER BY name",
        );
        let query = query.bind(prefix).bind(end);
        let rows = self.session().await?.all(query).await?;
        rows.iter().map(cell).collect()
    }

    /// The cell of this name.
    pub async fn cell(&self, name: &str) -> Result<Option<Cell>> {
        let query = sqlx::query("SELECT name, version, text FROM cell WHERE name = $1");
        let row = self.session().await?.optional(query.bind(name)).await?;
        row.as_ref().map(cell).transpose()
    }

    /// The cells of these names. One that is not there is left out.
    pub async fn cells_named(&self, names: &[String]) -> Result<Vec<Cell>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let places = places(names.len());
        let text = format!("SELECT name, version, text FROM cell WHERE name IN ({places})");
        let mut query = sqlx::query(AssertSqlSafe(text));
        for name in names {
            query = query.bind(name);
        }
        let rows = self.session().await?.all(query).await?;
        rows.iter().map(cell).collect()
    }

    /// Changes a cell. False: somebody else was first, and nothing changed.
    pub async fn change_cell(&self, name: &str, change: CellChange<'_>) -> Result<bool> {
        let query = match change {
            CellChange::Add(text) => sqlx::query(
                "INSERT INTO cell (name, version, text) VALUES ($1, 1, $2)
                 ON CONFLICT (name) DO NOTHING",
            )
            .bind(name)
            .bind(text),
            CellChange::Replace { seen, text } => sqlx::query(
                "UPDATE cell SET version = version + 1, text = $3
                 WHERE name = $1 AND version = $2",
            )
            .bind(name)
            .bind(seen)
            .bind(text),
            CellChange::Remove { seen } => {
                sqlx::query("DELETE FROM cell WHERE name = $1 AND version = $2")
                    .bind(name)
                    .bind(seen)
            }
        };
        Ok(self.session().await?.execute(query).await? == 1)
    }
}

/// The places of so many values in a statement: `$1, $2`.
pub(crate) fn places(count: usize) -> String {
    let places: Vec<String> = (1..=count).map(|place| format!("${place}")).collect();
    places.join(", ")
}

fn cell(row: &AnyRow) -> Result<Cell> {
    Ok(Cell {
        name: row.try_get("name")?,
        version: row.try_get("version")?,
        text: row.try_get("text")?,
    })
}
