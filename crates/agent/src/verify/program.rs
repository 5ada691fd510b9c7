//! Finds the program of a command before anything is started, so that one that cannot be run is told in a sentence.

use super::folders::Folders;
use crate::opencode::workdir::is_open;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const USUAL: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// The folders in which programs are looked for: those of `verify_exec`, then the system's. The machine's own `PATH` is no part of
/// it, because it names folders that the commands cannot enter.
#[derive(Debug)]
pub(super) struct SearchPath(Vec<PathBuf>);

impl SearchPath {
    pub(super) fn new(execute: &[PathBuf]) -> Self {
        let named = execute.iter().flat_map(|path| {
            let folder = if path.is_dir() {
                Some(path.as_path())
            } else {
                path.parent()
            };
            let bin = path.join("bin");
            let bin = bin.is_dir().then_some(bin);
            bin.into_iter().chain(folder.map(Path::to_owned))
        });
        Self(named.chain(USUAL.map(PathBuf::from)).collect())
    }

    /// The value of `PATH`.
    pub(super) fn value(&self) -> String {
        let folders: Vec<String> = self.0.iter().map(|one| one.display().to_string()).collect();
        folders.join(":")
    }

    /// The program of a name or path; or why there is none.
    pub(super) fn find(
        &self,
        name: &str,
        folders: &Folders,
        execute: &[PathBuf],
    ) -> Result<PathBuf, String> {
        let candidates: Vec<PathBuf> = if name.contains('/') {
            vec![folders.tree.join(name)]
        } else {
            self.0.iter().map(|folder| folder.join(name)).collect()
        };
        let there: Vec<PathBuf> = candidates.into_iter().filter(|one| one.is_file()).collect();
        let Some(program) = there.iter().find(|one| is_executable(one)) else {
            return Err(match there.first() {
                Some(file) => format!("{} is not executable", file.display()),
                None => missing(name, &self.value()),
            });
        };
        let real = std::fs::canonicalize(program)
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let granted = |folder: &PathBuf| {
            std::fs::canonicalize(folder).is_ok_and(|folder| real.starts_with(folder))
        };
        if !execute.iter().any(granted) {
            return Err(format!(
                "{} lies outside of what the commands may execute; name its folder in fix.verify_exec",
                real.display()
            ));
        }
        if folders.user.is_some() && !real.parent().is_some_and(is_open) {
            return Err(format!(
                "{} lies in a folder that only its owner can enter; install it where every user can read it",
                real.display()
            ));
        }
        Ok(program.clone())
    }
}

fn missing(name: &str, path: &str) -> String {
    if name.contains('/') {
        return format!("the repository has no file {name}");
    }
    let parts = if name.contains(char::is_whitespace) {
        "; write the program and each argument as a text of its own, because there is no shell"
    } else {
        ""
    };
    format!("{name} was not found in {path}{parts}")
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}
