//! The table of passes. Adding one is a prompt and a row: numbers and totals follow from the table, and what the code
//! does for a pass alone hangs on its role.

use super::PassNumber;

/// The part that a pass plays in a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Reads the diffs, part after part.
    Diffs,
    /// Follows the change outwards.
    Structure,
    /// Its findings are security findings unless they say otherwise.
    Security,
    /// Challenges what the others have found, and may raise a score.
    Consolidation,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub role: Role,
    pub title: &'static str,
    /// Its subject in a few words, as the check run lists it.
    pub topic: &'static str,
    pub prompt: &'static str,
}

/// The passes of a review, in their order.
#[derive(Debug, Clone, Copy)]
pub struct Passes(&'static [Row]);

/// The passes of every review.
pub const PASSES: Passes = Passes(&[
    Row {
        role: Role::Diffs,
        title: "Atomic diff review",
        topic: "the diff",
        prompt: include_str!("../prompts/pass-1.md"),
    },
    Row {
        role: Role::Structure,
        title: "Structural review",
        topic: "the structure around it",
        prompt: include_str!("../prompts/pass-2.md"),
    },
    Row {
        role: Role::Security,
        title: "Security and rules",
        topic: "security and rules",
        prompt: include_str!("../prompts/pass-3.md"),
    },
    Row {
        role: Role::Consolidation,
        title: "Consolidation",
        topic: "consolidation",
        prompt: include_str!("../prompts/pass-4.md"),
    },
]);

impl Default for Passes {
    fn default() -> Self {
        PASSES
    }
}

/// A pass of a table.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    pub number: PassNumber,
    pub row: &'static Row,
    /// The table that it is of.
    pub passes: Passes,
}

impl Pass {
    /// Its number with the total, such as `3 of 4`.
    #[must_use]
    pub fn place(&self) -> String {
        self.passes.place(self.number)
    }
}

impl Passes {
    /// All passes, in their order.
    pub fn all(self) -> impl Iterator<Item = Pass> {
        let numbers = (1..=self.total()).filter_map(|number| PassNumber::new(number.into()));
        numbers.zip(self.0).map(move |(number, row)| Pass {
            number,
            row,
            passes: self,
        })
    }

    /// The number of passes.
    #[must_use]
    pub fn total(self) -> u8 {
        u8::try_from(self.0.len()).unwrap_or(u8::MAX)
    }

    /// The number of a pass that exists.
    #[must_use]
    pub(crate) fn number(self, given: u64) -> Option<PassNumber> {
        PassNumber::new(given).filter(|number| number.get() <= self.total())
    }

    /// The number of the pass that follows.
    #[must_use]
    pub(crate) fn after(self, number: PassNumber) -> Option<PassNumber> {
        self.number(u64::from(number.get()) + 1)
    }

    /// The role of a pass, if it exists.
    #[must_use]
    pub(crate) fn role(self, number: PassNumber) -> Option<Role> {
        let row = self.0.get(usize::from(number.get()) - 1);
        row.map(|row| row.role)
    }

    /// The number of the first pass with a role.
    #[must_use]
    pub(crate) fn first(self, role: Role) -> Option<PassNumber> {
        let mut passes = self.all();
        passes
            .find(|pass| pass.row.role == role)
            .map(|pass| pass.number)
    }

    /// A number with the total, such as `3 of 4`.
    #[must_use]
    pub fn place(self, number: PassNumber) -> String {
        format!("{number} of {}", self.total())
    }
}

/// A table that is not the product's: numbers and totals have to follow from it.
#[cfg(test)]
pub(crate) const FIVE: Passes = Passes(&FIVE_ROWS);

#[cfg(test)]
const FIVE_ROWS: [Row; 5] = {
    let [diffs, structure, security, consolidation] = *PASSES.0 else {
        panic!("four passes");
    };
    let tests = Row {
        title: "Tests",
        topic: "the tests",
        prompt: "Pass {{number}} of {{total}}: Tests.\n\n{{staged}}\n",
        ..structure
    };
    [diffs, tests, structure, security, consolidation]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_four_passes() {
        assert_eq!(PASSES.all().count(), 4);
        assert_eq!(PASSES.number(0), None);
        assert_eq!(PASSES.number(5), None);
        let last = PASSES.number(4).unwrap();
        assert_eq!(PASSES.after(last), None);
        assert_eq!(PASSES.place(last), "4 of 4");
    }

    #[test]
    fn numbers_and_totals_follow_from_the_table() {
        let places: Vec<String> = FIVE.all().map(|pass| pass.place()).collect();
        assert_eq!(places, ["1 of 5", "2 of 5", "3 of 5", "4 of 5", "5 of 5"]);
        let number = |role| FIVE.first(role).map(PassNumber::get);
        assert_eq!(number(Role::Security), Some(4));
        assert_eq!(number(Role::Consolidation), Some(5));
        assert_eq!(FIVE.number(5).and_then(|five| FIVE.after(five)), None);
        assert_eq!(FIVE.number(6), None);
    }
}
