//! The diff of a pull request as GitHub shows it, and its judgement of anchors. Written apart from the product's own
//! hunk walker, because a shared mistake would go unseen.

use serde_json::{Value, json};

use super::git::Git;

/// GitHub leaves the patch of a larger file out.
const PATCH_LINES: usize = 20_000;
const PATCH_BYTES: usize = 500_000;

#[derive(Debug, Clone)]
pub struct FileDiff {
    pub path: String,
    pub previous: Option<String>,
    pub status: &'static str,
    pub additions: u64,
    pub deletions: u64,
    pub blob: String,
    /// Absent for binary, too large, and renamed or re-moded without a change of content.
    pub patch: Option<String>,
    hunks: Vec<Hunk>,
}

#[derive(Debug, Clone)]
struct Hunk {
    header: String,
    rows: Vec<Row>,
}

#[derive(Debug, Clone)]
struct Row {
    left: Option<u64>,
    right: Option<u64>,
    text: String,
}

/// Where a comment wants to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    pub line: u64,
    pub side: String,
    pub start: Option<(u64, Option<String>)>,
}

impl Anchor {
    /// Reads the anchor of a request; `None` where it names no line.
    pub fn from_json(comment: &Value) -> Option<Self> {
        let text = |key: &str| comment[key].as_str().map(str::to_owned);
        Some(Self {
            line: comment["line"].as_u64()?,
            side: text("side").unwrap_or_else(|| "RIGHT".into()),
            start: comment["start_line"]
                .as_u64()
                .map(|line| (line, text("start_side"))),
        })
    }
}

impl Hunk {
    fn index(&self, line: u64, side: &str) -> Option<usize> {
        self.rows.iter().position(|row| match side {
            "LEFT" => row.left == Some(line) && row.right.is_none(),
            _ => row.right == Some(line),
        })
    }
}

impl FileDiff {
    /// The text of the hunk down to the anchored line, or GitHub's words of refusal.
    pub fn judge(&self, anchor: &Anchor) -> Result<String, &'static str> {
        let found = self.hunks.iter().find_map(|hunk| {
            hunk.index(anchor.line, &anchor.side)
                .map(|index| (hunk, index))
        });
        let Some((hunk, index)) = found else {
            return Err("Pull request review thread line must be part of the diff");
        };
        if let Some((start, start_side)) = &anchor.start {
            let Some(start_side) = start_side else {
                return Err("Pull request review thread start side can't be blank");
            };
            match hunk.index(*start, start_side) {
                _ if start_side == &anchor.side && *start >= anchor.line => {
                    return Err("Pull request review thread start line must precede the end line.");
                }
                None => {
                    return Err(
                        "Pull request review thread start line must be part of the same hunk as the line.",
                    );
                }
                Some(first) if first >= index => {
                    return Err("Pull request review thread start line must precede the end line.");
                }
                Some(_) => {}
            }
        }
        let rows = hunk.rows[..=index].iter().map(|row| row.text.as_str());
        Ok(std::iter::once(hunk.header.as_str())
            .chain(rows)
            .collect::<Vec<_>>()
            .join("\n"))
    }

    pub fn to_json(&self, web: &str, api: &str, head: &str) -> Value {
        let mut entry = json!({
            "sha": self.blob,
            "filename": self.path,
            "status": self.status,
            "additions": self.additions,
            "deletions": self.deletions,
            "changes": self.additions + self.deletions,
            "blob_url": format!("{web}/blob/{head}/{}", self.path),
            "raw_url": format!("{web}/raw/{head}/{}", self.path),
            "contents_url": format!("{api}/contents/{}?ref={head}", self.path),
        });
        if let Some(patch) = &self.patch {
            entry["patch"] = json!(patch);
        }
        if let Some(previous) = &self.previous {
            entry["previous_filename"] = json!(previous);
        }
        entry
    }
}

