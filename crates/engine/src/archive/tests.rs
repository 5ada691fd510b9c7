use super::wire::{CellLine, Line, TokenLine};
use super::*;
use std::io::Cursor;

fn cell(name: &str) -> Line {
    Line::Cell(CellLine {
        name: name.to_owned(),
        version: 3,
        text: "two\nlines".to_owned(),
    })
}

fn written(lines: &[Line]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = Writer::begin(&mut bytes, "0a1b", 7).unwrap();
    for line in lines {
        file.put(line).unwrap();
    }
    file.end().unwrap();
    bytes
}

fn refused(bytes: Vec<u8>) -> String {
    let mut from = Cursor::new(bytes);
    Reader::open(&mut from).map(drop).unwrap_err().to_string()
}

fn changed(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.contains(from), "{text}");
    text.replacen(from, to, 1).into_bytes()
}

#[test]
fn a_file_is_read_as_it_was_written() {
    let token = Line::Token(TokenLine {
        name: "dash".to_owned(),
        hash: "00ff".to_owned(),
        role: "read".to_owned(),
        created: 1,
    });
    let lines = [token, cell("a"), cell("b")];
    let mut from = Cursor::new(written(&lines));
    let mut file = Reader::open(&mut from).unwrap();
    assert_eq!((file.head.store.as_str(), file.head.at), ("0a1b", 7));
    for line in lines {
        assert_eq!(file.next().unwrap(), Some(line));
    }
    for _ in 0..2 {
        assert_eq!(file.next().unwrap(), None);
    }
    let moved = file.moved();
    assert_eq!((moved.tokens, moved.cells, moved.lives), (1, 2, 0));
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let bytes = written(&[cell("a"), cell("b")]);
    for length in 0..bytes.len() {
        let told = refused(bytes[..length].to_vec());
        let is_told = told.contains("cut off") || told.contains("no exported store");
        assert!(is_told, "{length}: {told}");
    }
}

#[test]
fn a_file_that_was_changed_is_refused() {
    let bytes = written(&[cell("a"), cell("b")]);
    let told = refused(changed(&bytes, r#""version":3"#, r#""version":4"#));
    assert!(told.contains("cut off or was changed"), "{told}");
    let told = refused([bytes.clone(), b"{}\n".to_vec()].concat());
    assert!(told.contains("cut off or was changed"), "{told}");
    let told = refused(changed(&bytes, r#"{"cell""#, r#"{"shell""#));
    assert!(
        told.starts_with("line 2 of the file cannot be read"),
        "{told}"
    );
}

#[test]
fn a_file_of_something_else_or_of_another_version_says_so() {
    for other in ["", "{}\n", "a,b,c\n", "[1]\n", "PK\u{3}\u{4}"] {
        let told = refused(other.into());
        assert!(told.contains("no exported store"), "{other}: {told}");
    }
    let endless = vec![b'x'; 1 << 20];
    assert!(refused(endless).contains("no exported store"));
    let newer = br#"{"format":"opencode-reviewer store","version":2,"more":[]}"#;
    let told = refused([newer.to_vec(), b"\n".to_vec()].concat());
    assert!(
        told.contains("version 2 of the format, and this program knows 1"),
        "{told}"
    );
}
