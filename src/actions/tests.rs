//! The log and the files, as the runner reads them. The runner's own parsing rules decide what is a command.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: reads back what was written for the runner"
)]

#[path = "../../tests/standin/runner.rs"]
mod runner;

use super::*;
use proptest::prelude::*;
use reviewer_text::line::{Line, Piece, Style};
use runner::CANARY;
use serde_json::json;
use std::sync::Arc;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn actions(commands: bool) -> (Actions, Log) {
    let log = Log::default();
    (
        Actions::writing_to(Box::new(log.clone()), commands, None, None),
        log,
    )
}

const HOSTILE: &str = "::add-mask::a\n ::error::b\n\t::set-output name=x::c\nx ##[add-matcher]d\r::warning::e\r\n\
    ::stop-commands::guess\n::guess::\n%0A::error::f\u{2028}::error::g\u{1b}[2K::error::h\u{1b}]8;;http://x\u{7}i\u{8}\u{7}\n\u{feff}::debug::j\n";

/// The same in lines as a page has them.
const HOSTILE_LINES: &str = "::add-mask::a\n ::error::b\n\t::set-output name=x::c\nx ##[add-matcher]d\n\
    ::stop-commands::guess\n::guess::\n\u{a0}::debug::j";

#[test]
fn a_message_becomes_an_annotation_in_actions_and_a_plain_line_in_a_shell() {
    let (in_actions, log) = actions(true);
    in_actions.error("50% done,\nthen: this");
    in_actions.notice("Skipped.");
    assert_eq!(
        log.text(),
        "::error title=OpenCode review::50%25 done,%0Athen: this\n::notice title=OpenCode review::Skipped.\n"
    );
    let (in_a_shell, log) = actions(false);
    in_a_shell.warning("two\nlines");
    in_a_shell.group("Pass 1");
    in_a_shell.end_group();
    in_a_shell.mask("secret-value");
    assert_eq!(log.text(), "warning: two\\nlines\n");
}

#[test]
fn groups_and_masks_are_commands() {
    let (actions, log) = actions(true);
    actions.group("Pass 1\nof 4");
    actions.end_group();
    actions.mask("first-line\nab\nsecond%line\n");
    assert_eq!(
        log.text(),
        "::group::Pass 1%0Aof 4\n::endgroup::\n::add-mask::first-line\n::add-mask::second%25line\n"
    );
}

/// Everything that can be printed, with a text that may be foreign in it.
fn everything(actions: &Actions, text: &str) {
    actions.foreign(text).unwrap();
    actions.line(text);
    actions.error(&format!("Not shown to the model: {text}"));
    actions.warning(&format!("Said: {text}"));
    actions.group(&format!("Pass 1 of 4: {text}"));
    actions.end_group();
    actions.answer(text);
    actions.answer_json(json!([{ "body": text, "x": { "y": text } }]));
    actions.set_output("report_file", text).unwrap();
    actions.append_summary(text).unwrap();
    actions.progress(text);
    let piece = |style| Piece {
        style,
        text: text.to_owned(),
    };
    let lines = text.split('\n').map(|line| Piece {
        style: Style::Plain,
        text: line.to_owned(),
    });
    let page: Vec<Line> = lines.map(|piece| vec![piece]).collect();
    actions.answer_page(&page, false);
    actions.answer_page(&[vec![piece(Style::Bad), piece(Style::Plain)]], false);
}

/// The judge has to find a command where there is one, or its silence means nothing.
#[test]
fn l1_the_judge_knows_a_command_when_it_sees_one() {
    for line in [
        "::error::canary-command",
        " \u{a0}\t::ERROR::x",
        "x ##[add-matcher]x",
        "x\r::set-output name=a::b",
        "::error title=OpenCode review::canary-command",
        "::group::anything",
        "::add-mask::a",
        "::stop-commands::guess",
        "::stop-commands::0123456789abcdef0123456789abcdef\n::error::x",
        "::unheard-of::x",
    ] {
        assert_ne!(
            runner::offences(line, &["secret".into()]),
            Vec::<String>::new(),
            "{line}"
        );
    }
    let stopped = "::stop-commands::0123456789abcdef0123456789abcdef\n ::error::x\n::0123456789abcdef0123456789abcdef::\n";
    assert_eq!(runner::offences(stopped, &[]), Vec::<String>::new());
    let early = "::stop-commands::0123456789abcdef0123456789abcdef\nx ##[0123456789ABCDEF0123456789abcdef]\n";
    assert_ne!(runner::offences(early, &[]), Vec::<String>::new());
    let (escaped, _) = runner::obeyed("::error title=a%3Ab::50%25 of%0Ait");
    assert_eq!(
        (
            escaped[0].properties["title"].as_str(),
            escaped[0].data.as_str()
        ),
        ("a:b", "50% of\nit")
    );
}

