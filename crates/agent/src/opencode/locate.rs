//! Locates the two executables. Separate from starting them, because the lookup is a list of candidates and only asks
//! whether a file is there.
#![expect(clippy::disallowed_methods, reason = "edge: looks at files")]

use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The first bytes of a Linux program.
const ELF: [u8; 4] = *b"\x7fELF";
/// A package manager's folders are not further above what it puts on the `PATH`.
const MOST_LEVELS: usize = 6;

/// `OPENCODE_BIN` when it is given (as it is: a wrong one must be reported, not replaced), else the platform
/// package in a `node_modules` of one of the roots, else the `PATH`. npm may put a script there: then the program is in
/// the platform package beside it. A script is returned only where no program is found.
#[must_use]
pub fn find_opencode(opencode_bin: Option<&str>, roots: &[PathBuf], path: &str) -> Option<PathBuf> {
    if let Some(given) = opencode_bin.map(str::trim).filter(|text| !text.is_empty()) {
        return Some(PathBuf::from(given));
    }
    let mut packaged = roots.iter().map(|root| root.join("node_modules"));
    let on_path: Vec<PathBuf> = on_path(path, "opencode")
        .filter(|one| is_file(one))
        .collect();
    let program = |found: &PathBuf| {
        if is_script(found) {
            beside(found)
        } else {
            Some(found.clone())
        }
    };
    packaged
        .find_map(|modules| in_modules(&modules))
        .or_else(|| on_path.iter().find_map(program))
        .or_else(|| on_path.first().cloned())
}

/// The program of a platform package, in the order in which OpenCode's own installation looks for them.
fn in_modules(modules: &Path) -> Option<PathBuf> {
    let package = format!("opencode-linux-{}", architecture());
    let (plain, baseline) = ("", "-baseline");
    let by_processor = if has_avx2() {
        [plain, baseline]
    } else {
        [baseline, plain]
    };
    let by_library = if is_file(Path::new("/etc/alpine-release")) {
        ["-musl", ""]
    } else {
        ["", "-musl"]
    };
    let variants = by_library
        .iter()
        .flat_map(|library| by_processor.map(|processor| format!("{package}{processor}{library}")));
    let mut programs = variants.map(|name| modules.join(name).join("bin/opencode"));
    programs.find(|candidate| is_file(candidate))
}

/// The program that a script of a package manager stands for. npm links to the script in its package, whose dependencies
/// are within it or beside it; pnpm writes a script of its own beside its packages, which it links to.
fn beside(script: &Path) -> Option<PathBuf> {
    let real = script.canonicalize().ok()?;
    let above = |path: &Path| -> Vec<PathBuf> {
        let above = path.ancestors().skip(1).take(MOST_LEVELS);
        above.map(Path::to_owned).collect()
    };
    let folders = above(&real).into_iter().chain(above(script));
    folders.flat_map(modules_of).find_map(|modules| {
        let within = modules.join("opencode-ai/node_modules");
        let linked = modules.join("opencode-ai").canonicalize().ok();
        let linked = linked.as_deref().and_then(Path::parent);
        in_modules(&modules)
            .or_else(|| in_modules(&within))
            .or_else(|| in_modules(linked?))
    })
}

