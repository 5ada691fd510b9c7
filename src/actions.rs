//! The runner's side: workflow commands on the log, and the files it reads after the step. Separate, because
//! a line of the log can be a command, so every printed line goes through here.
#![expect(clippy::disallowed_methods, reason = "edge: the runner's files")]

mod answers;
mod live_line;
mod log_redactor;
mod log_text;

pub(crate) use answers::file_answers;
pub use answers::{Look, Verbosity};
pub use log_redactor::{LogRedactor, Registration};

use live_line::{LiveLine, SharedWriter};

use reviewer_system::random;
use reviewer_text::redact::Redactor;
use serde_json::Value;
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// GitHub drops a summary above 1 MiB as a whole.
const SUMMARY_LIMIT: usize = 1024 * 1024 - 4096;
const CUT_NOTE: &str = "\n\n*The summary was cut here: GitHub shows at most 1 MiB.*\n";
/// The runner cuts messages here, and not on a character's boundary.
const MESSAGE_LIMIT: usize = 4_000;
/// Masking a shorter value would riddle the log with asterisks.
const SHORTEST_MASK: usize = 6;

/// Writes to the runner: its log, its commands and its files. Outside Actions the same calls print plain lines.
pub struct Actions {
    log: SharedWriter,
    /// Takes results and nothing else. `None`: the log takes them, too.
    answers: Option<SharedWriter>,
    /// The reason why a result could not be written.
    lost_answer: OnceLock<String>,
    commands: bool,
    /// For a log that a person watches on a terminal, where a line can be replaced.
    live: Option<LiveLine>,
    verbosity: Verbosity,
    look: Look,
    output: Option<PathBuf>,
    summary: Option<PathBuf>,
    /// The secrets of the run.
    redactor: LogRedactor,
    /// Those of all runs in the process.
    process: LogRedactor,
    registrations: Mutex<Vec<Registration>>,
}

impl std::fmt::Debug for Actions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Actions")
            .field("commands", &self.commands)
            .field("output", &self.output)
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

impl Actions {
    /// `commands`: whether a runner reads the log. `output` and `summary` are its files.
    #[must_use]
    pub fn new(commands: bool, output: Option<PathBuf>, summary: Option<PathBuf>) -> Self {
        Self::writing_to(Box::new(io::stdout()), commands, output, summary)
    }

    /// With another log than standard output.
    #[must_use]
    pub fn writing_to(
        log: Box<dyn Write + Send>,
        commands: bool,
        output: Option<PathBuf>,
        summary: Option<PathBuf>,
    ) -> Self {
        Self {
            log: SharedWriter::new(log),
            answers: None,
            lost_answer: OnceLock::new(),
            commands,
            live: None,
            verbosity: Verbosity::default(),
            look: Look::default(),
            output,
            summary,
            redactor: LogRedactor::default(),
            process: LogRedactor::default(),
            registrations: Mutex::default(),
        }
    }

    /// Hides the run's secrets in what the process prints beside its runs, too.
    #[must_use]
    pub fn within(mut self, process: &LogRedactor) -> Self {
        self.process = process.clone();
        self
    }

    /// With results apart from the log, where other programs read them.
    #[must_use]
    pub fn answering_to(mut self, answers: Box<dyn Write + Send>) -> Self {
        self.answers = Some(SharedWriter::new(answers));
        self
    }

    /// For a log that is a terminal: progress is one line, always the newest.
    #[must_use]
    pub fn live(mut self, live: bool) -> Self {
        self.live = live.then(|| LiveLine::new(&self.log));
        self
    }

    #[must_use]
    pub fn telling(mut self, verbosity: Verbosity) -> Self {
        self.verbosity = verbosity;
        self
    }

    #[must_use]
    pub fn looking(mut self, look: Look) -> Self {
        self.look = look;
        self
    }

