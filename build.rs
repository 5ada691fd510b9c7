//! Records the commit that a release is built from. Without git, or outside of it, the build goes on without one. A debug
//! build records none, because each commit would build everything anew.
#![expect(clippy::disallowed_methods, reason = "edge: a build reads files")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const COMMIT: &str = "OPENCODE_REVIEWER_COMMIT";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={COMMIT}");
    let given = env::var(COMMIT).ok();
    let found = given.or_else(|| {
        let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
        let root = env::var_os("CARGO_MANIFEST_DIR").filter(|_| is_release)?;
        commit(Path::new(&root))
    });
    if let Some(commit) = found.filter(|commit| is_commit(commit)) {
        println!("cargo:rustc-env={COMMIT}={commit}");
    }
}

/// The commit of a checkout, or of the package that cargo made of one.
fn commit(root: &Path) -> Option<String> {
    of_checkout(root).or_else(|| {
        let told = read(&root.join(".cargo_vcs_info.json"))?;
        let (_, behind) = told.split_once("\"sha1\"")?;
        behind.split('"').nth(1).map(str::to_owned)
    })
}

/// As git's own files have it, so that no git is needed. A folder above the root is another project's.
fn of_checkout(root: &Path) -> Option<String> {
    let git = git_folder(&root.join(".git"))?;
    let head = read(&git.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref: ") else {
        return Some(head.trim().to_owned());
    };
    // The branches of a linked working tree are where its main one has them.
    let shared = read(&git.join("commondir"));
    let shared = shared.map_or_else(|| git.clone(), |path| git.join(path.trim()));
    let loose = [&git, &shared].into_iter();
    let loose = loose.map(|folder| folder.join(name));
    loose
        .into_iter()
        .find_map(|path| read(&path))
        .map(|commit| commit.trim().to_owned())
        .or_else(|| packed(&shared, name))
}

/// The folder of git's files, which a linked working tree names in a file.
fn git_folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    let link = read(path)?;
    let target = link.trim().strip_prefix("gitdir: ")?;
    Some(path.parent()?.join(target))
}

fn packed(git: &Path, name: &str) -> Option<String> {
    let refs = read(&git.join("packed-refs"))?;
    let mut lines = refs.lines().filter_map(|line| line.split_once(' '));
    let found = lines.find(|(_, one)| *one == name);
    found.map(|(commit, _)| commit.to_owned())
}

/// The text of a file, which is looked at again when it changes.
fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo:rerun-if-changed={}", path.display());
    Some(text)
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
