//! The table of passes. Adding one is a prompt and a line.

use super::PassNumber;

#[derive(Debug, Clone, Copy)]
pub struct Pass {
    pub number: PassNumber,
    pub title: &'static str,
    pub prompt: &'static str,
}

const PASSES: [(&str, &str); 4] = [
    ("Atomic diff review", include_str!("../prompts/pass-1.md")),
    ("Structural review", include_str!("../prompts/pass-2.md")),
    ("Security and rules", include_str!("../prompts/pass-3.md")),
    ("Consolidation", include_str!("../prompts/pass-4.md")),
];

/// All passes, in their order.
pub fn all() -> impl Iterator<Item = Pass> {
    PassNumber::all()
        .zip(PASSES)
        .map(|(number, (title, prompt))| Pass {
            number,
            title,
            prompt,
        })
}
