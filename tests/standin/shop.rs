//! The example pull request: a small shop whose change carries planted defects, each of another kind.

use super::github::{Change, GitHub};
use std::fmt::Write as _;

pub const README: &str = include_str!("shop/base/README.md");
pub const AGENTS: &str = include_str!("shop/base/AGENTS.md");
const DB: &str = include_str!("shop/base/src/db.ts");
const ORDERS: [&str; 2] = [
    include_str!("shop/base/src/orders.ts"),
    include_str!("shop/head/src/orders.ts"),
];
const PAGE: [&str; 2] = [
    include_str!("shop/base/src/page.ts"),
    include_str!("shop/head/src/page.ts"),
];
const CART: [&str; 2] = [
    include_str!("shop/base/src/ui/cart.ts"),
    include_str!("shop/head/src/ui/cart.ts"),
];

/// Opens the pull request, with some more in the base branch and some more changes. Returns its number.
pub fn open(github: &GitHub, settled: &[Change], more: &[Change]) -> u64 {
    let mut base = vec![
        Change::write("README.md", README),
        Change::write("AGENTS.md", AGENTS),
        Change::write("src/db.ts", DB),
        Change::write("src/orders.ts", ORDERS[0]),
        Change::write("src/page.ts", PAGE[0]),
        Change::write("src/ui/cart.ts", CART[0]),
    ];
    base.extend_from_slice(settled);
    let base = github.commit("main", &[], &base);
    let mut changes = changes();
    changes.extend_from_slice(more);
    github.commit("search", &[&base], &changes);
    let number = github.open_pull("dev", "search", "main");
    github.pull(number, |pull| {
        pull.title = "Search orders by their note".into();
        pull.body = Some("Adds a search box for orders, and the total of the cart.".into());
    });
    number
}

/// What the pull request changes.
pub fn changes() -> Vec<Change> {
    vec![
        Change::write("src/orders.ts", ORDERS[1]),
        Change::write("src/page.ts", PAGE[1]),
        Change::write("src/ui/cart.ts", CART[1]),
    ]
}

/// One of many files that make the pull request larger; with the number of a version, so that it can change in one place.
pub fn part(number: usize, version: usize) -> Change {
    let mut text = format!("// Part {number} of the shop.\n");
    for line in 0..40 {
        let _ = writeln!(
            text,
            "export const price{line} = (count: number) => count * {line} + {number};"
        );
    }
    let _ = writeln!(text, "export const version = {version};");
    Change::write(&format!("src/parts/part{number}.ts"), text)
}

/// A later push: the search fills the last page again.
pub fn fixed() -> Change {
    let text = head_of("src/page.ts").replace("Math.floor", "Math.ceil");
    Change::write("src/page.ts", text)
}

/// A changed file, as the head has it.
pub fn head_of(file: &str) -> &'static str {
    match file {
        "src/orders.ts" => ORDERS[1],
        "src/page.ts" => PAGE[1],
        "src/ui/cart.ts" => CART[1],
        other => panic!("{other} is not a changed file of the example"),
    }
}

/// A file as the base has it.
pub fn base_of(file: &str) -> &'static str {
    match file {
        "README.md" => README,
        "AGENTS.md" => AGENTS,
        "src/db.ts" => DB,
        "src/orders.ts" => ORDERS[0],
        "src/page.ts" => PAGE[0],
        "src/ui/cart.ts" => CART[0],
        other => panic!("{other} is no file of the example"),
    }
}

/// The line of the head's file that holds this text.
pub fn line_of(file: &str, text: &str) -> u32 {
    let head = head_of(file);
    let index = head.lines().position(|line| line.contains(text));
    let index = index.unwrap_or_else(|| panic!("{file} holds no {text:?}"));
    u32::try_from(index + 1).expect("a small file")
}
