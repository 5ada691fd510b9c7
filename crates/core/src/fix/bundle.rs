//! The bundle of a fix: the file that the job which fixes hands to the job which publishes. Between them other jobs can overwrite
//! it, so it is signed for one pull request, and reading it is total: a bundle, or one sentence.

use super::issue::IssueId;
use super::outcome::{Outcome, Settled};
use super::report;
use super::reverts::LineMarks;
use crate::domain::{CommitSha, PrKey};
use crate::state::signature::{Keys, SignatureCheck, Signed};
use data_encoding::BASE64;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// The version of the format.
pub const VERSION: u64 = 1;
/// A longer file is not read: 20 files of 1 MiB each take less.
pub const MAX_BYTES: u64 = 32 << 20;
const KIND: &str = "opencode-reviewer fix";

/// A fix that waits to be published. Signed with state_key; nothing of it counts unless the signature is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Bundle of a fix by opencode-reviewer")]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    #[schemars(extend("const" = KIND))]
    pub kind: String,
    /// Of this format.
    #[schemars(extend("const" = VERSION))]
    pub version: u64,
    /// As owner/name.
    pub repository: String,
    pub pull_request: u64,
    /// The commit that was fixed. The fix becomes a commit on top of this one, or none.
    pub head: String,
    /// The git tree of the head.
    pub base_tree: String,
    /// The git tree of the head with the edits.
    pub tree: String,
    /// Counted over the life of the pull request.
    pub cycle: u32,
    /// The comment that asked for the fix; from a shell, the time in milliseconds. Null where it is due by itself.
    pub command: Option<u64>,
    pub edits: Vec<BundleEdit>,
    pub outcomes: Vec<BundleOutcome>,
    /// The results of the project's own commands, a line each.
    pub checks: Vec<String>,
    /// Issues that the prompt had no room for.
    pub beyond: Vec<String>,
    /// The sentence about another model that went on with the fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The cost of the session, in millionths of a dollar.
    pub cost_micros: u64,
    /// The tokens of the session.
    pub tokens: u64,
    /// The name of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// HMAC-SHA-256 over the place and all other fields, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sig: Option<String>,
}

/// The whole new content of a file, or its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BundleEdit {
    pub path: String,
    /// In Base64; null deletes the file.
    pub content: Option<String>,
    /// The ids of the issues that edited it.
    pub issues: Vec<String>,
    /// The line that an issue depends on, where the pull request does not change the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}

/// An issue, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BundleOutcome {
    pub id: String,
    pub outcome: BundleWord,
    /// The description of the fix, or the reason.
    pub text: String,
    /// The lines that its edits added and removed, as hashes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<LineMarks>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BundleWord {
    Fixed,
    Rejected,
    Deferred,
    // Not judged, so a later fix tries it again.
    Undone,
}

impl BundleOutcome {
    #[must_use]
    pub fn new(settled: &Settled, marks: Vec<LineMarks>) -> Self {
        let (outcome, text) = match &settled.outcome {
            Outcome::Fixed { description } => (BundleWord::Fixed, description),
            Outcome::Rejected { reason } => (BundleWord::Rejected, reason),
            Outcome::Deferred { reason } => (BundleWord::Deferred, reason),
            Outcome::Undone { reason } => (BundleWord::Undone, reason),
        };
        Self {
            id: settled.issue.id.to_string(),
            outcome,
            text: text.clone(),
            marks,
        }
    }

    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let text = self.text.clone();
        match self.outcome {
            BundleWord::Fixed => Outcome::Fixed { description: text },
            BundleWord::Rejected => Outcome::Rejected { reason: text },
            BundleWord::Deferred => Outcome::Deferred { reason: text },
            BundleWord::Undone => Outcome::Undone { reason: text },
        }
    }
}

impl BundleEdit {
    #[must_use]
    pub fn new(path: &str, content: Option<&[u8]>, issues: &BTreeSet<IssueId>) -> Self {
        Self {
            path: path.to_owned(),
            content: content.map(|bytes| BASE64.encode(bytes)),
            issues: issues.iter().map(ToString::to_string).collect(),
            quote: None,
        }
    }

    /// The bytes of the file; `None` where it is deleted.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let text = self.content.as_deref()?;
        BASE64.decode(text.as_bytes()).ok()
    }

    /// The issues that edited it.
    #[must_use]
    pub fn issue_ids(&self) -> BTreeSet<IssueId> {
        let ids = self.issues.iter();
        ids.filter_map(|id| id.parse().ok()).collect()
    }
}

/// The reason why a file is not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotBundle {
    #[error("it is no bundle of a fix ({0}); make one with `fix --patch-out`.")]
    NoBundle(String),
    #[error(
        "it is a bundle of version {0}, and this program reads version {VERSION}; make it and publish it with the same release."
    )]
    OtherVersion(u64),
    #[error("it is the bundle of {0}, and not of {1}.")]
    OtherPull(String, PrKey),
    #[error("there is no key to check its signature with; set input state_key.")]
    NoKey,
    #[error(
        "its signature is not by this repository's state_key; give both jobs the same state_key, and make the bundle anew."
    )]
    OtherKey,
    #[error("its signature does not fit: somebody changed it after it was made.")]
    Changed,
}

