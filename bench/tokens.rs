//! Where the input tokens of a review go: the parts of its first request, and what the conversation adds. A part of the
//! first request is paid again with every request that follows.

use super::course::{Course, Size};
use super::{ours, prefix};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::fmt::Write as _;

/// Bytes that make a token, as everywhere in this benchmark.
const BYTES: usize = 4;

/// The totals of all pull requests, and the first review of the smallest one taken apart.
pub fn run() -> Result<String> {
    let mut out =
        String::from("pull request       requests  findings     input  uncached     first\n");
    let mut smallest = None;
    for size in Size::ALL {
        let course = Course::open(size);
        let opened = ours::run(&course, &course.opened())?;
        let pushed = ours::run(&course, &course.push())?;
        for (event, measured) in [("opened", &opened), ("pushed", &pushed)] {
            let name = format!("{size:?}, {event}");
            let requests = &measured.requests;
            let figures = [
                requests.len(),
                measured.findings,
                prefix::all(requests) / BYTES,
                prefix::new(requests) / BYTES,
                prefix::all(&requests[..1.min(requests.len())]) / BYTES,
            ];
            let _ = write!(out, "{name:<17}");
            for figure in figures {
                let _ = write!(out, "{figure:>10}");
            }
            out.push('\n');
        }
        smallest.get_or_insert(opened);
    }
    let smallest = smallest.context("no pull request")?;
    parts(&mut out, &smallest.requests)?;
    Ok(out)
}

/// The parts of the first request, and what the last one has besides.
fn parts(out: &mut String, requests: &[Value]) -> Result<()> {
    let first = requests.first().context("the model was never asked")?;
    out.push_str("\nthe first request of the small one\n");
    for tool in first["tools"].as_array().into_iter().flatten() {
        let name = tool["function"]["name"].as_str().unwrap_or_default();
        line(out, &format!("tool {name}"), tool.to_string().len());
    }
    for message in first["messages"].as_array().into_iter().flatten() {
        sections(out, message);
    }
    let last = requests.last().context("the model was never asked")?;
    let after = last["messages"].as_array().into_iter().flatten().skip(2);
    out.push_str("\nafter it, in the last request\n");
    for role in ["user", "assistant", "tool"] {
        let of_role = after.clone().filter(|message| message["role"] == role);
        let bytes = of_role.map(|message| message.to_string().len()).sum();
        line(out, role, bytes);
    }
    Ok(())
}

/// The parts of a message, by their headings.
fn sections(out: &mut String, message: &Value) {
    let role = message["role"].as_str().unwrap_or_default();
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut heading = "(start)".to_owned();
    let mut bytes = 0;
    for part in text.split_inclusive('\n') {
        if part.starts_with("# ") || part.starts_with("## ") && role == "user" {
            line(out, &format!("{role}: {heading}"), bytes);
            (heading, bytes) = (part.trim().to_owned(), 0);
        }
        bytes += part.len();
    }
    line(out, &format!("{role}: {heading}"), bytes);
}

fn line(out: &mut String, name: &str, bytes: usize) {
    let name: String = name.chars().take(60).collect();
    let _ = writeln!(out, "  {name:<60} {:>6}", bytes / BYTES);
}
