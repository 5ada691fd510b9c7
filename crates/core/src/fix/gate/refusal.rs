//! The refusals of the patch gate: what is refused, why, and what to do instead. The model reads them.

use super::FileKind;
use super::path_rules::{BadPath, Protected};
use reviewer_text::hidden::visible;
use reviewer_text::redact::SecretKind;
use std::fmt;

/// The most files and changed lines of one fix.
pub const MAX_FILES: usize = 20;
pub const MAX_LINES: usize = 400;
/// The most files outside of the change that a quote opens.
pub const MAX_QUOTED: usize = 3;

/// A change that the gate does not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Path {
        path: String,
        why: BadPath,
    },
    Protected {
        path: String,
        kind: Protected,
    },
    Manifest {
        path: String,
    },
    /// Defines checks of the project.
    Checks {
        path: String,
    },
    /// Outside of the change, and no issue names it.
    OutOfScope {
        path: String,
    },
    /// The quote does not stand in the file, or says too little.
    BadQuote {
        path: String,
    },
    TooManyQuoted {
        path: String,
    },
    Kind {
        path: String,
        kind: FileKind,
    },
    /// A part of the path is no folder.
    NoFolder {
        path: String,
        part: String,
    },
    /// Shown with values masked.
    Masked {
        path: String,
    },
    /// Shown under another name.
    Renamed {
        path: String,
    },
    Binary {
        path: String,
    },
    WeakerTest {
        path: String,
        removed: usize,
    },
    DeletedTest {
        path: String,
    },
    Suppression {
        path: String,
        word: &'static str,
    },
    TooManyFiles(usize),
    TooManyLines(usize),
    /// `place`: the file, the message or the branch.
    Secret {
        place: String,
        kind: SecretKind,
    },
    HiddenCharacter {
        place: String,
        character: char,
    },
}

