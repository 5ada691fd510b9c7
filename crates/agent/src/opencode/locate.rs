//! Where the two executables are. Separate from starting them, because the lookup is a list of candidates
//! and only asks whether a file is there.
#![expect(clippy::disallowed_methods, reason = "edge: looks at files")]

use std::io::Read as _;
use std::path::{Path, PathBuf};

/// `OPENCODE_BIN` when it is given (as it is: a wrong one must be reported, not replaced), else the platform
/// package in a `node_modules` of one of the roots, else the `PATH`.
#[must_use]
pub fn find_opencode(opencode_bin: Option<&str>, roots: &[PathBuf], path: &str) -> Option<PathBuf> {
    if let Some(given) = opencode_bin.map(str::trim).filter(|text| !text.is_empty()) {
        return Some(PathBuf::from(given));
    }
    let package = format!("opencode-linux-{}", architecture());
    let variants = [
        package.clone(),
        format!("{package}-musl"),
        format!("{package}-baseline"),
    ];
    let packaged = roots.iter().flat_map(|root| {
        variants
            .iter()
            .map(move |name| root.join("node_modules").join(name).join("bin/opencode"))
    });
    packaged
        .chain(on_path(path, "opencode"))
        .find(|candidate| is_file(candidate))
}

/// `rg`, without which OpenCode's `grep` and `glob` fail.
#[must_use]
pub fn find_ripgrep(roots: &[PathBuf], path: &str) -> Option<PathBuf> {
    let package = format!("node_modules/@vscode/ripgrep-linux-{}", architecture());
    roots
        .iter()
        .map(|root| root.join(&package).join("bin/rg"))
        .chain(on_path(path, "rg"))
        .find(|candidate| is_file(candidate))
}

/// Whether a file is run by an interpreter, as the `opencode` that npm puts on the `PATH` is.
#[must_use]
pub fn is_script(executable: &Path) -> bool {
    let mut start = [0; 2];
    let read = std::fs::File::open(executable).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"#!"
}

/// npm's word for the architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn on_path<'a>(path: &'a str, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    path.split(':')
        .filter(|folder| !folder.is_empty())
        .map(move |folder| Path::new(folder).join(name))
}

fn is_file(candidate: &Path) -> bool {
    candidate.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }

    #[test]
    fn opencode_bin_wins_then_the_package_then_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("app");
        let path = dir.path().join("bin");
        let search = path.to_str().unwrap();
        let find = |bin| find_opencode(bin, std::slice::from_ref(&root), search);

        assert_eq!(find(None), None);
        place(&path.join("opencode"));
        assert_eq!(find(None), Some(path.join("opencode")));
        let packaged = root.join(format!(
            "node_modules/opencode-linux-{}/bin/opencode",
            architecture()
        ));
        place(&packaged);
        assert_eq!(find(None), Some(packaged.clone()));
        assert_eq!(find(Some("")), Some(packaged));
        assert_eq!(find(Some("/no/such")), Some(PathBuf::from("/no/such")));
    }

    #[test]
    fn ripgrep_is_found_on_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bin");
        assert_eq!(find_ripgrep(&[], path.to_str().unwrap()), None);
        place(&path.join("rg"));
        assert_eq!(
            find_ripgrep(&[], path.to_str().unwrap()),
            Some(path.join("rg"))
        );
    }
}
