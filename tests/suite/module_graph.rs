//! No cycles between the modules of a crate. What is read is the source: the modules at the top of each `src/`, and the
//! paths that lead from one to another, tests left out. `--nocapture` prints the graphs.

mod source;

use source::Source;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

/// The root file of a crate, as a node: other modules can name what it exports.
const ROOT: &str = "lib";

/// From a module to those that it names, each with a place where it does.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

#[test]
fn no_module_depends_on_itself_through_others() {
    let mut arrows = 0;
    for folder in crates() {
        println!("{}", folder.display());
        let graph = graph(&sources(&folder));
        for (module, uses) in &graph {
            let uses: Vec<&str> = uses.keys().map(String::as_str).collect();
            println!("  {module} -> {}", uses.join(" "));
            arrows += uses.len();
        }
        if let Some(cycle) = cycle(&graph) {
            panic!(
                "{} has a cycle:\n{}",
                folder.display(),
                told(&graph, &cycle)
            );
        }
    }
    assert!(arrows > 20, "{arrows} arrows: the sources were not read");
}

/// The source folders of the package and of the crates beside it.
fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let members = fs::read_dir(root.join("crates")).unwrap();
    let members = members.map(|member| member.unwrap().path());
    let folders = members.chain([root.to_owned()]).map(|one| one.join("src"));
    let has_root = |folder: &PathBuf| {
        let names = ["lib.rs", "main.rs"].into_iter();
        names
            .map(|name| folder.join(name))
            .any(|file| file.is_file())
    };
    let mut crates: Vec<PathBuf> = folders.filter(has_root).collect();
    crates.sort();
    crates
}

/// Every file of a crate, by its path below the source folder.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut sources = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                sources.push((path.strip_prefix(folder).unwrap().to_owned(), text));
            }
        }
    }
    sources.sort();
    sources
}

fn graph(sources: &[(PathBuf, String)]) -> Graph {
    let is_binary = |file: &Path| {
        let beside = sources
            .iter()
            .any(|(other, _)| other == Path::new("lib.rs"));
        file == Path::new("main.rs") && beside
    };
    let read: Vec<(&Path, Source)> = sources
        .iter()
        .map(|(file, text)| (file.as_path(), Source::read(file, text)))
        .collect();
    let tests: Vec<&PathBuf> = read.iter().flat_map(|(_, source)| &source.tests).collect();
    let is_test = |file: &Path| {
        tests
            .iter()
            .any(|test| file.with_extension("").starts_with(test))
    };
    let modules = read.iter().filter_map(|(_, source)| source.module.first());
    let modules: BTreeSet<&String> = modules.collect();
    let node = |path: &[String]| match path.first() {
        Some(first) if modules.contains(first) => first.clone(),
        _ => ROOT.to_owned(),
    };
    let mut graph = Graph::new();
    for (file, source) in &read {
        // A binary beside a library is a crate of its own, which nothing can name.
        if is_test(file) || is_binary(file) {
            continue;
        }
        let from = node(&source.module);
        for path in source.paths.iter().filter(|path| node(path) != from) {
            let place = format!("{} names {}", file.display(), path.join("::"));
            let uses = graph.entry(from.clone()).or_default();
            uses.entry(node(path)).or_insert(place);
        }
    }
    graph
}

/// The shortest cycle, with its first module at both ends.
fn cycle(graph: &Graph) -> Option<Vec<&str>> {
    let cycles = graph.keys().filter_map(|module| way_back(graph, module));
    cycles.min_by_key(Vec::len)
}

fn way_back<'a>(graph: &'a Graph, start: &'a str) -> Option<Vec<&'a str>> {
    let mut open = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = open.pop_front() {
        let uses = way.last().and_then(|last| graph.get(*last));
        for next in uses.into_iter().flat_map(BTreeMap::keys) {
            let mut longer = way.clone();
            longer.push(next);
            if next == start {
                return Some(longer);
            }
            if seen.insert(next) {
                open.push_back(longer);
            }
        }
    }
    None
}

fn told(graph: &Graph, cycle: &[&str]) -> String {
    let arrows = cycle.windows(2).map(|pair| {
        let place = &graph[pair[0]][pair[1]];
        format!("  {} -> {} ({place})", pair[0], pair[1])
    });
    arrows.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_cycle_is_found_through_groups_parents_and_inline_modules() {
    let files = [
        ("lib.rs", "pub mod a; pub mod b; pub mod c; pub use a::A;"),
        (
            "a.rs",
            "use crate::{b::{self, B as C}, c}; // crate::a\nmod sub;",
        ),
        (
            "a/sub.rs",
            "use super::X; fn f() { let _ = \"crate::c::y\"; }",
        ),
        (
            "b/mod.rs",
            "mod inner { use super::super::c::{D, E}; }\nstruct B;",
        ),
        (
            "c.rs",
            "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more { use crate::a; }",
        ),
        ("c/tests.rs", "use crate::a::A;"),
    ];
    let mut sources = files
        .map(|(file, text)| (file.into(), text.to_owned()))
        .to_vec();
    let arrows = |graph: &Graph| {
        let uses = graph.iter();
        let uses = uses.flat_map(|(from, to)| to.keys().map(move |to| format!("{from} -> {to}")));
        uses.collect::<Vec<_>>()
    };
    let without = graph(&sources);
    assert_eq!(arrows(&without), ["a -> b", "a -> c", "b -> c", "lib -> a"]);
    assert_eq!(cycle(&without), None);

    sources[4]
        .1
        .push_str("\nfn f() -> bool { crate::a::sub::is_so() }");
    let with = graph(&sources);
    assert_eq!(cycle(&with), Some(vec!["a", "c", "a"]));
    assert_eq!(
        told(&with, &["a", "c", "a"]),
        "  a -> c (a.rs names c)\n  c -> a (c.rs names a::sub::is_so)"
    );
    sources[4].1 = "#[cfg(test)]\nmod tests;\nuse crate::A;".to_owned();
    let through_root = graph(&sources);
    assert_eq!(cycle(&through_root), Some(vec!["a", "c", "lib", "a"]));
}
