//! The properties of `tests/properties/`, for the fuzz targets: compiled once, with the product's modules under the names
//! that they have in the product.

#[path = "../../tests/properties/mod.rs"]
pub mod properties;

use opencode_reviewer::{
    config, domain, event, gateway, opencode, publish, redact, review, state, text, tools,
};
