//! Words that begin with a capital letter.

/// The same words with their first letter in upper case.
#[must_use]
pub fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// The words of an error as a sentence: with a capital letter and a full stop.
#[must_use]
pub fn full_sentence(words: &str) -> String {
    let words = words.trim();
    let end = if words.ends_with('.') { "" } else { "." };
    format!("{}{end}", capitalised(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_an_error_become_a_sentence_once() {
        for words in ["the store is gone", " The store is gone. "] {
            assert_eq!(full_sentence(words), "The store is gone.");
        }
        assert_eq!(capitalised("ähnlich"), "Ähnlich");
        assert_eq!(capitalised(""), "");
    }
}