fn no_bundle(why: impl std::fmt::Display) -> NotBundle {
    NotBundle::NoBundle(why.to_string())
}

impl Bundle {
    /// A bundle of this pull request, without content.
    #[must_use]
    pub fn new(pr: &PrKey, head: &CommitSha) -> Self {
        Self {
            kind: KIND.to_owned(),
            version: VERSION,
            repository: pr.repo.to_string(),
            pull_request: pr.number,
            head: head.to_string(),
            base_tree: String::new(),
            tree: String::new(),
            cycle: 0,
            command: None,
            edits: Vec::new(),
            outcomes: Vec::new(),
            checks: Vec::new(),
            beyond: Vec::new(),
            fallback: None,
            cost_micros: 0,
            tokens: 0,
            kid: None,
            sig: None,
        }
    }

    /// The file, signed for the pull request; `None` where there is no key.
    #[must_use]
    pub fn render(&self, pr: &PrKey, keys: &Keys) -> Option<String> {
        let unsigned = serde_json::to_value(self).ok()?;
        let (kid, sig) = keys.sign(&content(pr, &unsigned))?;
        let signed = Self {
            kid: Some(kid),
            sig: Some(sig),
            ..self.clone()
        };
        serde_json::to_string_pretty(&signed).ok()
    }

    /// Reads a file. Whatever is in it, the answer is a bundle that the reviewer signed for this pull request, or why not.
    pub fn parse(bytes: &[u8], pr: &PrKey, keys: &Keys) -> Result<Self, NotBundle> {
        let value: Value = serde_json::from_slice(bytes).map_err(|_| no_bundle("it is no JSON"))?;
        if value["kind"] != KIND {
            return Err(no_bundle("it is of another kind"));
        }
        match value["version"].as_u64() {
            Some(VERSION) => {}
            Some(version) => return Err(NotBundle::OtherVersion(version)),
            None => return Err(no_bundle("it has no version")),
        }
        let (Some(repository), Some(number)) =
            (value["repository"].as_str(), value["pull_request"].as_u64())
        else {
            return Err(no_bundle("it names no pull request"));
        };
        let is_here = repository.eq_ignore_ascii_case(&pr.repo.to_string());
        if !is_here || number != pr.number {
            let shown: String = repository.chars().filter(|c| !c.is_control()).collect();
            let other = format!("{shown:.100}#{number}");
            return Err(NotBundle::OtherPull(other, pr.clone()));
        }
        if !keys.can_sign() {
            return Err(NotBundle::NoKey);
        }
        let text = |name: &str| value[name].as_str();
        match keys.verify(&content(pr, &value), text("kid"), text("sig")) {
            SignatureCheck::Ours => {}
            SignatureCheck::Unknown => return Err(NotBundle::OtherKey),
            SignatureCheck::Forged => return Err(NotBundle::Changed),
        }
        let bundle: Self = serde_json::from_value(value).map_err(no_bundle)?;
        bundle.check()?;
        Ok(bundle)
    }

    /// The cost of the session, in dollars.
    #[must_use]
    pub fn cost_usd(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no session costs billions")]
        let micros = self.cost_micros as f64;
        micros / 1e6
    }

    /// The name of the session in the account, which is the same however often the bundle is published.
    #[must_use]
    pub fn receipt(&self) -> String {
        let sig = self.sig.as_deref().unwrap_or_default();
        format!("fix-{}", &sig[..sig.floor_char_boundary(16)])
    }

    /// The commit that was fixed.
    #[must_use]
    pub fn head(&self) -> Option<CommitSha> {
        self.head.parse().ok()
    }

    /// True if the trailers of a commit name the findings that the bundle calls fixed, and no others.
    #[must_use]
    pub fn is_of(&self, message: &str) -> bool {
        let fixed = self.outcomes.iter();
        let fixed = fixed.filter(|one| one.outcome == BundleWord::Fixed);
        report::names_all(message, fixed.map(|one| one.id.as_str()))
    }

    fn check(&self) -> Result<(), NotBundle> {
        if self.head().is_none() {
            return Err(no_bundle("its head is no commit"));
        }
        for edit in &self.edits {
            if edit.content.is_some() && edit.bytes().is_none() {
                return Err(no_bundle("the content of a file is no Base64"));
            }
            if edit.issue_ids().len() != edit.issues.len() {
                return Err(no_bundle("an edit names what is no issue"));
            }
        }
        let mut ids = self.outcomes.iter().map(|one| one.id.parse::<IssueId>());
        if ids.any(|id| id.is_err()) {
            return Err(no_bundle("an outcome names what is no issue"));
        }
        Ok(())
    }

    #[must_use]
    pub fn schema() -> Schema {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        settings.into_generator().into_root_schema_for::<Self>()
    }
}

