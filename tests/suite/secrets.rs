//! Where the secrets of a run are, and where they are not: looked for from outside, while the review is under way.

use crate::standin::github::{Act, Fault, GitHub};
use crate::standin::model::{Call, Script};
use crate::standin::world::{KEY, World};
use data_encoding::BASE64;
use http::Method;
use serde_json::json;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A process and those that it started.
pub struct Process {
    pub id: u32,
    pub name: String,
}

pub fn processes_below(parent: u32) -> Vec<Process> {
    let status = |id: u32, field: &str| {
        let text = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(field))?;
        Some(line.trim().to_owned())
    };
    let ids = fs::read_dir("/proc").unwrap().flatten();
    let ids: Vec<u32> = ids
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    let mut found = vec![parent];
    let mut next = 0;
    while let Some(above) = found.get(next).copied() {
        next += 1;
        let below = ids
            .iter()
            .filter(|id| status(**id, "PPid:").and_then(|id| id.parse().ok()) == Some(above));
        found.extend(below.copied().collect::<Vec<u32>>());
    }
    let processes = found.into_iter().map(|id| Process {
        id,
        name: status(id, "Name:").unwrap_or_default(),
    });
    processes.collect()
}

/// What a process has written to its memory; `None` where the kernel does not let us look.
fn memory(id: u32) -> Option<Vec<u8>> {
    const PAGE: u64 = 4096;
    let maps = fs::read_to_string(format!("/proc/{id}/smaps")).ok()?;
    let mut memory = fs::File::open(format!("/proc/{id}/mem")).ok()?;
    let mut pages = fs::File::open(format!("/proc/{id}/pagemap")).ok()?;
    let mut text = Vec::new();
    for (start, end) in written(&maps) {
        let count = usize::try_from((end - start) / PAGE).ok()?;
        let mut present = vec![0; count * 8];
        pages.seek(SeekFrom::Start(start / PAGE * 8)).ok()?;
        pages.read_exact(&mut present).ok()?;
        // Most of what the runtime reserves it never touches; reading that would take minutes.
        let touched = (0..count).filter(|page| present[page * 8 + 7] & 0xc0 != 0);
        for page in touched {
            let mut bytes = [0; 4096];
            let at = start + u64::try_from(page).ok()? * PAGE;
            memory.seek(SeekFrom::Start(at)).ok()?;
            if memory.read_exact(&mut bytes).is_ok() {
                text.extend(bytes);
            }
        }
    }
    (!text.is_empty()).then_some(text)
}

/// The writable parts of a process's memory that hold anything.
fn written(smaps: &str) -> Vec<(u64, u64)> {
    let mut parts = Vec::new();
    let mut part = None;
    for line in smaps.lines() {
        let mut fields = line.split_whitespace();
        let (first, second) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
        if let Some((start, end)) = first.split_once('-') {
            let bounds = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap_or(0));
            part = second.starts_with("rw").then_some((bounds[0], bounds[1]));
        } else if first == "Rss:" && second != "0" {
            parts.extend(part.take());
        }
    }
    parts
}

fn contains(text: &[u8], needle: &str) -> bool {
    memchr::memmem::find(text, needle.as_bytes()).is_some()
}

fn files_below(folder: &Path, each: &mut impl FnMut(&Path, &[u8])) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, each);
        } else if let Ok(content) = fs::read(&path) {
            each(&path, &content);
        }
    }
}

/// Each process whose environment or arguments hold a secret.
fn shown(processes: &[Process], secret: &str) -> Vec<String> {
    let mut shown = Vec::new();
    for Process { id, name } in processes {
        for part in ["environ", "cmdline"] {
            // Where we may not read it, nobody else may; the superuser reads everything.
            let text = fs::read(format!("/proc/{id}/{part}")).unwrap_or_default();
            if contains(&text, secret) {
                shown.push(format!("{secret} in {part} of {name}"));
            }
        }
    }
    shown
}

