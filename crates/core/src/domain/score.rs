//! The severity of a finding, and the sensitivity of the repository that weighs on it.

use std::fmt;

/// 1 (micro-nit) to 10 (systemic catastrophe), by construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Score(u8);

impl Score {
    pub(crate) const MAX: Self = Self(10);
    /// No sum of small things makes a critical failure.
    pub(crate) const MAX_ELEVATED: Self = Self(8);

    #[must_use]
    pub fn new(value: u64) -> Option<Self> {
        u8::try_from(value)
            .ok()
            .filter(|v| (1..=10).contains(v))
            .map(Self)
    }

    #[must_use]
    pub fn get(self) -> u8 {
        self.0
    }

    /// Two levels up for a security finding in a sensitive repository, and never past the top.
    #[must_use]
    pub(crate) fn promoted(self) -> Self {
        Self((self.0 + 2).min(Self::MAX.0))
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The harm that a defect of this repository can do to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sensitivity {
    Low,
    Moderate,
    High,
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Moderate => "moderate",
            Self::High => "high",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_one_to_ten() {
        assert_eq!(Score::new(0), None);
        assert_eq!(Score::new(11), None);
        assert_eq!(Score::new(7).map(Score::get), Some(7));
    }

    #[test]
    fn promotion_stops_at_ten() {
        let promoted: Vec<u8> = [1, 8, 9, 10]
            .map(|n| Score::new(n).unwrap().promoted().get())
            .to_vec();
        assert_eq!(promoted, [3, 10, 10, 10]);
    }
}
