//! A line for a terminal, in pieces. Where there are no colours, it is their text.

/// The look of a piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Strong,
    Faint,
    Good,
    Warning,
    Bad,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub style: Style,
    pub text: String,
}

pub type Line = Vec<Piece>;
