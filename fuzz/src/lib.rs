//! The properties of `tests/properties/`, for the fuzz targets: compiled once.

#[path = "../../tests/properties/mod.rs"]
pub mod properties;