    /// Returns the look of results.
    #[must_use]
    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// True where a person asked for everything.
    #[must_use]
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbosity == Verbosity::Verbose
    }

    /// True where a runner reads the log or the summary, and false in a person's shell.
    #[must_use]
    pub(crate) fn is_runner(&self) -> bool {
        self.commands || self.summary.is_some()
    }

    /// Hides the secrets that this redactor knows, for as long as the run has this log.
    pub(crate) fn hide(&self, redactor: &Arc<Redactor>) {
        let both = [&self.redactor, &self.process].map(|set| set.register(redactor));
        let registrations = self.registrations.lock();
        let mut registrations = registrations.unwrap_or_else(PoisonError::into_inner);
        registrations.extend(both);
    }

    /// A text without secrets.
    #[must_use]
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redactor.clean(text)
    }

    #[must_use]
    pub(crate) fn redactor(&self) -> &LogRedactor {
        &self.redactor
    }

    /// Sets an output of the step; without a runner's file it is a detail of the log.
    pub(crate) fn set_output(&self, name: &str, value: &str) -> io::Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || !name.chars().all(plain) {
            return Err(io::Error::other(format!(
                "{name:?} is no name of an output"
            )));
        }
        let Some(path) = &self.output else {
            self.detail(&format!("{name}: {value}"));
            return Ok(());
        };
        let value = &self.clean(value);
        let entry = log_text::output(name, value, &format!("end-{}", random_token()?));
        let entry =
            entry.ok_or_else(|| io::Error::other("the value of an output holds its delimiter"))?;
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(entry.as_bytes())
    }

    /// Appends Markdown to the step's summary, as far as GitHub still shows it; without a runner's file it
    /// is printed.
    pub(crate) fn append_summary(&self, markdown: &str) -> io::Result<()> {
        let Some(path) = &self.summary else {
            return self.foreign(markdown);
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let used = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let room = SUMMARY_LIMIT.saturating_sub(used);
        let markdown = log_text::visible(&self.clean(markdown));
        if markdown.len() < room {
            return file.write_all(format!("{markdown}\n").as_bytes());
        }
        if room <= CUT_NOTE.len() {
            return Ok(());
        }
        let kept = log_text::cut(&markdown, room - CUT_NOTE.len());
        file.write_all(format!("{kept}{CUT_NOTE}").as_bytes())
    }

    pub(crate) fn notice(&self, message: &str) {
        if !self.commands && self.verbosity == Verbosity::Quiet {
            return;
        }
        self.annotate("notice", message);
    }

    pub(crate) fn warning(&self, message: &str) {
        self.annotate("warning", message);
    }

    pub(crate) fn error(&self, message: &str) {
        self.annotate("error", message);
    }

    /// About a line of a file in the repository, where GitHub shows it.
    pub(crate) fn warning_at(&self, file: &str, line: u64, message: &str) {
        if self.commands {
            let place = format!("file={},line={line},", log_text::command_property(file));
            self.annotate_at("warning", &place, message);
        } else {
            self.warning(&format!("{file}:{line}: {message}"));
        }
    }

    fn annotate(&self, level: &str, message: &str) {
        self.annotate_at(level, "", message);
    }

    fn annotate_at(&self, level: &str, place: &str, message: &str) {
        let message = &self.clean(message);
        if self.commands {
            let message = log_text::command_data(log_text::cut(message, MESSAGE_LIMIT));
            let title = log_text::command_property("OpenCode review");
            self.print(&format!("::{level} {place}title={title}::{message}\n"));
        } else {
            self.print(&format!("{level}: {}\n", log_text::one_line(message)));
        }
    }

    /// Opens a foldable part of the log. Groups do not nest.
    pub(crate) fn group(&self, name: &str) {
        if self.commands {
            self.print(&format!("::group::{}\n", log_text::command_data(name)));
        }
    }

    pub(crate) fn end_group(&self) {
        if self.commands {
            self.print("::endgroup::\n");
        }
    }

    /// One line of the reviewer's own. It may quote foreign text, so it is made unable to be a command.
    pub fn line(&self, line: &str) {
        if self.commands || self.verbosity > Verbosity::Quiet {
            self.print(&format!("{}\n", log_text::one_line(&self.clean(line))));
        }
    }

    /// A line that a runner's log has, and a person only who asked for everything.
    pub(crate) fn detail(&self, line: &str) {
        if self.commands || self.is_verbose() {
            self.line(line);
        }
    }

    /// Logs the progress of a stage. On a terminal the live line has told it already.
    pub(crate) fn progress(&self, line: &str) {
        if self.live.is_none() || self.is_verbose() {
            self.line(line);
        }
    }

    /// The stage and the last thing that happened in it, on a terminal; a log needs no line for it.
    pub(crate) fn glimpse(&self, stage: &str, act: &str) {
        if let Some(live) = &self.live {
            let shown = |text: &str| log_text::one_line(&self.clean(text));
            live.show(&shown(stage), &shown(act));
        }
    }

    /// Takes the live line away, before something else is printed on the same terminal.
    pub fn settle(&self) {
        if let Some(live) = &self.live {
            live.clear();
        }
    }

    /// Text that others wrote, the model among them: marked as such line by line, and read by the runner
    /// with its commands stopped.
    pub(crate) fn foreign(&self, foreign: &str) -> io::Result<()> {
        let foreign = &self.clean(foreign);
        if !self.commands {
            self.print(&log_text::quoted(foreign));
            return Ok(());
        }
        self.print(&log_text::stopped(foreign, &random_token()?));
        Ok(())
    }

    /// Tells the runner to hide a secret in every later line.
    pub(crate) fn mask(&self, secret: &str) {
        if !self.commands {
            return;
        }
        for line in secret
            .lines()
            .map(str::trim)
            .filter(|line| line.chars().count() >= SHORTEST_MASK)
        {
            // To the byte: a mask that differs hides nothing.
            self.print(&format!("::add-mask::{}\n", log_text::escape(line)));
        }
    }

    fn print(&self, lines: &str) {
        match &self.live {
            Some(live) => live.beside(|| self.log.write(lines)),
            None => self.log.write(lines),
        }
    }
}

