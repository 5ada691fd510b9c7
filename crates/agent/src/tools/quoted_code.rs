//! Quotes from the code: a refutation counts only with one that the snapshot has. Separate, because several tools ask for quotes.

use reviewer_core::review::desk::{Quote, SharedDesk, is_quotable};
use reviewer_text::redact::Redactor;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The largest file in which a quote is looked up.
const MOST_BYTES: u64 = 8 << 20;

/// A session's desk, and the snapshot in which its quotes are looked up.
#[derive(Debug, Clone)]
pub(crate) struct Examiner {
    pub(super) desk: SharedDesk,
    pub(super) snapshot: Arc<Path>,
    /// A quote is looked up as it stands in the code, and people read it.
    pub(super) redactor: Arc<Redactor>,
}

impl Examiner {
    pub(super) fn new(desk: &SharedDesk, snapshot: &Path, redactor: &Arc<Redactor>) -> Self {
        Self {
            desk: desk.clone(),
            snapshot: snapshot.into(),
            redactor: Arc::clone(redactor),
        }
    }
}

/// Looks for the quote in a file of the snapshot, however it is spaced. What is found is without secrets.
pub(super) async fn look_up(examiner: &Examiner, file: &str, quote: &str) -> Quote {
    let Some(path) = inside(&examiner.snapshot, file) else {
        return Quote::NotFound;
    };
    match tokio::fs::metadata(&path).await {
        Ok(found) if found.is_file() && found.len() <= MOST_BYTES => {}
        _ => return Quote::NotFound,
    }
    let Ok(bytes) = tokio::fs::read(&path).await else {
        return Quote::NotFound;
    };
    let text = squeezed(&String::from_utf8_lossy(&bytes));
    if is_quotable(file, quote) && text.contains(&squeezed(quote)) {
        Quote::Found(examiner.redactor.clean(quote.trim()).into_owned())
    } else {
        Quote::NotFound
    }
}

/// The path of a file below the snapshot, which holds no links.
fn inside(snapshot: &Path, file: &str) -> Option<PathBuf> {
    let file = Path::new(file.trim());
    let below = file.strip_prefix(snapshot).unwrap_or(file);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    below
        .components()
        .all(is_plain)
        .then(|| snapshot.join(below))
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test writes the files that it reads"
)]
mod tests {
    use super::*;
    use secrecy::SecretString;

    fn examiner(snapshot: &Path, secrets: &[SecretString]) -> Examiner {
        Examiner {
            desk: SharedDesk::default(),
            snapshot: snapshot.into(),
            redactor: Arc::new(Redactor::new(secrets)),
        }
    }

    #[tokio::test]
    async fn a_quote_is_looked_up_as_it_stands_and_told_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let key = "sk-standin-0123456789abcdef0123456789abcdef";
        let line = format!("if (key === \"{key}\") {{");
        std::fs::write(folder.path().join("page.ts"), &line).unwrap();
        let examiner = examiner(folder.path(), &[key.into()]);
        let quote = look_up(&examiner, "page.ts", &line).await;
        let told = "if (key === \"[redacted: secret of this run]\") {";
        assert_eq!(quote, Quote::Found(told.into()));
    }

    #[tokio::test]
    async fn a_quote_counts_only_if_it_is_code_of_the_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("snapshot");
        std::fs::create_dir_all(root.join("src")).unwrap();
        let code = "// size is never zero, trust me\nif (size === 0) {\n  return 0;\n}\n";
        std::fs::write(root.join("src/page.ts"), code).unwrap();
        std::fs::write(folder.path().join("outside.ts"), code).unwrap();
        let examiner = examiner(&root, &[]);
        let found = async |file: &str, quote: &str| {
            let quote = look_up(&examiner, file, quote).await;
            matches!(quote, Quote::Found(_))
        };
        assert!(found("src/page.ts", "if (size === 0) {").await);
        assert!(found("src/page.ts", "if (size  === 0) {\n return 0;").await);
        let whole = root.join("src/page.ts").display().to_string();
        assert!(found(&whole, "if (size === 0) {").await);
        assert!(!found("src/page.ts", "if (size === 1) {").await);
        assert!(!found("src/page.ts", "}").await, "stands everywhere");
        assert!(!found("src/page.ts", "// size is never zero, trust me").await);
        assert!(!found("../outside.ts", "if (size === 0) {").await);
        assert!(!found("src/none.ts", "if (size === 0) {").await);
        // Prose says what somebody wishes, and a diff has lines that are gone.
        for file in ["README.md", "src/page.ts.diff"] {
            std::fs::write(root.join(file), "if (size === 0) {\n").unwrap();
            assert!(!found(file, "if (size === 0) {").await, "{file}");
        }
    }
}