/// The `node_modules` of a folder: itself, the one in it, or the global one of a prefix.
fn modules_of(folder: PathBuf) -> Vec<PathBuf> {
    if folder.ends_with("node_modules") {
        return vec![folder];
    }
    ["node_modules", "lib/node_modules"]
        .map(|name| folder.join(name))
        .into()
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

/// Returns true if the file exists and is no program: a script, as the `opencode` that npm puts on the `PATH` may be.
#[must_use]
pub fn is_script(executable: &Path) -> bool {
    let mut start = Vec::new();
    let read =
        std::fs::File::open(executable).and_then(|file| file.take(4).read_to_end(&mut start));
    read.is_ok() && start != ELF
}

/// Returns the command that installs OpenCode: in a checkout of this project its lock file says which, elsewhere the
/// user does.
#[must_use]
pub fn install_command(roots: &[PathBuf]) -> &'static str {
    let is_checkout = |root: &PathBuf| {
        let lock = std::fs::read_to_string(root.join("package-lock.json"));
        is_file(&root.join("Cargo.toml"))
            && lock.is_ok_and(|lock| lock.contains("\"name\": \"opencode-reviewer\""))
    };
    if roots.iter().any(is_checkout) {
        "npm ci"
    } else {
        "npm i -g opencode-ai@1"
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    true
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
        std::fs::write(path, ELF).unwrap();
    }

    fn script(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "echo no program").unwrap();
    }

    fn package() -> String {
        format!("opencode-linux-{}/bin/opencode", architecture())
    }

    /// Puts `from` on the `PATH` as a link to `script`, and the program at `program`; returns what is found.
    fn found_behind(from: &str, script_at: &str, program: &str) -> (Option<PathBuf>, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        script(&root.join(script_at));
        if from != script_at {
            let link = root.join(from);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(root.join(script_at), &link).unwrap();
        }
        let program = root.join(program).join(package());
        place(&program);
        let search = root.join(from).parent().unwrap().display().to_string();
        let found = find_opencode(None, &[], &search);
        (found.map(|found| found.canonicalize().unwrap()), program)
    }

    #[test]
    fn the_program_behind_a_script_of_a_package_manager_is_found() {
        for (from, script_at, program) in [
            // npm i -g
            (
                "bin/opencode",
                "lib/node_modules/opencode-ai/bin/opencode.exe",
                "lib/node_modules/opencode-ai/node_modules",
            ),
            (
                "bin/opencode",
                "lib/node_modules/opencode-ai/bin/opencode",
                "lib/node_modules",
            ),
            // npm i
            (
                "node_modules/.bin/opencode",
                "node_modules/opencode-ai/bin/opencode.exe",
                "node_modules",
            ),
            // bun add -g
            (
                ".bun/bin/opencode",
                ".bun/install/global/node_modules/opencode-ai/bin/opencode",
                ".bun/install/global/node_modules",
            ),
            // A script of its own, with the package elsewhere below the prefix.
            ("bin/opencode", "bin/opencode", "lib/node_modules"),
        ] {
            let (found, program) = found_behind(from, script_at, program);
            assert_eq!(found, Some(program), "{from}");
        }
    }

    #[test]
    fn the_program_behind_a_script_of_pnpm_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        script(&root.join("node_modules/.bin/opencode"));
        let store = root.join("node_modules/.pnpm/opencode-ai@1.18.33/node_modules");
        script(&store.join("opencode-ai/bin/opencode.exe"));
        let link = root.join("node_modules/opencode-ai");
        std::os::unix::fs::symlink(store.join("opencode-ai"), link).unwrap();
        place(&store.join(package()));
        let search = root.join("node_modules/.bin").display().to_string();
        assert_eq!(
            find_opencode(None, &[], &search),
            Some(store.join(package()))
        );
    }

    #[test]
    fn a_script_with_nothing_behind_it_is_returned_last() {
        let dir = tempfile::tempdir().unwrap();
        let [first, second] = ["a", "b"].map(|name| dir.path().join(name).join("opencode"));
        script(&first);
        let search = format!("{}/a:{}/b", dir.path().display(), dir.path().display());
        assert_eq!(find_opencode(None, &[], &search), Some(first.clone()));
        assert!(is_script(&first) && !is_script(&second));
        place(&second);
        assert_eq!(find_opencode(None, &[], &search), Some(second));
    }

    #[test]
    fn our_own_checkout_has_another_way_to_install_it() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(install_command(&[checkout]), "npm ci");
        let elsewhere = tempfile::tempdir().unwrap();
        let elsewhere = elsewhere.path().to_owned();
        assert_eq!(install_command(&[elsewhere]), "npm i -g opencode-ai@1");
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
        let packaged = root.join(format!("node_modules/{}", package()));
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
