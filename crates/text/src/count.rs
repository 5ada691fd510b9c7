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

/// The cost of requests to a model, in words. An endpoint without prices tells no cost, which is not the same as none.
#[must_use]
pub fn cost(usd: f64, tokens: u64) -> String {
    if usd <= 0.0 && tokens > 0 {
        return "cost unknown".to_owned();
    }
    dollars(usd)
}

/// Minutes and seconds, such as `0:42`.
#[must_use]
pub fn minutes(seconds: u64) -> String {
    format!("{}:{:02}", seconds / 60, seconds % 60)
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

/// An amount in US dollars, with as many digits as tell something.
#[must_use]
pub fn dollars(usd: f64) -> String {
    if usd < 0.1 {
        format!("${usd:.4}")
    } else {
        format!("${usd:.2}")
    }
}

/// A time as "40 s", "1 m 40 s" or "1 h 5 m".
#[must_use]
pub fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} m {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_keep_their_digits() {
        let seen = [0.0, 0.0312, 0.214, 12.5].map(dollars);
        assert_eq!(seen, ["$0.0000", "$0.0312", "$0.21", "$12.50"]);
    }

    #[test]
    fn a_time_is_told_in_two_units_at_most() {
        let seen = [0, 59, 60, 100, 3_600, 3_960].map(duration);
        assert_eq!(
            seen,
            ["0 s", "59 s", "1 m 0 s", "1 m 40 s", "1 h 0 m", "1 h 6 m"]
        );
    }

    #[test]
    fn tokens_without_a_price_have_an_unknown_cost() {
        assert_eq!(cost(0.0, 12_000), "cost unknown");
        assert_eq!(cost(0.0624, 12_000), "$0.0624");
        assert_eq!(cost(0.0, 0), "$0.0000");
    }

    #[test]
    fn a_clock_has_minutes_and_seconds() {
        assert_eq!([0, 42, 605].map(minutes), ["0:00", "0:42", "10:05"]);
    }

    #[test]
    fn thousands_are_grouped() {
        let seen = [0, 12, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(seen, ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
