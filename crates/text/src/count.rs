//! Numbers as people read them.

/// "1 finding", "2 findings".
#[must_use]
pub fn plural(count: usize, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}

/// A number of tokens, and whether it is an estimate.
#[must_use]
pub fn tokens(number: u64, estimated: bool) -> String {
    let number = grouped(number);
    if estimated {
        format!("about {number} tokens (estimated)")
    } else {
        format!("{number} tokens")
    }
}

/// Digits in groups of three.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let seen = [0, 12, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(seen, ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
