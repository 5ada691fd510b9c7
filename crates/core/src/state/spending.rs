//! The cost of a pull request, run by run: the memory behind the limit for a day. Separate from the record that carries
//! it, because the records of several heads, and of runs at the same time, make up one account.

use super::record::Record;
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Sub;
use std::time::{SystemTime, UNIX_EPOCH};

/// A day in UTC, as the number of days since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Day(u64);

impl Day {
    #[must_use]
    pub fn from_time(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(since.as_secs() / 86_400)
    }

    #[must_use]
    pub fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

/// As `2026-11-16`. A number that is no date of the calendar is shown as it is: a record may hold any.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = i32::try_from(self.0).ok();
        match days.and_then(NaiveDate::from_epoch_days) {
            Some(date) => date.fmt(f),
            None => write!(f, "day {}", self.0),
        }
    }
}

/// The cost of one run. By run, and not as one sum, because two runs that began from the same record would each write a
/// sum without the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// A random name: the jobs of one workflow share its run's number.
    pub run: String,
    /// The day on which the run began.
    pub day: Day,
    pub cost_usd: f64,
    #[serde(default, skip_serializing_if = "is_none")]
    pub tokens: u64,
}

/// The name of what is no run, but assumed to have been spent.
const ASSUMED: &str = "unread";

impl Spent {
    #[must_use]
    pub(crate) fn is_assumed(&self) -> bool {
        self.run == ASSUMED
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_none(tokens: &u64) -> bool {
    *tokens == 0
}

/// Everything that is known to have been spent on a pull request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Account {
    runs: Vec<Spent>,
    /// Tokens of all days.
    pub tokens: u64,
    pub cost_usd: f64,
}

/// A check run's text takes 65,535 characters. Beyond this many runs on two days the smallest are forgotten.
const MOST_RUNS: usize = 300;

impl Account {
    /// From every record that was found, in any order. No record, or none that the reviewer signed, is nothing spent: a
    /// first run looks the same.
    #[must_use]
    pub fn from_records<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut account = Self::default();
        for record in records {
            account.tokens = account.tokens.max(record.tokens);
            account.cost_usd = account.cost_usd.max(record.cost_usd);
            for spent in &record.spent {
                account.note(spent.clone());
            }
        }
        account
    }

    /// The same with what a run has taken.
    #[must_use]
    pub fn plus(&self, spent: Spent) -> Self {
        let mut account = self.clone();
        account.tokens += spent.tokens;
        account.cost_usd += spent.cost_usd;
        account.note(spent);
        account
    }

    /// The same without the lines of these names.
    #[must_use]
    pub fn without(&self, names: &[String]) -> Self {
        let mut account = self.clone();
        account.runs.retain(|spent| !names.contains(&spent.run));
        account
    }

    #[must_use]
    pub fn cost_on(&self, day: Day) -> f64 {
        self.runs_on(day).map(|spent| spent.cost_usd).sum()
    }

    #[must_use]
    pub fn tokens_on(&self, day: Day) -> u64 {
        self.runs_on(day).map(|spent| spent.tokens).sum()
    }

    fn runs_on(&self, day: Day) -> impl Iterator<Item = &Spent> {
        self.runs.iter().filter(move |spent| spent.day == day)
    }

    /// Counts half of the day's limits as spent: for a pull request that was reviewed, and whose records cannot be read.
    pub fn assume_half(&mut self, day: Day, per_day_usd: Option<f64>, per_day_tokens: Option<u64>) {
        self.note(Spent {
            run: ASSUMED.into(),
            day,
            cost_usd: per_day_usd.unwrap_or_default() / 2.0,
            tokens: per_day_tokens.unwrap_or_default() / 2,
        });
    }

    /// The record, with this account in it. Of the runs only those of today and yesterday are kept: a run may find
    /// the record of one that began before midnight.
    #[must_use]
    pub fn entered_in(&self, record: Record, today: Day) -> Record {
        let counts = |spent: &Spent| spent.cost_usd > 0.0 || spent.tokens > 0;
        let recent = |spent: &&Spent| spent.day >= today.before() && counts(spent);
        let mut runs: Vec<Spent> = self.runs.iter().filter(recent).cloned().collect();
        runs.sort_by(|a, b| {
            let by_cost = b.cost_usd.total_cmp(&a.cost_usd);
            by_cost.then(b.tokens.cmp(&a.tokens))
        });
        runs.truncate(MOST_RUNS);
        Record {
            tokens: self.tokens,
            cost_usd: self.cost_usd,
            spent: runs,
            ..record
        }
    }

