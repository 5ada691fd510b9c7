//! Files that exist to hold secrets, and what is shown of them: keys, comment signs and blank space, `***` for all
//! else. Separate because it is a security boundary: whoever reads a diff or a file for the model passes here, and what is not
//! known to be harmless does not.

use super::{FileDiff, Hidden, Hunk, LineKind, Side};
use crate::domain::code;

/// The replacement for everything that may be a secret.
const HIDDEN: &str = "***";

/// The degree to which such a file is hidden. The greater one shows less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mask {
    /// Lines of the form `KEY=VALUE`: the keys.
    Values,
    /// No line has a part that is known to be harmless, but for the armour of a PEM file.
    Lines,
}

/// A name is listed if a well-known tool keeps credentials in files of that name and hardly anything else is
/// called so. Not listed: what is mostly settings that a review has to see, such as `.npmrc` with its registry.
const VALUES: [&str; 6] = [
    ".env",
    ".envrc",
    ".dev.vars",
    ".pypirc",
    ".s3cfg",
    ".my.cnf",
];
const VALUES_STARTS: [&str; 5] = [".env.", ".env-", ".env_", ".envrc.", ".dev.vars."];
const VALUES_ENDS: [&str; 1] = [".env"];
const LINES: [&str; 8] = [
    ".netrc",
    "_netrc",
    ".pgpass",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    ".vault-token",
    "credentials.json",
];
/// Private keys as `ssh-keygen` names them, and how it ends the name of a public one.
const LINES_STARTS: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
const PUBLIC_ENDS: [&str; 1] = [".pub"];
const LINES_ENDS: [&str; 9] = [
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".ppk",
    ".tfstate",
    ".tfstate.backup",
];
/// Names that mean credentials in one folder only.
const LINES_IN_FOLDER: [&str; 3] = [".aws/credentials", ".docker/config.json", ".kube/config"];

/// Words in the name of an `.env` file that is written to be read.
const EXAMPLES: [&str; 10] = [
    "example", "examples", "sample", "template", "tmpl", "tpl", "dist", "default", "defaults",
    "schema",
];
const DOCUMENTATION_ENDS: [&str; 2] = [".md", ".d.ts"];

/// The words that the armour of a PEM file is made of.
const ARMOUR: [&str; 18] = [
    "BEGIN",
    "END",
    "RSA",
    "DSA",
    "EC",
    "OPENSSH",
    "ENCRYPTED",
    "PRIVATE",
    "PUBLIC",
    "KEY",
    "CERTIFICATE",
    "REQUEST",
    "NEW",
    "TRUSTED",
    "X509",
    "CRL",
    "PGP",
    "BLOCK",
];

impl Mask {
    /// The mask for a file of this path, `None` where it is not known to hold secrets. Code is never masked: a name
    /// must not hide what it does.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let path = path.to_lowercase();
        let path = path.trim_end_matches(['.', ' ']);
        if code::is_code(path) {
            return None;
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let starts = |list: &[&str]| list.iter().any(|start| name.starts_with(start));
        let ends = |list: &[&str]| list.iter().any(|end| name.ends_with(end));
        let in_folder = |place: &&str| {
            let above = path.strip_suffix(*place);
            above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
        };
        if VALUES.contains(&name) || starts(&VALUES_STARTS) || ends(&VALUES_ENDS) {
            return (!is_documentation(name)).then_some(Self::Values);
        }
        let key = starts(&LINES_STARTS) && !ends(&PUBLIC_ENDS);
        let lines = LINES.contains(&name) || key || ends(&LINES_ENDS);
        (lines || LINES_IN_FOLDER.iter().any(in_folder)).then_some(Self::Lines)
    }

    /// The text with as many lines as before. Each line is judged by itself, because a hunk of a diff may begin
    /// in the middle of a value.
    #[must_use]
    pub fn text(self, text: &str) -> String {
        let lines: Vec<String> = text.split('\n').map(|line| self.line(line)).collect();
        lines.join("\n")
    }

