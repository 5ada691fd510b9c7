//! The long version: what this program is made of and made for.

use reviewer_agent::opencode::sandbox::enter::LANDLOCK_ABI;
use serde_json::Value;

/// The pins of the executables that the reviewer drives.
const PACKAGE: &str = include_str!("../../package.json");

/// Version, commit, OpenCode's pin and the sandbox's ABI, for `--version`.
pub fn long() -> String {
    let commit = option_env!("OPENCODE_REVIEWER_COMMIT").unwrap_or("not recorded");
    format!(
        "{}\ncommit: {commit}\nOpenCode: {}\nsandbox: Landlock ABI {LANDLOCK_ABI}",
        env!("CARGO_PKG_VERSION"),
        opencode(),
    )
}

/// The version of OpenCode that the reviewer is tested with.
fn opencode() -> String {
    let package: Option<Value> = serde_json::from_str(PACKAGE).ok();
    let pin = package.and_then(|package| {
        let pin = package["dependencies"]["opencode-ai"].as_str();
        pin.map(str::to_owned)
    });
    pin.unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_version_names_the_commit_the_pin_and_the_abi() {
        let long = long();
        let lines: Vec<&str> = long.lines().collect();
        assert_eq!(lines[0], env!("CARGO_PKG_VERSION"));
        assert!(lines[1].starts_with("commit: "), "{lines:?}");
        let pin = lines[2].strip_prefix("OpenCode: ").expect("a pin");
        assert!(
            pin.starts_with("1.") && pin.split('.').count() == 3,
            "{pin}"
        );
        let abi = lines[3].strip_prefix("sandbox: Landlock ABI ");
        let abi: i32 = abi.expect("an ABI").parse().expect("a number");
        assert!(abi >= 7, "{abi}");
        assert_eq!(lines.len(), 4);
    }
}
