//! Reduces a text to weighted words, and measures how much of them two texts share. Separate from the places of
//! findings, because this part is measured on its own (`make eval`).
//!
//! The words of a pull request's subject stand in every finding about it, so rare words tell little here; what tells
//! is that two texts name the same code and, early on, the same defect. Consequences and remedies come later in a text
//! and differ between reviewers, so a word weighs less the later it comes. The share of common words finds restatements;
//! whoever wants to be sure looks at the names of the code, too.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// Grammar, "not" included, and the words that every assessment begins with ("Level 7"): say nothing.
const STOP_WORDS: &str = "a about after again all also an and any are aren as at be because been before being \
    between both but by can cannot could did didn do does doesn don done each either even for from had has have \
    here how i if in into is isn it its just may might more most never no non not of on only or other our own per \
    should since so some such than that the their them then there these they this those through to too very via \
    was we were what when where which while who why will with without won would you your eg ie re level levels score";

/// Words that reviewers use about any defect: they say little about which one it is. These are the words of at least 8
/// % of the review comments of another published set (alibaba/aacr-bench), and more words for "wrong".
const TALK: &str = "adding avoid behavior call cause change check code comment consider consistent const create direct \
    empty ensure error explicit fail file function handle implement instead issue like logic method name new null \
    potential remove return state string suggest type use using valid value bug correct incorrect line problem result \
    wrong";

/// Names of files say where, not what.
const EXTENSIONS: &str = "c cc cpp cs css es6 go h hbs html java js json jsx kt md php py rb rs scss sh sql swift toml \
    ts tsx yaml yml";

/// Endings that make a word of the same family, the longer ones before those that they end with.
const ENDINGS: &[&str] = &[
    "ations", "ation", "ating", "ated", "ates", "ate", "ities", "ity", "ings", "ing", "ions",
    "ion", "ments", "ment", "ness", "ables", "able", "ibles", "ible", "ives", "ive", "ences",
    "ence", "ents", "ent", "ency", "ants", "ant", "ance", "ies", "ied", "ors", "or", "ers", "ed",
    "es", "er", "al", "ly", "ize", "s", "e", "y",
];

/// A root shorter than this is no longer a word of its own.
const SHORTEST_ROOT: usize = 4;

/// Weights in thousandths of an ordinary first word.
mod weight {
    /// An identifier as a whole, such as `max_image_size_kb` or `updateMany`, and a plain word set as code.
    pub(crate) const CODE: u32 = 1500;
    pub(crate) const PLAIN: u32 = 1000;
    /// The weight of words that reviewers use about any defect.
    pub(crate) const TALK: u32 = 300;
    /// A word inside an identifier: lets `user count` meet `user_count` without making every `get…` alike.
    pub(crate) const PART: u32 = 100;
    /// The least weight that a text is taken to have, so that two ordinary words in common never make sure.
    pub(crate) const LEAST: u32 = 3000;
}

/// The share of the code's names in the certainty; the common words are the rest.
const NAMED: f64 = 0.3;

/// The place of the word that weighs half of what it would weigh at the start.
const HALF: u32 = 20;

static STOP: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| STOP_WORDS.split_whitespace().collect());
static TALK_ROOTS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| TALK.split_whitespace().map(root).collect());
static FILE_ENDINGS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| EXTENSIONS.split_whitespace().collect());

/// The weighted words of one text, made once and compared often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// Hashes of words with their weights, sorted, so that two are compared in one walk.
    words: Vec<(u64, u32)>,
    total: u32,
    /// Those of them that name code.
    code: HashSet<u64>,
}

