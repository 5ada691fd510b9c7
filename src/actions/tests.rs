//! The log and the files, as the runner reads them. The runner's own parsing rules decide what is a command.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: reads back what was written for the runner"
)]

use super::*;
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

/// What the runner would obey: `::name…::data` after leading space, `##[name]` anywhere; nothing between a
/// `stop-commands` and its token.
fn commands_in(log: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut stopped: Option<String> = None;
    for line in log.split(['\n', '\r']) {
        let start = line.trim_start();
        if let Some(token) = &stopped {
            if start == format!("::{token}::") {
                stopped = None;
            }
            continue;
        }
        if let Some(token) = start.strip_prefix("::stop-commands::") {
            stopped = Some(token.to_owned());
        } else if (start.starts_with("::") && start[2..].contains("::")) || line.contains("##[") {
            found.push(line.to_owned());
        }
    }
    assert_eq!(stopped, None, "the log ends with commands stopped");
    found
}

const HOSTILE: &str = "::add-mask::a\n ::error::b\n\t::set-output name=x::c\nx ##[add-matcher]d\r::warning::e\r\n\
    ::stop-commands::guess\n::guess::\n%0A::error::f\u{2028}::error::g\u{1b}[2K::error::h\u{1b}]8;;http://x\u{7}i\u{8}\u{7}\n\u{feff}::debug::j\n";

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
    assert_eq!(log.text(), "warning: two\\nlines\n== Pass 1 ==\n");
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

#[test]
fn foreign_text_commands_nothing() {
    for in_actions in [true, false] {
        let (actions, log) = actions(in_actions);
        actions.foreign(HOSTILE).unwrap();
        actions.line(HOSTILE);
        for line in HOSTILE.lines() {
            actions.line(line);
        }
        assert_eq!(commands_in(&log.text()), Vec::<String>::new());
        let odd = |c: char| c.is_control() && c != '\n';
        assert!(!log.text().contains(odd), "{:?}", log.text());
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
fn an_output_may_hold_anything() {
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
fn a_summary_stays_below_githubs_limit_and_whole_in_its_characters() {
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
fn without_a_runner_outputs_and_summary_are_printed() {
    let (actions, log) = actions(false);
    actions.set_output("open_issues", "3").unwrap();
    actions.append_summary("# Review\nfine").unwrap();
    assert_eq!(log.text(), "open_issues: 3\n  | # Review\n  | fine\n");
}

#[test]
fn a_long_message_is_cut_between_characters() {
    let (actions, log) = actions(true);
    actions.error(&"é".repeat(3_000));
    assert_eq!(log.text().chars().filter(|c| *c == 'é').count(), 2_000);
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