/// Every place where a secret is that should not be there, among the processes of a run and the sidecar's files.
fn leaks(run: u32) -> Vec<String> {
    let processes = processes_below(run);
    let sidecar = processes.iter().find(|process| process.name == "opencode");
    let sidecar = sidecar.expect("the sidecar runs");
    let memory = memory(sidecar.id).unwrap_or_default();
    let mut leaks = Vec::new();
    for secret in [KEY, GitHub::TOKEN] {
        leaks.extend(shown(&processes, secret));
        if contains(&memory, secret) {
            leaks.push(format!("{secret} in the memory of the sidecar"));
        }
        let directory = fs::read_link(format!("/proc/{}/cwd", sidecar.id)).expect("its folder");
        files_below(
            directory.parent().expect("the scratch folder"),
            &mut |path, content| {
                if contains(content, secret) {
                    leaks.push(format!("{secret} in {}", path.display()));
                }
            },
        );
    }
    leaks
}

#[test]
fn no_secret_is_in_the_sidecar_nor_in_any_environment() {
    let run = Arc::new(Mutex::new(0));
    let found: Arc<Mutex<Option<Vec<String>>>> = Arc::default();
    let (of, noted) = (Arc::clone(&run), Arc::clone(&found));
    let script = Script::new()
        .pass(1, |_| {
            vec![Call::new("grep", json!({ "pattern": "query" }))]
        })
        .pass(4, move |_| {
            *noted.lock().unwrap() = Some(leaks(*of.lock().unwrap()));
            vec![]
        });
    let world = World::shop(script);
    let ran = world.run_watched(&world.opened(), |id| *run.lock().unwrap() = id);
    ran.ended(0, "clean");
    assert_eq!(found.lock().unwrap().take(), Some(Vec::new()));
    let requests = world.model.requests();
    assert!(
        requests
            .iter()
            .all(|request| !request.to_string().contains(KEY))
    );
    assert!(!ran.report.unwrap().to_string().contains(KEY));
    assert!(!ran.summary.contains(KEY));
    world.github.expect_check_run();
    world.finish();
}

/// What was seen of a run's processes while git waited for an answer.
#[derive(Default)]
struct Seen {
    names: Vec<String>,
    leaks: Vec<String>,
}

#[test]
fn git_fetches_with_a_token_that_is_in_no_environment_argument_or_file() {
    let run = Arc::new(Mutex::new(0));
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let world = World::shop(Script::new()).quick();
    let (of, noted, folder) = (Arc::clone(&run), Arc::clone(&seen), world.temporary());
    // The server answers nobody without the token, and holds the request while this looks.
    let look = Act::new(move |_| {
        let processes = processes_below(*of.lock().unwrap());
        let mut seen = noted.lock().unwrap();
        let encoded = BASE64.encode(format!("x-access-token:{}", GitHub::TOKEN).as_bytes());
        for secret in [GitHub::TOKEN, encoded.as_str(), KEY] {
            seen.leaks.extend(shown(&processes, secret));
            files_below(&folder, &mut |path, content| {
                if contains(content, secret) {
                    seen.leaks.push(format!("{secret} in {}", path.display()));
                }
            });
        }
        seen.names.extend(processes.into_iter().map(|one| one.name));
    });
    for (method, path) in [
        (Method::GET, "/octo/shop.git/info/refs"),
        (Method::POST, "/octo/shop.git/git-upload-pack"),
    ] {
        let look = Fault::Meanwhile(look.clone());
        world.github.on(method, path, 1, look);
    }
    let ran = world.run_watched(&world.opened(), |id| *run.lock().unwrap() = id);
    ran.ended(0, "clean");
    assert_eq!(world.github.struck(), [1, 1]);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.leaks, Vec::<String>::new());
    for name in ["git", "git-remote-http"] {
        assert!(seen.names.iter().any(|one| one == name), "{:?}", seen.names);
    }
    world.github.expect_check_run();
    world.finish();
}