impl Fingerprint {
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut words = Words::default();
        let parts: Vec<&str> = text.split('`').collect();
        for (index, part) in parts.iter().enumerate() {
            // Between two backticks; the last one may lack its second.
            let quoted = index % 2 == 1 && index + 1 < parts.len();
            for chunk in part.split_whitespace().filter(|chunk| !is_path(chunk)) {
                let code = quoted || is_code(chunk);
                for word in chunk.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
                    words.collect(word.trim_matches('_'), code);
                }
            }
        }
        let Words { weights, code, .. } = words;
        let mut words: Vec<(u64, u32)> = weights.into_iter().collect();
        words.sort_unstable();
        let total = words.iter().map(|(_, weight)| weight).sum();
        Self { words, total, code }
    }

    /// The words, each by its hash.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.words.iter().map(|(word, _)| *word)
    }

    /// The same text with the weight of each word divided by a number, 1 or more.
    #[must_use]
    pub(crate) fn divided(&self, by: impl Fn(u64) -> u32) -> Self {
        let divided = |(word, weight): &(u64, u32)| (*word, weight / by(*word).max(1));
        let words: Vec<(u64, u32)> = self.words.iter().map(divided).collect();
        Self {
            total: words.iter().map(|(_, weight)| weight).sum(),
            words,
            code: self.code.clone(),
        }
    }

    /// The part of the shorter text that both say, from 0 to 1.
    #[must_use]
    pub(crate) fn share(&self, other: &Self) -> f64 {
        if self.total == 0 || other.total == 0 {
            return 0.0;
        }
        if self == other {
            return 1.0;
        }
        let shorter = self.total.min(other.total).max(weight::LEAST);
        f64::from(self.common(other)) / f64::from(shorter)
    }

    /// The certainty that both say the same, from 0 to 1.
    #[must_use]
    pub(crate) fn certainty(&self, other: &Self) -> f64 {
        (1.0 - NAMED) * self.share(other) + NAMED * self.named(other)
    }

    /// The part of the code named in one text that the other one mentions, too; the better of both ways, and a half
    /// where no code is named.
    fn named(&self, other: &Self) -> f64 {
        let ways = [self.named_in(other), other.named_in(self)];
        let best = ways.into_iter().flatten().max_by(f64::total_cmp);
        best.unwrap_or(0.5)
    }

    fn named_in(&self, other: &Self) -> Option<f64> {
        let mentions = |name: &&u64| {
            other
                .words
                .binary_search_by_key(*name, |word| word.0)
                .is_ok()
        };
        let [found, all] = [self.code.iter().filter(mentions).count(), self.code.len()];
        let [found, all] = [found, all].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        (all > 0).then(|| f64::from(found) / f64::from(all))
    }

    fn common(&self, other: &Self) -> u32 {
        let mut theirs = other.words.iter().peekable();
        let mut sum = 0;
        for (word, weight) in &self.words {
            while theirs.next_if(|(other, _)| other < word).is_some() {}
            if let Some((_, other)) = theirs.next_if(|(other, _)| other == word) {
                sum += weight.min(other);
            }
        }
        sum
    }
}

/// The words of a text while it is read.
#[derive(Debug, Default)]
struct Words {
    /// Each word at its heaviest.
    weights: HashMap<u64, u32>,
    code: HashSet<u64>,
    /// The number of words before it.
    place: u32,
}

impl Words {
    /// Adds what one word says: an identifier as a whole and, lightly, its parts; any other word by its root.
    fn collect(&mut self, word: &str, code: bool) {
        if word.is_empty() {
            return;
        }
        if is_identifier(word) {
            let name = word.replace('_', "").to_lowercase();
            let name = self.put(("identifier", &name), weight::CODE);
            self.code.insert(name);
            for part in parts(word) {
                self.put_plain(&part.to_lowercase(), weight::PART);
            }
        } else {
            // `10MB` is a number, which is mostly a line's, and a unit.
            let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
            let weight = if code { weight::CODE } else { weight::PLAIN };
            let name = self.put_plain(&rest.to_lowercase(), weight);
            self.code.extend(name.filter(|_| code));
        }
        self.place = self.place.saturating_add(1);
    }

    /// The key of the word, unless it says nothing.
    fn put_plain(&mut self, word: &str, weight: u32) -> Option<u64> {
        if word.chars().nth(1).is_none() || STOP.contains(word) {
            return None;
        }
        let root = root(word);
        let weight = if TALK_ROOTS.contains(root) {
            weight * weight::TALK / weight::PLAIN
        } else {
            weight
        };
        Some(self.put(("word", root), weight))
    }

    fn put(&mut self, key: (&str, &str), weight: u32) -> u64 {
        let weight = weight * HALF / HALF.saturating_add(self.place);
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let key = hasher.finish();
        let kept = self.weights.entry(key).or_default();
        *kept = weight.max(*kept);
        key
    }
}

/// A call or a dotted name: `save(user)`, `params.id`.
fn is_code(chunk: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut marks = chunk.match_indices(['(', '.']);
    marks.any(|(at, mark)| {
        chunk[..at].ends_with(is_word) && (mark == "(" || chunk[at + 1..].starts_with(is_word))
    })
}