/// Standard error, for what is told outside of a run's own lines. A runner reads it too, so nothing that is written
/// here is a command, and the secrets of all runs are taken out. Each `write` is one message.
#[derive(Debug, Clone, Default)]
pub struct Errors(pub LogRedactor);

impl Errors {
    /// Says what kept the program from its work.
    pub fn complain(&mut self, sentence: &str) {
        // Where even this cannot be written, the exit code tells.
        let _ = self.write_all(format!("error: {sentence}").as_bytes());
    }
}

impl Write for Errors {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let message = log_text::message(&self.0.clean(&text));
        io::stderr().write_all(message.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// The event that started the run, as the runner wrote it.
pub(crate) fn read_event(path: Option<&Path>) -> Result<Value, String> {
    let path = path
        .ok_or("GITHUB_EVENT_PATH is not set; it names the event file that the runner writes.")?;
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| {
        format!("The event file {shown} that GITHUB_EVENT_PATH names could not be read: {error}.")
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        format!("The event file {shown} that GITHUB_EVENT_PATH names is not JSON: {error}.")
    })
}

/// Reads a file that is not larger than so many bytes.
pub(crate) fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        return Ok(bytes);
    }
    Err(io::Error::other(format!(
        "it is larger than {} MiB",
        most >> 20
    )))
}

/// Writes a file into the workspace, for the steps after this one. A link that a checkout put in its place is removed
/// and not followed.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    new_file(path)?.write_all(content)
}

/// The same for a file that somebody may read at any moment: it is there whole, or as it was.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    write_file(&beside, content)?;
    std::fs::rename(&beside, path)
}

/// Creates a file in place of an older one. A link is replaced, not followed: a branch may have put it there.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// 128 random bits: nobody who writes a value beforehand can know them.
fn random_token() -> io::Result<String> {
    random::hex(16).map_err(io::Error::other)
}

#[cfg(test)]
mod tests;