/// The files that differ between two trees, in git's order.
pub fn between(git: &Git, old: &str, new: &str) -> Vec<FileDiff> {
    let options = [
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "-M",
        "--abbrev=40",
    ];
    let run = |form: &[&str]| {
        git.ask(&[&options[..], form, &[old, new, "--"]].concat())
            .unwrap_or_default()
    };
    let raw = run(&["--raw", "-z"]);
    let counts = run(&["--numstat", "-z"]);
    let patches = run(&["-U3", "-p"]);
    let mut sections = sections(&patches).into_iter();
    let mut counts = parse_counts(&counts).into_iter();
    let mut files = Vec::new();
    let mut fields = raw.split('\0');
    while let Some(meta) = fields.next().filter(|meta| meta.starts_with(':')) {
        let meta: Vec<&str> = meta.split(' ').collect();
        let letter = meta[4].chars().next().unwrap_or('M');
        let first = fields.next().unwrap_or_default().to_owned();
        let renamed = matches!(letter, 'R' | 'C');
        let path = if renamed {
            fields.next().unwrap_or_default().to_owned()
        } else {
            first.clone()
        };
        let section = sections.next().unwrap_or_default();
        if letter == 'T' {
            // A file that became a link is two sections: removed, then added.
            sections.next();
        }
        let (additions, deletions) = counts.next().unwrap_or_default();
        let text = patch_of(&section);
        files.push(FileDiff {
            hunks: text.as_deref().map(hunks).unwrap_or_default(),
            patch: text,
            path,
            previous: renamed.then_some(first),
            status: status(letter),
            additions,
            deletions,
            blob: meta[if letter == 'D' { 2 } else { 3 }].into(),
        });
    }
    files
}

fn status(letter: char) -> &'static str {
    match letter {
        'A' => "added",
        'D' => "removed",
        'R' => "renamed",
        'C' => "copied",
        'T' => "changed",
        _ => "modified",
    }
}

fn sections(patches: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in patches.split_inclusive('\n') {
        if line.starts_with("diff --git ") {
            all.push(String::new());
        }
        if let Some(section) = all.last_mut() {
            section.push_str(line);
        }
    }
    all
}

fn parse_counts(text: &str) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    let mut fields = text.split('\0');
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let parts: Vec<&str> = field.splitn(3, '\t').collect();
        let number = |index: usize| {
            parts
                .get(index)
                .and_then(|part| part.parse().ok())
                .unwrap_or(0)
        };
        all.push((number(0), number(1)));
        if parts.get(2).is_some_and(|path| path.is_empty()) {
            // A rename has its two names as fields of their own.
            fields.next();
            fields.next();
        }
    }
    all
}

fn patch_of(section: &str) -> Option<String> {
    let start = if section.starts_with("@@ ") {
        0
    } else {
        section.find("\n@@ ")? + 1
    };
    let patch = section[start..].trim_end_matches('\n');
    let small = patch.len() <= PATCH_BYTES && patch.lines().count() <= PATCH_LINES;
    small.then(|| patch.to_owned())
}

fn hunks(patch: &str) -> Vec<Hunk> {
    let mut all: Vec<Hunk> = Vec::new();
    let (mut left, mut right) = (0, 0);
    for text in patch.split('\n') {
        if let Some((old, new)) = starts(text) {
            (left, right) = (old, new);
            all.push(Hunk {
                header: text.into(),
                rows: Vec::new(),
            });
            continue;
        }
        let Some(hunk) = all.last_mut() else { continue };
        let mut row = Row {
            left: None,
            right: None,
            text: text.into(),
        };
        let sign = text.as_bytes().first();
        if matches!(sign, Some(b' ' | b'-')) {
            row.left = Some(left);
            left += 1;
        }
        if matches!(sign, Some(b' ' | b'+')) {
            row.right = Some(right);
            right += 1;
        }
        hunk.rows.push(row);
    }
    all
}

/// The first line numbers of `@@ -a[,b] +c[,d] @@ …`.
fn starts(line: &str) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let number = |word: &str| word.split(',').next()?.parse().ok();
    let old = number(words.next()?)?;
    Some((old, number(words.next()?.strip_prefix('+')?)?))
}

/// Where a line of `path` at `old` stands at `new`; `None` where it was changed or removed.
pub fn follow(git: &Git, old: &str, new: &str, path: &str, line: u64) -> Option<u64> {
    let diff = git.ask(&[
        "diff",
        "--no-ext-diff",
        "--no-color",
        "-U0",
        old,
        new,
        "--",
        path,
    ])?;
    let mut shift: i64 = 0;
    for header in diff.lines().filter(|line| line.starts_with("@@ -")) {
        let mut words = header[4..].split(' ');
        let range = |word: &str| {
            let (start, count) = word.split_once(',').unwrap_or((word, "1"));
            Some((start.parse::<u64>().ok()?, count.parse::<u64>().ok()?))
        };
        let (start, removed) = range(words.next()?)?;
        let (_, added) = range(words.next()?.strip_prefix('+')?)?;
        // Without removed lines, git names the line before the insertion.
        let first = if removed == 0 { start + 1 } else { start };
        if line < first {
            break;
        }
        if line < first + removed {
            return None;
        }
        shift += i64::try_from(added).ok()? - i64::try_from(removed).ok()?;
    }
    line.checked_add_signed(shift)
}