/// A name of the code by its looks: an underscore inside, or a capital after a small letter.
fn is_identifier(word: &str) -> bool {
    let mut pairs = word.chars().zip(word.chars().skip(1));
    word.contains('_') || pairs.any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

/// The words of an identifier: `HTTPServer_id2` is `HTTP`, `Server`, `id`.
fn parts(word: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    let mut cuts = vec![0];
    for (index, pair) in chars.windows(2).enumerate() {
        let (before, (at, here)) = (pair[0].1, pair[1]);
        let ends_capitals = before.is_uppercase()
            && here.is_uppercase()
            && chars.get(index + 2).is_some_and(|(_, c)| c.is_lowercase());
        let other_kind = before.is_alphabetic() != here.is_alphabetic();
        if other_kind || ends_capitals || (before.is_lowercase() && here.is_uppercase()) {
            cuts.push(at);
        }
    }
    cuts.push(word.len());
    let pieces = cuts.windows(2).filter_map(|cut| word.get(cut[0]..cut[1]));
    pieces
        .filter(|piece| piece.chars().all(char::is_alphabetic))
        .collect()
}

/// The common form of a word's family: two endings off at most, or a short word's plural, and no doubled last letter.
fn root(word: &str) -> &str {
    let mut root = word;
    for _ in 0..2 {
        let shorter = ENDINGS
            .iter()
            .filter_map(|ending| root.strip_suffix(ending))
            .find(|shorter| shorter.chars().count() >= SHORTEST_ROOT);
        let Some(shorter) = shorter else { break };
        root = shorter;
    }
    if root == word
        && let Some(one) = word.strip_suffix('s')
        && one.chars().nth(1).is_some()
        && !one.ends_with(['s', 'u', 'i'])
    {
        return one;
    }
    let mut last = root.char_indices().rev();
    if let (Some((at, a)), Some((_, b))) = (last.next(), last.next())
        && a == b
        && root.chars().count() > SHORTEST_ROOT
    {
        return &root[..at];
    }
    root
}

/// `src/a.rs`, `(embed.js:12)`, `lib/b.py#L3`.
fn is_path(chunk: &str) -> bool {
    let chunk = chunk.trim_matches(|c: char| !c.is_alphanumeric());
    let name = chunk.split([':', '#']).next().unwrap_or_default();
    name.rsplit_once('.')
        .is_some_and(|(before, ending)| !before.is_empty() && FILE_ENDINGS.contains(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(a: &str, b: &str) -> f64 {
        Fingerprint::new(a).share(&Fingerprint::new(b))
    }

    #[test]
    fn a_word_is_known_in_all_its_forms() {
        for family in [
            ["validate", "validation", "validates"],
            ["concurrent", "concurrency", "concurrently"],
            ["overriding", "override", "overrides"],
            ["cancelled", "cancels", "cancel"],
            ["log", "logs", "log"],
        ] {
            assert!(
                family.iter().all(|word| root(word) == root(family[0])),
                "{family:?}"
            );
        }
        assert_eq!(root("used"), "used", "short words stay whole");
    }

    #[test]
    fn an_identifier_counts_as_a_whole_and_a_little_by_its_words() {
        let whole = share("user_count overflows", "user_count is negative");
        let words = share("user_count overflows", "the user count is negative");
        assert!(whole > words && words > 0.0, "{whole} {words}");
        assert_eq!(parts("HTTPServer_id2"), ["HTTP", "Server", "id"]);
        assert_eq!(
            Fingerprint::new("maxSizeKb").code,
            Fingerprint::new("max_size_kb").code
        );
    }

    #[test]
    fn a_word_tells_more_early_than_late() {
        let tail = "so that later jobs wait in vain for a worker that nobody starts again";
        let early = share(&format!("Deadlock, {tail}"), "Deadlock in shutdown");
        let late = share(&format!("{tail}: deadlock"), "Deadlock in shutdown");
        assert!(early > late && late > 0.0, "{early} {late}");
    }

    #[test]
    fn who_names_the_same_code_is_surer_to_mean_the_same() {
        let certainty = |a: &str, b: &str| Fingerprint::new(a).certainty(&Fingerprint::new(b));
        let first = "`drain` deadlocks on shutdown";
        let same = certainty(first, "drain deadlocks during shutdown");
        let other = certainty(first, "`flush` deadlocks during shutdown");
        let prose = certainty("deadlocks on shutdown", "deadlocks during shutdown");
        assert!(same > prose && prose > other, "{same} {prose} {other}");
    }

    #[test]
    fn calls_and_dotted_names_are_code_and_ends_of_sentences_are_not() {
        for code in ["save(user)", "params.id", "d.Log", "(list.first)"] {
            assert!(is_code(code), "{code}");
        }
        for prose in ["leaks.", "(leaks)", "leaks...", "a", "(.)", "é.", ""] {
            assert!(!is_code(prose), "{prose}");
        }
    }

    #[test]
    fn talk_numbers_grammar_and_file_names_prove_nothing() {
        let a = "This method returns the wrong value on line 12 of src/pay.rs, causing an error: rounding.";
        let b = "This method returns the wrong value on line 12 of src/pay.rs, causing an error: timezone.";
        assert!(share(a, b) < 0.6, "{}", share(a, b));
        assert!(share("src/pay.rs:12 leaks", "(src/pay.rs) deadlocks") < f64::EPSILON);
    }

    #[test]
    fn empty_and_strange_texts_are_compared_without_a_word_in_common() {
        for strange in [
            "",
            "`",
            "```",
            "___",
            "🦀 🦀",
            "é_É",
            "٣٤ ß",
            "a.b..c:#",
            "的 是",
        ] {
            assert!(
                share(strange, "The lock is never released.") < 0.1,
                "{strange}"
            );
            assert!(share(strange, strange) >= 0.0);
        }
    }

    #[test]
    fn both_sides_agree_and_nothing_is_more_than_everything() {
        let texts = [
            "The lock is never released.",
            "Lock `guard` dropped early, never released again",
            "x",
            "lock",
        ];
        for a in texts {
            assert!((share(a, a) - 1.0).abs() < f64::EPSILON || a == "x");
            for b in texts {
                assert!((share(a, b) - share(b, a)).abs() < f64::EPSILON);
                assert!((0.0..=1.0).contains(&share(a, b)));
            }
        }
    }
}