    /// A run that was cut off may be told twice; the larger amount is the later one.
    fn note(&mut self, spent: Spent) {
        let amount = spent.cost_usd;
        if !amount.is_finite() || amount < 0.0 {
            return;
        }
        match self.runs.iter_mut().find(|known| known.run == spent.run) {
            Some(known) => {
                known.cost_usd = known.cost_usd.max(amount);
                known.tokens = known.tokens.max(spent.tokens);
            }
            None => self.runs.push(spent),
        }
    }
}

/// The most that a run may take of something, and which input says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Allowance<T> {
    pub most: T,
    /// Said when it is used up.
    pub why: String,
}

/// The limits of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Allowances {
    /// `None`: no limit.
    pub usd: Option<Allowance<f64>>,
    pub tokens: Option<Allowance<u64>>,
}

/// The limit of a run, or what is left of the day's, whichever is less. The names are the input of the run's limit, and the unit of both.
#[must_use]
pub fn allowance<T>(
    (input, unit): (&str, &str),
    per_run: Option<T>,
    per_day: Option<T>,
    spent_today: T,
) -> Option<Allowance<T>>
where
    T: Copy + Default + PartialOrd + Sub<Output = T> + fmt::Display,
{
    let run = per_run.map(|most| Allowance {
        most,
        why: format!("{input} of {most} was reached"),
    });
    let Some(per_day) = per_day else {
        return run;
    };
    let left = if spent_today < per_day {
        per_day - spent_today
    } else {
        T::default()
    };
    run.filter(|run| run.most <= left).or_else(|| {
        Some(Allowance {
            most: left,
            why: format!(
                "max_per_day of {per_day} {unit} is used up for this pull request; it counts anew at 00:00 UTC"
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const TODAY: Day = Day(20_000);

    fn spent(run: &str, day: Day, cost_usd: f64) -> Spent {
        Spent {
            run: run.into(),
            day,
            cost_usd,
            tokens: 0,
        }
    }

    fn record(spent: &[Spent], tokens: u64, cost_usd: f64) -> Record {
        Record {
            spent: spent.to_vec(),
            tokens,
            cost_usd,
            ..Record::default()
        }
    }

    fn is(amount: f64, expected: f64) -> bool {
        (amount - expected).abs() < 1e-9
    }

    #[test]
    fn a_day_is_written_as_people_write_it() {
        let days = [0, 59, 789, 11_016, 20_000, 20_773].map(|day| Day(day).to_string());
        let dates = [
            "1970-01-01",
            "1970-03-01",
            "1972-02-29",
            "2000-02-29",
            "2024-10-04",
            "2026-11-16",
        ];
        assert_eq!(days, dates);
    }

    #[test]
    fn a_day_is_a_number_in_a_record_whatever_the_number() {
        assert_eq!(serde_json::to_string(&TODAY).unwrap(), "20000");
        let beyond: Day = serde_json::from_str("18446744073709551615").unwrap();
        assert_eq!(beyond.to_string(), "day 18446744073709551615");
    }

    #[test]
    fn a_day_ends_at_midnight_in_utc() {
        let at = |seconds| Day::from_time(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), at(86_399));
        assert_eq!(at(86_400).before(), at(86_399));
        let long_ago = UNIX_EPOCH.checked_sub(Duration::from_secs(1)).unwrap();
        assert_eq!(Day::from_time(long_ago), at(0));
    }

    #[test]
    fn runs_on_several_heads_and_at_the_same_time_add_up_once_each() {
        let (a, b, c) = (
            spent("a", TODAY, 1.0),
            spent("b", TODAY, 2.0),
            spent("c", TODAY, 4.0),
        );
        // b and c both began from a's record; b was cut off and told more when it ended.
        let cut_off = spent("b", TODAY, 0.5);
        let account = Account::from_records(&[
            record(std::slice::from_ref(&a), 10, 1.0),
            record(&[a.clone(), cut_off], 12, 1.5),
            record(&[a.clone(), b], 15, 3.0),
            record(&[a, c], 20, 5.0),
        ]);
        assert!(is(account.cost_on(TODAY), 7.0), "{account:?}");
        assert!(is(account.cost_on(TODAY.before()), 0.0));
        assert_eq!(account.tokens, 20);
    }

    #[test]
    fn the_lines_of_a_run_are_left_out_where_its_use_is_counted_besides() {
        let lines = [
            spent("first", TODAY, 3.0),
            spent("second", TODAY, 4.0),
            spent("other", TODAY, 0.5),
        ];
        let account = Account::from_records(&[record(&lines, 9, 7.5)]);
        let others = account.without(&["first".into(), "second".into()]);
        assert!(is(others.cost_on(TODAY), 0.5), "{others:?}");
    }

    #[test]
    fn yesterday_is_kept_and_counts_no_more() {
        let old = TODAY.before();
        let account = Account::from_records(&[record(
            &[
                spent("x", old.before(), 9.0),
                spent("y", old, 19.0),
                spent("z", TODAY, 1.0),
            ],
            0,
            29.0,
        )]);
        assert!(is(account.cost_on(TODAY), 1.0));
        let now = Spent {
            tokens: 100,
            ..spent("now", TODAY, 0.25)
        };
        let account = account.plus(now);
        let kept = account.entered_in(Record::default(), TODAY);
        let names: Vec<&str> = kept.spent.iter().map(|spent| spent.run.as_str()).collect();
        assert_eq!(names, ["y", "z", "now"]);
        assert_eq!(kept.tokens, 100);
        assert!(is(kept.cost_usd, 29.25), "the whole of it is told for ever");
    }

    #[test]
    fn a_run_that_asked_nothing_of_the_model_takes_no_room() {
        let free = Spent {
            tokens: 7,
            ..spent("free", TODAY, 0.0)
        };
        let account = Account::from_records(&[record(&[spent("idle", TODAY, 0.0), free], 0, 0.0)]);
        let kept = account.entered_in(Record::default(), TODAY);
        let names: Vec<&str> = kept.spent.iter().map(|spent| spent.run.as_str()).collect();
        assert_eq!(names, ["free"]);
    }

    #[test]
    fn an_account_stays_small_enough_for_a_check_run() {
        let runs: Vec<Spent> = (0..2_000)
            .map(|n: u32| {
                spent(
                    &format!("{n:016x}"),
                    TODAY,
                    f64::from(n).mul_add(0.001, 0.123_456_789),
                )
            })
            .collect();
        let kept =
            Account::from_records(&[record(&runs, 0, 0.0)]).entered_in(Record::default(), TODAY);
        let json = serde_json::to_string(&kept).unwrap();
        assert!(json.len() < 30_000, "{}", json.len());
        assert_eq!(kept.spent[0].run, format!("{:016x}", 1_999));
    }

    #[test]
    fn odd_amounts_buy_nothing() {
        let odd = [
            spent("a", TODAY, -5.0),
            spent("b", TODAY, f64::NAN),
            spent("c", TODAY, f64::INFINITY),
            spent("d", TODAY, 2.0),
        ];
        assert!(is(
            Account::from_records(&[record(&odd, 0, 0.0)]).cost_on(TODAY),
            2.0
        ));
    }

    #[test]
    fn a_run_gets_its_own_limit_or_what_is_left_of_the_day() {
        let of =
            |per_day, today| allowance(("max_cost_usd", "USD"), Some(5.0), per_day, today).unwrap();
        assert_eq!(of(None, 100.0).why, "max_cost_usd of 5 was reached");
        assert!(is(of(Some(20.0), 0.0).most, 5.0));
        assert!(is(of(Some(20.0), 15.0).most, 5.0));
        let last = of(Some(20.0), 18.5);
        assert!(is(last.most, 1.5));
        assert_eq!(
            last.why,
            "max_per_day of 20 USD is used up for this pull request; it counts anew at 00:00 UTC"
        );
        assert!(is(of(Some(20.0), 23.0).most, 0.0), "never below nothing");
        assert!(
            is(of(Some(2.0), 0.0).most, 2.0),
            "a day's limit below a run's"
        );
    }

    #[test]
    fn tokens_have_a_limit_for_a_run_for_a_day_both_or_none() {
        let of =
            |per_run, per_day, today| allowance(("max_tokens", "tokens"), per_run, per_day, today);
        assert_eq!(of(None, None, 100), None);
        assert_eq!(of(Some(50), None, 100).unwrap().most, 50);
        assert_eq!(of(None, Some(120), 100).unwrap().most, 20);
        let last = of(Some(50), Some(120), 100).unwrap();
        assert_eq!(last.most, 20);
        assert!(last.why.starts_with("max_per_day of 120 tokens is used up"));
        assert_eq!(of(Some(50), Some(120), 200).unwrap().most, 0);
    }

    #[test]
    fn what_nobody_can_read_counts_as_half_of_a_day_and_stays_so() {
        let mut account = Account::default();
        account.assume_half(TODAY, Some(20.0), Some(1_001));
        account.assume_half(TODAY, Some(20.0), Some(1_001));
        assert!(is(account.cost_on(TODAY), 10.0));
        assert_eq!(account.tokens_on(TODAY), 500);
        let next = Account::from_records(&[account.entered_in(Record::default(), TODAY)]);
        assert!(is(next.cost_on(TODAY), 10.0));
        assert!(is(next.cost_usd, 0.0), "it is no amount to be told");
        let mut unlimited = Account::default();
        unlimited.assume_half(TODAY, None, None);
        assert_eq!(unlimited.entered_in(Record::default(), TODAY).spent, []);
    }
}