impl Refusal {
    /// The file that it is about, if it is about one.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Path { path, .. }
            | Self::Protected { path, .. }
            | Self::Manifest { path }
            | Self::Checks { path }
            | Self::DeletedTest { path }
            | Self::OutOfScope { path }
            | Self::BadQuote { path }
            | Self::TooManyQuoted { path }
            | Self::Kind { path, .. }
            | Self::NoFolder { path, .. }
            | Self::Masked { path }
            | Self::Renamed { path }
            | Self::Binary { path }
            | Self::WeakerTest { path, .. }
            | Self::Suppression { path, .. }
            | Self::Secret { place: path, .. }
            | Self::HiddenCharacter { place: path, .. } => Some(path),
            Self::TooManyFiles(_) | Self::TooManyLines(_) => None,
        }
    }

    /// The refused thing, behind the name of the file.
    pub(super) fn what(&self) -> String {
        match self {
            Self::Path { .. } => "is no path that a fix may touch".into(),
            Self::Protected { kind, .. } => format!("is {}", kind.name()),
            Self::Manifest { .. } => {
                "is a lock file or a manifest, and the issue is not about it".into()
            }
            Self::Checks { .. } => {
                "defines the project's checks, and the issue is not about it".into()
            }
            Self::OutOfScope { .. } => {
                "is not changed by the pull request, and no issue names it".into()
            }
            Self::BadQuote { .. } => {
                "does not hold the quoted line, or the line says too little".into()
            }
            Self::TooManyQuoted { .. } => {
                format!(
                    "would be the {}th file outside of the change",
                    MAX_QUOTED + 1
                )
            }
            Self::Kind { kind, .. } => format!("is {}", kind.name()),
            Self::NoFolder { part, .. } => {
                format!("lies below {}, which is no folder", visible(part))
            }
            Self::Masked { .. } => "is shown with its values masked".into(),
            Self::Renamed { .. } => "is shown under another name than it has".into(),
            Self::Binary { .. } => "is binary".into(),
            Self::WeakerTest { removed, .. } => format!(
                "is a test, {removed} of its lines would be removed or changed, and the issue is not about it"
            ),
            Self::DeletedTest { .. } => {
                "is a test that would be deleted, and the issue is not about it".into()
            }
            Self::Suppression { word, .. } => {
                format!(
                    "would get a suppression or a skipped test ({})",
                    word.trim_end_matches('(')
                )
            }
            Self::TooManyFiles(files) => format!("The fix would change {files} files"),
            Self::TooManyLines(lines) => format!("The fix would change {lines} lines"),
            Self::Secret { kind, .. } => {
                let kind = kind.to_string();
                let kind = kind.trim_start_matches("[redacted: ").trim_end_matches(']');
                format!("would hold what looks like a secret ({kind})")
            }
            Self::HiddenCharacter { character, .. } => {
                format!(
                    "would get a character that cannot be seen ({})",
                    character.escape_unicode()
                )
            }
        }
    }

    /// The reason for the rule.
    #[must_use]
    pub fn because(&self) -> String {
        match self {
            Self::Path { why, .. } => why.to_string(),
            Self::Protected { kind, .. } => match kind {
                Protected::Secrets => "secrets are not written by a fix".into(),
                _ => "it decides what runs, or who decides".into(),
            },
            Self::Manifest { .. } => "it decides which code of others is taken in".into(),
            Self::OutOfScope { .. } | Self::BadQuote { .. } => {
                "a fix stays within the change and what the issues are about".into()
            }
            Self::TooManyQuoted { .. } => {
                format!("quotes open at most {MAX_QUOTED} files outside of the change")
            }
            Self::Kind { .. } | Self::NoFolder { .. } => {
                "the commit keeps no modes, so only regular files are changed".into()
            }
            Self::Masked { .. } => "an edit would write the mask into the file".into(),
            Self::Renamed { .. } => "tools would obey it under its own name".into(),
            Self::Binary { .. } => "an edit would damage it".into(),
            Self::WeakerTest { .. }
            | Self::DeletedTest { .. }
            | Self::Suppression { .. }
            | Self::Checks { .. } => "a fix must not weaken its checks".into(),
            Self::TooManyFiles(_) => format!("a fix changes at most {MAX_FILES} files"),
            Self::TooManyLines(_) => format!("a fix changes at most {MAX_LINES} lines"),
            Self::Secret { .. } => "what is committed cannot be taken back".into(),
            Self::HiddenCharacter { .. } => "nobody who reads the change would see it".into(),
        }
    }

    /// The next step.
    #[must_use]
    pub fn instead(&self) -> &'static str {
        match self {
            Self::Path { .. } => "name the file as it stands in the repository",
            Self::Protected { .. }
            | Self::Manifest { .. }
            | Self::Checks { .. }
            | Self::Kind { .. } => {
                "fix the issue elsewhere, or reject it and say that a person has to change this file"
            }
            Self::NoFolder { .. } => "choose a path below folders",
            Self::OutOfScope { .. } => {
                "fix it in a changed file, or give in quote a line of this file that the issue depends on"
            }
            Self::BadQuote { .. } => "give in quote one whole line of code, exactly as it is",
            Self::TooManyQuoted { .. } => {
                "fix it in fewer files, or reject it and say which are needed"
            }
            Self::Masked { .. } | Self::Renamed { .. } | Self::Binary { .. } => {
                "leave this file as it is, and reject the issue if it cannot be fixed without"
            }
            Self::WeakerTest { .. } | Self::DeletedTest { .. } => {
                "add tests beside these, and correct the code instead of the test"
            }
            Self::Suppression { .. } => "correct what the check complains about",
            Self::TooManyFiles(_) | Self::TooManyLines(_) => {
                "make a smaller fix, or reject the issue and say what it takes"
            }
            Self::Secret { .. } => "read the value from the environment or leave it out",
            Self::HiddenCharacter { .. } => "write it as an escape sequence, or leave it out",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = self.path() {
            write!(f, "{} ", visible(path))?;
        }
        let (what, because, instead) = (self.what(), self.because(), self.instead());
        let mut letters = instead.chars();
        let first: String = letters
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .collect();
        write!(f, "{what}; {because}. {first}{}.", letters.as_str())
    }
}