    fn line(self, line: &str) -> String {
        let (line, end) = match line.strip_suffix('\r') {
            Some(line) => (line, "\r"),
            None => (line, ""),
        };
        let body = line.trim_start_matches(BLANK);
        let indent = &line[..line.len() - body.len()];
        let body = body.trim_end_matches(BLANK);
        let shown = match self {
            _ if body.is_empty() => String::new(),
            _ if is_armour(body) => body.to_owned(),
            Self::Values => comment(body)
                .or_else(|| assignment(body))
                .unwrap_or_else(|| HIDDEN.to_owned()),
            Self::Lines => HIDDEN.to_owned(),
        };
        format!("{indent}{shown}{end}")
    }
}

const BLANK: [char; 2] = [' ', '\t'];

impl FileDiff {
    /// The mask for the head's file: a secret by the name that it had is one under its new name, too, unless that is
    /// the name of code.
    #[must_use]
    pub fn mask(&self) -> Option<Mask> {
        if code::is_code(&self.path) {
            return None;
        }
        Mask::from_path(&self.path).max(self.old_mask())
    }

    fn old_mask(&self) -> Option<Mask> {
        Mask::from_path(self.previous_path.as_ref().unwrap_or(&self.path))
    }

    /// The diff as it may be shown: same lines, same numbers. The old name masks removed and unchanged lines, the new
    /// name masks added ones.
    #[must_use]
    pub fn masked(mut self) -> Self {
        let (old, new) = (self.old_mask(), Mask::from_path(&self.path));
        if old.is_none() && new.is_none() {
            return self;
        }
        self.hidden = self.hidden_by(old, new);
        for hunk in &mut self.hunks {
            // A line of the file, too: the last one before the hunk that looked like a heading.
            hunk.section.clear();
            for line in &mut hunk.lines {
                let mask = match line.kind {
                    LineKind::Added => new,
                    LineKind::Removed | LineKind::Context => old,
                };
                if let Some(mask) = mask {
                    line.text = mask.line(&line.text).into();
                }
            }
        }
        self
    }

    fn hidden_by(&self, old: Option<Mask>, new: Option<Mask>) -> Hidden {
        let sides = [
            (Side::Left, LineKind::Removed, old),
            (Side::Right, LineKind::Added, new),
        ];
        let mut hidden = Hidden::Nothing;
        for (side, kind, mask) in sides {
            let Some(mask) = mask else { continue };
            for hunk in &self.hunks {
                if !mask.is_data(hunk, side, kind) {
                    return Hidden::Lines;
                }
            }
            if self.count(kind) > 0 || self.binary {
                hidden = Hidden::Data;
            }
        }
        hidden
    }
}

impl Mask {
    /// True if the changed lines of one side are data: assignments without commands, or PEM blocks.
    fn is_data(self, hunk: &Hunk, side: Side, changed: LineKind) -> bool {
        let on_side = hunk.lines.iter().filter(|line| match side {
            Side::Left => line.old.is_some(),
            Side::Right => line.new.is_some(),
        });
        let lines: Vec<(&str, bool)> = on_side
            .map(|line| (line.text.trim(), line.kind == changed))
            .collect();
        match self {
            Self::Values => are_values(&lines),
            Self::Lines => is_pem(&lines),
        }
    }
}

/// True if every changed line is blank, a comment, or an assignment of one value that runs nothing; a value in quotes
/// may go on over several lines.
fn are_values(lines: &[(&str, bool)]) -> bool {
    let mut open: Option<char> = None;
    lines.iter().all(|(text, changed)| {
        let runs = text.contains("$(") || text.contains('`');
        let value = match open {
            Some(quote) => Some((quote, *text)),
            None => quoted_value(text),
        };
        let data = match value {
            Some((quote, rest)) => {
                let closed = rest.split_once(quote).map(|(_, rest)| rest.trim());
                open = closed.is_none().then_some(quote);
                closed.is_none_or(|rest| rest.is_empty() || rest.starts_with('#'))
            }
            None => text.is_empty() || comment(text).is_some() || is_plain_assignment(text),
        };
        !changed || (data && !runs)
    })
}

/// The quote that a value begins with, and what follows it.
fn quoted_value(text: &str) -> Option<(char, &str)> {
    let value = assigned(text)?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    Some((quote, &value[1..]))
}