#[test]
fn l1_foreign_text_commands_nothing() {
    for in_actions in [true, false] {
        let (actions, log) = actions(in_actions);
        everything(&actions, HOSTILE);
        for line in HOSTILE.lines() {
            everything(&actions, line);
        }
        let offences = runner::offences(&log.text(), &[]);
        assert_eq!(offences, Vec::<String>::new());
        let odd = |c: char| c.is_control() && c != '\n';
        assert!(!log.text().contains(odd), "{:?}", log.text());
    }
}

#[test]
fn l1_what_is_logged_beside_the_run_commands_nothing_either() {
    let message = log_text::message(&format!(" WARN {HOSTILE}"));
    assert_eq!(runner::offences(&message, &[]), Vec::<String>::new());
    assert!(message.starts_with(" WARN ::add-mask::"), "{message}");
    assert_eq!(log_text::message("::error::x"), "| ::error::x\n");
}

#[test]
fn l1_the_same_json_is_printed_without_commands() {
    let (actions, log) = actions(true);
    let value = json!([{ "body": format!("{HOSTILE} ##[error]{CANARY}\u{9b}2J") }]);
    actions.answer_json(value.clone());
    assert_eq!(runner::offences(&log.text(), &[]), Vec::<String>::new());
    assert_eq!(serde_json::from_str::<Value>(&log.text()).unwrap(), value);
}

#[test]
fn l1_the_same_page_of_html_is_printed_without_commands() {
    let page = log_text::html(&format!("<pre>{HOSTILE_LINES}\n ##[error]{CANARY}</pre>"));
    assert_eq!(runner::offences(&page, &[]), Vec::<String>::new());
    let read = page.replace("&#58;", ":").replace("&#35;", "#");
    assert_eq!(
        read,
        format!("<pre>{HOSTILE_LINES}\n ##[error]{CANARY}</pre>\n")
    );
}

#[test]
fn l2_the_token_of_a_block_is_not_in_its_text() {
    let token = "0123456789abcdef0123456789abcdef";
    let echoed = format!(
        "::{token}::\n##[{}]\nx\u{200b}{token}",
        token.to_uppercase()
    );
    let block = log_text::stopped(&echoed, token);
    assert_eq!(block.to_lowercase().matches(token).count(), 2, "{block}");
    assert_eq!(runner::offences(&block, &[]), Vec::<String>::new());
    let split = format!("{}\u{200b}{}", &token[..9], &token[9..]);
    assert_eq!(log_text::stopped(&split, token).matches(token).count(), 2);
}

#[test]
fn l3_a_value_that_holds_its_delimiter_is_refused() {
    assert_eq!(log_text::output("a", "x\nend-1\nb=c", "end-1"), None);
    let entry = log_text::output("a", "EOF\na<<x", "end-1").unwrap();
    assert_eq!(entry, "a<<end-1\nEOF\na<<x\nend-1\n");
}

#[test]
fn l4_what_a_terminal_obeys_is_gone() {
    let text = "a\u{1b}[31mb\u{1b}]8;;https://x.test\u{1b}\\c\u{1b}]0;title\u{7}d\u{9b}2Je\u{9d}0;t\u{9c}f\u{8}\u{7}g\u{202e}\u{0}h\u{1b}(Bi";
    assert_eq!(log_text::visible(text), "abcdefghBi");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("summary");
    let actions = Actions::new(true, None, Some(path.clone()));
    actions
        .append_summary("| a\u{1b}[2J\u{202e} |\n👩\u{200d}💻")
        .unwrap();
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        "| a |\n👩\u{200d}💻\n"
    );
}

#[test]
fn a_mask_is_the_secret_to_the_byte() {
    let (actions, log) = actions(true);
    actions.mask("a\tb##[c\u{200b}d");
    assert_eq!(log.text(), "::add-mask::a\tb##[c\u{200b}d\n");
}

