//! The table of inputs, and the step from the strings of `INPUT_*` to a `Config`.
