//! The judge of what a run executes, by the record of `tests/walls/observing.rs`.

use serde_json::Value;
use std::path::Path;

/// Our own program, git for it, the sidecar; and below the sidecar nothing but `rg`, as OpenCode calls it. Returns how
/// often that was.
pub fn nothing_else(record: &str) -> usize {
    let name = |path: &Value| {
        let path = Path::new(path.as_str().unwrap());
        path.file_name().unwrap().to_string_lossy().into_owned()
    };
    let mut searches = 0;
    for line in record.lines() {
        let execution: Value = serde_json::from_str(line).unwrap();
        let above = execution["above"].as_array().unwrap().iter().map(name);
        let above: Vec<String> = above.collect();
        let above: Vec<&str> = above.iter().map(String::as_str).collect();
        match (name(&execution["program"]).as_str(), above.as_slice()) {
            ("lacking" | "opencode-reviewer", [])
            | ("opencode-reviewer" | "opencode", ["opencode-reviewer"]) => {}
            // What fetches over HTTP is a program of git's own.
            (program, [gits @ .., "opencode-reviewer"])
                if gits
                    .iter()
                    .chain([&program])
                    .all(|name| name.starts_with("git")) => {}
            ("rg", ["opencode", "opencode-reviewer"]) => {
                assert!(only_searches(&execution["arguments"]), "{execution}");
                searches += 1;
            }
            _ => panic!("executed: {execution}"),
        }
    }
    searches
}

/// No option of `rg` that executes, follows or leaves the folder; whatever comes from the model is a value.
fn only_searches(arguments: &Value) -> bool {
    const PLAIN: [&str; 5] = [
        "--no-config",
        "--files",
        "--json",
        "--hidden",
        "--no-messages",
    ];
    let arguments = arguments.as_array().unwrap().iter().skip(1);
    let arguments: Vec<&str> = arguments.filter_map(Value::as_str).collect();
    let (options, rest) = match arguments.iter().position(|argument| *argument == "--") {
        Some(end) => (&arguments[..end], &arguments[end + 2..]),
        None => arguments.split_at(arguments.len() - 1),
    };
    let known = |option: &&str| PLAIN.contains(option) || option.starts_with("--glob=");
    options.first() == Some(&"--no-config") && options.iter().all(known) && rest == ["."]
}
