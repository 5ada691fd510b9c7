//! The language of the source: doc comments start with what an item is or does, and sentences for people speak of the
//! reviewer in the third person. Reads the source of all crates; code for tests is left out where only its strings differ.

use regex::Regex;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A question word in place of the item.
static QUESTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(What|Whether|Who|How|Where|Why)\b").unwrap());

/// Comments first, then strings with their content, then characters, which may be quotes.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    let token = r#"(?xs)
        //[^\n]* | /\*.*?\*/
        | b?r"(?<plain>[^"]*)" | b?r\#"(?<hashed>.*?)"\# | b?"(?<escaped>(?:\\.|[^"\\])*)"
        | b?'(?:\\u\{[^}]*\}|\\x..|\\.|[^\\'])'
    "#;
    Regex::new(token).unwrap()
});

/// The reviewer in the first person. "US" is a currency or a country.
static FIRST_PERSON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b([Ww]e|[Oo]urs?|us)\b").unwrap());

/// An inverted sentence about a value.
static INVERTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b([Aa]ccepted|[Rr]eviewed|[Bb]elieved|[Hh]eard) (is|are)\b").unwrap()
});

/// The line break of a string that goes on in the next line.
static CONTINUED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\\\n\s*").unwrap());

static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[a-z']{2,}").unwrap());

#[test]
fn doc_comments_start_with_what_the_item_is_or_does() {
    let wrong = checked().flat_map(|(path, text)| questions(&path, &text));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn messages_say_the_reviewer_and_not_we() {
    let wrong = checked().filter(|(path, _)| !is_for_tests(path));
    let wrong = wrong.flat_map(|(path, text)| first_persons(&path, &text));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrong_start_and_a_wrong_sentence_are_found() {
    let text = "/// Whether it runs.\n/// What follows is fine.\nfn a() {}\n/// True if it runs.\nfn b() {}\n\
                //! Who asks.\n";
    let wrong = questions("a.rs", text);
    assert_eq!(wrong, ["a.rs:1: Whether it runs.", "a.rs:6: Who asks."]);

    let text = "// \"a comment of ours in quotes\"\nlet a = \"the token that we \\\n   got is old\"; let q = '\"';\n\
                let b = r#\"is \"high\"; accepted is a number\"#; let c = \"ours\"; let d = \"5 US dollars at most per day\";\n\
                #[cfg(test)]\nmod tests {\n let e = \"none of this is for us\";\n}\n";
    let wrong = first_persons("a.rs", text);
    assert_eq!(
        wrong,
        [
            "a.rs:2: the token that we got is old",
            "a.rs:4: is \"high\"; accepted is a number"
        ]
    );
}

/// The source files that the rules hold for.
fn checked() -> impl Iterator<Item = (String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["src", "crates"].map(|folder| rust_files(&root.join(folder)));
    let files = files.into_iter().flatten().map(move |file| {
        let path = file.strip_prefix(root).expect("a file of the repository");
        let path = path.to_str().expect("plain names").to_owned();
        (path, std::fs::read_to_string(&file).expect("source"))
    });
    let files: Vec<(String, String)> = files.collect();
    assert!(files.len() > 200, "{} files were read", files.len());
    files.into_iter()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Doc comments that start with a question word.
fn questions(path: &str, text: &str) -> Vec<String> {
    let doc = |line: &str| {
        let line = line.trim_start();
        let marks = ["///", "//!"].into_iter();
        let mut found =
            marks.filter_map(|mark| Some((mark, line.strip_prefix(mark)?.trim().to_owned())));
        found.next()
    };
    let (mut wrong, mut before) = (Vec::new(), None);
    for (index, line) in text.lines().enumerate() {
        let (mark, words) = doc(line).unzip();
        if let Some(words) = words
            && mark != before
            && QUESTION.is_match(&words)
        {
            wrong.push(format!("{path}:{}: {words}", index + 1));
        }
        before = mark;
    }
    wrong
}

fn is_for_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.contains("/tests/") || name.ends_with("tests.rs") || name == "fixture.rs"
}

/// Sentences in strings that speak in the first person, or in inverted order. Prompts are files, and are not read.
fn first_persons(path: &str, text: &str) -> Vec<String> {
    let product = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    let strings = TOKEN.captures_iter(product).filter_map(|token| {
        let mut names = ["plain", "hashed", "escaped"].into_iter();
        let string = names.find_map(|name| token.name(name))?;
        let line = product[..string.start()].lines().count();
        let string = CONTINUED.replace_all(string.as_str(), "").into_owned();
        Some((line, string))
    });
    let is_wrong = |string: &str| FIRST_PERSON.is_match(string) || INVERTED.is_match(string);
    strings
        .filter(|(_, string)| is_prose(string) && is_wrong(string))
        .map(|(line, string)| format!("{path}:{line}: {string}"))
        .collect()
}

/// Several words, and no mere list of words.
fn is_prose(string: &str) -> bool {
    let words = WORD.find_iter(string).count();
    let is_list = words > 40 && !string.contains(['.', ',', ';', ':']);
    words >= 4 && string.contains(' ') && !is_list
}
