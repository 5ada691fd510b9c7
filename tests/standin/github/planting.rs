//! Commits with names that git itself refuses to make: `..`, `.git` in other spellings, the same name twice. Separate,
//! because a tree is written here byte by byte, as an attacker would push it.

use super::git::Git;
use data_encoding::HEXLOWER;

/// One entry of a tree object.
struct Entry {
    mode: Vec<u8>,
    name: Vec<u8>,
    id: Vec<u8>,
}

impl Entry {
    /// git compares the name of a folder as if it ended in a slash.
    fn key(&self) -> Vec<u8> {
        let end: &[u8] = if self.mode == b"40000" { b"/" } else { b"" };
        [&self.name[..], end].concat()
    }
}

impl Git {
    /// Puts files, whatever their names, into the commit that `branch` is at. Returns the commit that takes its place.
    pub fn plant(&self, branch: &str, files: &[(&[u8], &str)]) -> String {
        let commit = self.read(&["cat-file", "commit", branch]);
        let tree = self.read(&["cat-file", "tree", &format!("{branch}^{{tree}}")]);
        let mut entries = parse(&tree);
        entries.extend(files.iter().map(|(path, text)| self.entry(path, text)));
        entries.sort_by_key(Entry::key);
        let tree = self.tree(&entries);
        let commit = String::from_utf8(commit).expect("a commit of ours is text");
        let (_, rest) = commit.split_once('\n').expect("its first line is its tree");
        let commit = self.object("commit", format!("tree {tree}\n{rest}").as_bytes());
        self.write(&["update-ref", &format!("refs/heads/{branch}"), &commit]);
        commit
    }

    /// The first component of a path, with everything below it.
    fn entry(&self, path: &[u8], text: &str) -> Entry {
        let mut names = path.split(|byte| *byte == b'/').rev();
        let entry = |mode: &[u8], name: Option<&[u8]>, id: &str| Entry {
            mode: mode.to_owned(),
            name: name.expect("a path has a name").to_owned(),
            id: HEXLOWER.decode(id.as_bytes()).expect("an object's name"),
        };
        let blob = self.object("blob", text.as_bytes());
        let mut top = entry(b"100644", names.next(), &blob);
        for name in names {
            top = entry(b"40000", Some(name), &self.tree(&[top]));
        }
        top
    }

    fn tree(&self, entries: &[Entry]) -> String {
        let entry = |entry: &Entry| [&entry.mode[..], b" ", &entry.name, b"\0", &entry.id].concat();
        let bytes: Vec<u8> = entries.iter().flat_map(entry).collect();
        self.object("tree", &bytes)
    }

    fn object(&self, kind: &str, bytes: &[u8]) -> String {
        let args = ["hash-object", "-t", kind, "--literally", "-w", "--stdin"];
        let id = self.feed(&args, bytes).expect("git stores the object");
        String::from_utf8_lossy(&id).trim_end().to_owned()
    }

    fn read(&self, args: &[&str]) -> Vec<u8> {
        self.feed(args, &[]).expect("git has the object")
    }
}

fn parse(mut tree: &[u8]) -> Vec<Entry> {
    const ID: usize = 20;
    let mut entries = Vec::new();
    while let Some(end) = tree.iter().position(|byte| *byte == 0) {
        let (head, rest) = tree.split_at(end);
        let space = head.iter().position(|byte| *byte == b' ');
        let (mode, name) = head.split_at(space.expect("a mode, then a name"));
        entries.push(Entry {
            mode: mode.to_owned(),
            name: name[1..].to_owned(),
            id: rest[1..=ID].to_owned(),
        });
        tree = &rest[ID + 1..];
    }
    entries
}