proptest! {
    #[test]
    fn l1_no_text_whatsoever_is_a_command(
        text in "(?s)(::|##\\[|\\]|error|stop-commands|add-mask| |\t|\r|\n|%0A|\u{2028}|\u{85}|\u{200b}|\u{1b}\\[|\u{9b}|#|:|.){0,24}"
    ) {
        for in_actions in [true, false] {
            let (actions, log) = actions(in_actions);
            everything(&actions, &text);
            prop_assert_eq!(runner::offences(&log.text(), &[]), Vec::<String>::new());
        }
        let beside = log_text::message(&text);
        prop_assert_eq!(runner::offences(&beside, &[]), Vec::<String>::new());
    }
}

#[test]
fn foreign_text_is_marked_line_by_line_between_stops_of_its_own() {
    let (actions, log) = actions(true);
    actions.foreign("one\r\n\x1b[31mtwo\x1b[0m\n").unwrap();
    actions.foreign("three").unwrap();
    let text = log.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(
        (lines[1], lines[2], lines[5]),
        ("  | one", "  | two", "  | three")
    );
    let token = lines[0].strip_prefix("::stop-commands::").unwrap();
    assert_eq!(
        (token.len(), lines[3]),
        (32, format!("::{token}::").as_str())
    );
    assert_ne!(lines[0], lines[4]);
}

#[test]
fn l3_an_output_may_hold_anything() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("output");
    let actions = Actions::new(true, Some(path.clone()), None);
    actions.set_output("review_status", "clean").unwrap();
    actions
        .set_output(
            "report_file",
            "EOF\nreview_status<<x\nreview_status=blocking",
        )
        .unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let first = lines[0].strip_prefix("review_status<<").unwrap();
    assert_eq!((lines[1], lines[2]), ("clean", first));
    let second = lines[3].strip_prefix("report_file<<").unwrap();
    assert_eq!(lines[7], second);
    assert_ne!(first, second);
    assert!(text.ends_with('\n'));
    assert!(actions.set_output("a=b", "c").is_err());
}

#[test]
fn l5_a_summary_stays_below_githubs_limit_and_whole_in_its_characters() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("summary");
    let actions = Actions::new(true, None, Some(path.clone()));
    actions.append_summary("# Review").unwrap();
    actions.append_summary(&"€".repeat(500_000)).unwrap();
    actions.append_summary("never seen").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.len() <= SUMMARY_LIMIT && text.len() > SUMMARY_LIMIT - 100);
    assert!(text.starts_with("# Review\n€"));
    assert!(text.ends_with(CUT_NOTE));
}

#[test]
fn without_a_runner_outputs_are_told_to_who_asks_for_everything() {
    let (actions, log) = actions(false);
    actions.set_output("open_issues", "3").unwrap();
    assert_eq!(log.text(), "");
    let actions = actions.telling(Verbosity::Verbose);
    actions.set_output("open_issues", "3").unwrap();
    actions.append_summary("# Review\nfine").unwrap();
    assert_eq!(log.text(), "open_issues: 3\n  | # Review\n  | fine\n");
}

#[test]
fn results_are_apart_from_what_is_said_about_them() {
    let (actions, log) = actions(false);
    let answers = Log::default();
    let actions = actions.answering_to(Box::new(answers.clone()));
    actions.answer_json(json!([]));
    actions.error("The token is wrong.");
    actions.line("One moment.");
    assert_eq!(answers.text(), "[]\n");
    assert_eq!(log.text(), "error: The token is wrong.\nOne moment.\n");
}

#[test]
fn who_wants_quiet_hears_warnings_and_errors_only() {
    let (actions, log) = actions(false);
    let actions = actions.telling(Verbosity::Quiet);
    actions.line("One moment.");
    actions.detail("All walls stand.");
    actions.progress("1/4 diff");
    actions.notice("Nothing to do.");
    actions.warning("A wall is missing.");
    actions.error("The token is wrong.");
    actions.answer("The result.");
    assert_eq!(
        log.text(),
        "warning: A wall is missing.\nerror: The token is wrong.\nThe result.\n"
    );
}

#[test]
fn a_long_message_is_cut_between_characters() {
    let (actions, log) = actions(true);
    actions.error(&"é".repeat(3_000));
    assert_eq!(log.text().chars().filter(|c| *c == 'é').count(), 2_000);
}