/// The signed content. The word keeps it apart from everything else that is signed for a pull request.
fn content<'a>(pr: &'a PrKey, bundle: &'a Value) -> Signed<'a> {
    static WORD: std::sync::LazyLock<Value> =
        std::sync::LazyLock::new(|| Value::from("fix bundle"));
    Signed {
        pr,
        root: None,
        visible: &WORD,
        hidden: bundle,
    }
}

#[cfg(test)]
mod tests {
    use super::super::issue::fixture::issue;
    use super::*;
    use proptest::prelude::*;

    fn pr(number: u64) -> PrKey {
        PrKey {
            repo: "acme/shop".parse().unwrap(),
            number,
        }
    }

    fn keys(secret: &str) -> Keys {
        Keys::derive(&[secret.into()], None, "acme/shop")
    }

    const KEY: &str = "a state key that is long enough";

    fn bundle() -> Bundle {
        let settled = Settled {
            issue: issue("a", "src/a.rs"),
            outcome: Outcome::Fixed {
                description: "Rounds up.".into(),
            },
        };
        let ids = BTreeSet::from([settled.issue.id.clone()]);
        let head = "b0d63d1".repeat(6)[..40].parse().unwrap();
        Bundle {
            cycle: 1,
            command: Some(7),
            edits: vec![
                BundleEdit::new("src/a.rs", Some(b"\xff\r\n"), &ids),
                BundleEdit::new("src/b.rs", None, &ids),
            ],
            outcomes: vec![BundleOutcome::new(&settled, Vec::new())],
            ..Bundle::new(&pr(5), &head)
        }
    }

    fn file() -> String {
        bundle().render(&pr(5), &keys(KEY)).unwrap()
    }

    fn read(text: &str) -> Result<Bundle, String> {
        Bundle::parse(text.as_bytes(), &pr(5), &keys(KEY)).map_err(|why| why.to_string())
    }

    #[test]
    fn a_bundle_is_read_as_it_was_made() {
        let read = read(&file()).unwrap();
        let unsigned = Bundle {
            kid: None,
            sig: None,
            ..read.clone()
        };
        assert_eq!(unsigned, bundle());
        assert_eq!(read.edits[0].bytes().as_deref(), Some(&b"\xff\r\n"[..]));
        assert_eq!(read.edits[1].bytes(), None);
        assert!(read.outcomes[0].outcome().is_fixed());
    }

    #[test]
    fn whatever_else_is_given_is_refused_in_a_sentence() {
        let file = file();
        let other = |from: &str, to: &str| file.replace(from, to);
        for (text, why) in [
            ("patch".into(), "it is no JSON"),
            ("[]".into(), "it is of another kind"),
            (other("\"version\": 1", "\"version\": 2"), "version 2"),
            (other("\"version\": 1", "\"version\": null"), "no version"),
            (
                other("\"pull_request\": 5", "\"pull_request\": 6"),
                "the bundle of acme/shop#6, and not of acme/shop#5",
            ),
            (other("src/a.rs", "src/c.rs"), "somebody changed it"),
            (other("\"cycle\": 1", "\"cycle\": 2"), "somebody changed it"),
            (
                other("\"sig\"", "\"gis\""),
                "not by this repository's state_key",
            ),
        ] {
            let told = read(&text).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
        let told = |pr: &PrKey, keys: &Keys| {
            let told = Bundle::parse(file.as_bytes(), pr, keys);
            told.unwrap_err()
        };
        assert_eq!(
            told(&pr(5), &keys("another key, as long as that")),
            NotBundle::OtherKey
        );
        assert_eq!(told(&pr(5), &Keys::default()), NotBundle::NoKey);
        assert!(matches!(told(&pr(6), &keys(KEY)), NotBundle::OtherPull(..)));
    }

    #[test]
    fn a_signed_report_is_no_bundle() {
        // Of the same key, place and content, but signed as something else.
        let unsigned = serde_json::to_value(bundle()).unwrap();
        let place = pr(5);
        let (kid, sig) = keys(KEY)
            .sign(&Signed {
                pr: &place,
                root: None,
                visible: &Value::Null,
                hidden: &unsigned,
            })
            .unwrap();
        let forged = Bundle {
            kid: Some(kid),
            sig: Some(sig),
            ..bundle()
        };
        let text = serde_json::to_string(&forged).unwrap();
        assert!(read(&text).unwrap_err().contains("somebody changed it"));
    }

    proptest! {
        #[test]
        fn reading_is_total(at in 0_usize..2000, byte in any::<u8>()) {
            let mut bytes = file().into_bytes();
            let at = at % bytes.len();
            let same = bytes[at] == byte;
            bytes[at] = byte;
            let read = Bundle::parse(&bytes, &pr(5), &keys(KEY));
            // Blanks between the fields say nothing.
            let blank = |byte: u8| byte.is_ascii_whitespace();
            prop_assert!(same || blank(byte) || read.is_err());
        }
    }
}