/// An assignment of one word: a shell would run a second one, and reads quotes and escapes in its own way.
fn is_plain_assignment(text: &str) -> bool {
    let Some(value) = assigned(text) else {
        return false;
    };
    let value = value.split(" #").next().unwrap_or_default().trim();
    !value.contains(|c: char| c.is_whitespace() || ";|&<>\"'\\".contains(c))
}

/// The value of an assignment. A blank beside the equals sign makes the key a command.
fn assigned(text: &str) -> Option<&str> {
    assignment(text)?;
    let at = text.find(['=', ':'])?;
    let (key, value) = (&text[..at], &text[at + 1..]);
    if text[at..].starts_with('=') {
        let tight = !key.ends_with(BLANK) && !value.starts_with(BLANK);
        return tight.then_some(value);
    }
    Some(value.trim_start())
}

/// True if every changed line belongs to a PEM block that begins among these lines. A line shorter than a full one is
/// the last of its block: a word on a line of its own could be a command.
fn is_pem(lines: &[(&str, bool)]) -> bool {
    const FULL: std::ops::RangeInclusive<usize> = 60..=76;
    let mut inside = false;
    lines.iter().enumerate().all(|(at, (text, changed))| {
        if is_armour(text) {
            inside = text.contains("BEGIN");
            return true;
        }
        let ends = lines.get(at + 1).is_some_and(|(next, _)| is_armour(next));
        let base64 = text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
        let body = base64 && (FULL.contains(&text.len()) || (ends && text.len() <= *FULL.end()));
        !changed || text.is_empty() || text.starts_with('#') || (inside && body)
    })
}

fn is_documentation(name: &str) -> bool {
    let mut words = name.split(['.', '-', '_']);
    words.any(|word| EXAMPLES.contains(&word))
        || DOCUMENTATION_ENDS.iter().any(|end| name.ends_with(end))
}

/// `# ***`: what was commented out is a secret as well.
fn comment(body: &str) -> Option<String> {
    let text = body.trim_start_matches('#');
    let signs = &body[..body.len() - text.len()];
    match (signs.is_empty(), text.is_empty()) {
        (true, _) => None,
        (false, true) => Some(signs.to_owned()),
        (false, false) => Some(format!("{signs} {HIDDEN}")),
    }
}

/// `KEY=***`, also with `export`, blanks or a colon and a blank.
fn assignment(body: &str) -> Option<String> {
    let after_export = body.strip_prefix("export").and_then(|rest| {
        let key = rest.trim_start_matches(BLANK);
        (key.len() < rest.len()).then_some(key)
    });
    let rest = after_export.unwrap_or(body);
    let at = rest.find(['=', ':'])?;
    let (key, value) = (rest[..at].trim_end_matches(BLANK), &rest[at + 1..]);
    let colon = rest[at..].starts_with(':');
    if colon && !value.is_empty() && !value.starts_with(BLANK) {
        return None;
    }
    let value_text = value.trim_start_matches(BLANK);
    // The last line of something in Base64 or Base32 ends so, too. A key of several words does not look like that.
    let could_be_padding = value_text.trim_start_matches('=').is_empty();
    if !is_key(key) || (could_be_padding && !key.contains('_')) {
        return None;
    }
    let before = &body[..body.len() - value_text.len()];
    let hidden = if value_text.is_empty() { "" } else { HIDDEN };
    Some(format!("{before}{hidden}"))
}

/// True if people write such a key, and random text does not: one case, words, numbers at their ends.
fn is_key(key: &str) -> bool {
    let one_case = !(key.contains(|c: char| c.is_ascii_uppercase())
        && key.contains(|c: char| c.is_ascii_lowercase()));
    let start = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    start && one_case && key.len() <= 64 && key.split(['_', '.', '-']).all(is_word)
}

fn is_word(word: &str) -> bool {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let plain = letters.len() <= 16 && letters.bytes().all(|b| b.is_ascii_alphabetic());
    let short = word.len() <= 4 && word.bytes().all(|b| b.is_ascii_alphanumeric());
    short || (plain && word.len() - letters.len() <= 3)
}

fn is_armour(body: &str) -> bool {
    let label = body.strip_prefix("-----");
    let label = label.and_then(|rest| rest.strip_suffix("-----"));
    label.is_some_and(|label| label.split(' ').all(|word| ARMOUR.contains(&word)))
}

#[cfg(test)]
mod tests;