#[test]
fn p4_an_event_that_is_no_text_is_a_sentence_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("event.json");
    for bytes in [
        &br#"{"body":"\ud800"}"#[..],
        b"\xff\xfe{}",
        b"{\"body\":\"\0\"}",
        b"",
    ] {
        std::fs::write(&path, bytes).unwrap();
        let sentence = read_event(Some(&path)).unwrap_err();
        assert!(sentence.contains("is not JSON"), "{sentence}");
    }
    std::fs::write(&path, br#"{"body":"\u0000\u2028\ufeff"}"#).unwrap();
    let event = read_event(Some(&path)).unwrap();
    assert_eq!(event["body"], "\0\u{2028}\u{feff}");
}

#[test]
fn a_link_in_the_report_s_place_is_not_followed() {
    let folder = tempfile::TempDir::new().unwrap();
    let (report, other) = (
        folder.path().join("report.json"),
        folder.path().join("other"),
    );
    std::fs::write(&other, "untouched").unwrap();
    std::os::unix::fs::symlink(&other, &report).unwrap();
    write_file(&report, b"{}").unwrap();
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "untouched");
    assert_eq!(std::fs::read_to_string(&report).unwrap(), "{}");
    write_file(&report, b"[]").unwrap();
    assert_eq!(std::fs::read_to_string(&report).unwrap(), "[]");
}

/// Returns the lines that a terminal of one line shows after these bytes, each that was kept.
fn shown(bytes: &str) -> Vec<String> {
    let kept = bytes.split('\n');
    let last = |line: &str| {
        let drawn = line.rsplit("\r\u{1b}[2K").next().unwrap_or_default();
        drawn.trim_end().to_owned()
    };
    kept.map(last).collect()
}

#[test]
fn on_a_terminal_progress_is_one_line_and_whatever_follows_stands_above_it() {
    let (actions, log) = actions(false);
    let actions = actions.live(true);
    actions.group("Pass 1");
    actions.glimpse("1/4 diff", "");
    actions.glimpse("1/4 diff", "reading src/\u{1b}[2Ja\nb.ts");
    actions.warning("Hear this.");
    let text = log.text();
    let spins = |line: &str| line.starts_with(|c| ('⠀'..='⣿').contains(&c));
    assert!(spins(&text) && text.contains(" 1/4 diff · 0:0"), "{text:?}");
    let last = shown(&text);
    assert_eq!(last[0], "warning: Hear this.");
    assert!(last[1].ends_with(" · reading src/a\\nb.ts"), "{last:?}");
    actions.progress("1/4 diff · 2 tool calls");
    actions.settle();
    actions.settle();
    assert_eq!(shown(&log.text()), ["warning: Hear this.", ""]);
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\u{1b}');
    assert!(!log.text().contains(odd), "{:?}", log.text());
}

#[test]
fn in_a_log_progress_is_a_line_and_a_glimpse_is_none() {
    let (actions, log) = actions(false);
    actions.glimpse("1/4 diff", "reading");
    actions.progress("two");
    actions.settle();
    assert_eq!(log.text(), "two\n");
}

#[test]
fn colours_are_ours_alone() {
    let (actions, log) = actions(false);
    let piece = |style, text: &str| Piece {
        style,
        text: text.to_owned(),
    };
    let page = [
        vec![
            piece(Style::Strong, "a\u{1b}[5m"),
            piece(Style::Plain, "b\nc"),
        ],
        vec![piece(Style::Bad, "::error::d")],
        Vec::new(),
    ];
    actions.answer_page(&page, true);
    assert_eq!(log.text(), "\u{1b}[1ma\u{1b}[0mb c\n| ::error::d\n\n");
}

/// A disk without room.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_result_that_cannot_be_written_is_known_and_a_reader_that_left_is_fine() {
    let (shell, _) = actions(false);
    let shell = shell.answering_to(Box::new(Full));
    shell.answer("a table");
    let why = shell.lost_answer().unwrap_or_default();
    assert!(why.contains("no storage space"), "{why}");
    let (shell, _) = actions(false);
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let shell = shell.answering_to(Box::new(writer));
    shell.answer("a table");
    assert_eq!(shell.lost_answer(), None);
}
