//! The line of progress on a person's terminal: a spinner, the stage, a clock, and what happened last. indicatif draws it,
//! and ticks it while the model thinks; the texts come in made safe for a terminal.

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike};
use reviewer_text::count::minutes;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A writer that the log and its live line share.
#[derive(Clone)]
pub(super) struct SharedWriter(Arc<Mutex<Box<dyn Write + Send>>>);

impl SharedWriter {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(out)))
    }

    /// A log that cannot be written is no reason to lose a review.
    pub(super) fn write(&self, text: &str) {
        let _ = self.try_write(text);
    }

    pub(super) fn try_write(&self, text: &str) -> io::Result<()> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    }
}

impl fmt::Debug for SharedWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedWriter")
    }
}

/// The time between two frames of the spinner.
const TICK: Duration = Duration::from_millis(100);
const SPINNER: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ";
const TEMPLATE: &str = "{spinner} {stage} · {clock}{wide_msg}";

/// The line, which is drawn from the first thing that it shows until it is cleared.
pub(super) struct LiveLine {
    out: SharedWriter,
    began: Instant,
    /// Beside the bar's own message, so that both change in one draw.
    stage: Arc<Mutex<String>>,
    bar: Mutex<Option<ProgressBar>>,
}

impl LiveLine {
    pub(super) fn new(out: &SharedWriter) -> Self {
        Self {
            out: out.clone(),
            began: Instant::now(),
            stage: Arc::default(),
            bar: Mutex::default(),
        }
    }

    /// Replaces what is shown. An empty act: the stage alone.
    pub(super) fn show(&self, stage: &str, act: &str) {
        stage.clone_into(&mut self.stage.lock().unwrap_or_else(PoisonError::into_inner));
        let mut bar = self.bar();
        let bar = bar.get_or_insert_with(|| self.drawn());
        bar.set_message(match act {
            "" => String::new(),
            act => format!(" · {act}"),
        });
    }

    /// Prints something else above the line.
    pub(super) fn beside(&self, print: impl FnOnce()) {
        match &*self.bar() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }

    fn drawn(&self) -> ProgressBar {
        let target = ProgressDrawTarget::term_like(Box::new(Drawing(self.out.clone())));
        let clock = |state: &ProgressState, out: &mut dyn fmt::Write| {
            // Writing to indicatif's text cannot fail.
            let _ = out.write_str(&minutes(state.elapsed().as_secs()));
        };
        let shared = Arc::clone(&self.stage);
        let stage = move |_: &ProgressState, out: &mut dyn fmt::Write| {
            let stage = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = out.write_str(&stage);
        };
        let style = ProgressStyle::with_template(TEMPLATE)
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
            .tick_chars(SPINNER)
            .with_key("clock", clock)
            .with_key("stage", stage);
        let bar = ProgressBar::with_draw_target(None, target)
            .with_style(style)
            .with_elapsed(self.began.elapsed());
        bar.enable_steady_tick(TICK);
        bar
    }

    fn bar(&self) -> std::sync::MutexGuard<'_, Option<ProgressBar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The terminal as indicatif draws on it. Not `Term` itself, which looks for TERM in an environment that is empty by then.
#[derive(Debug)]
struct Drawing(SharedWriter);

impl Drawing {
    fn moved(&self, count: usize, to: char) {
        if count > 0 {
            self.0.write(&format!("\u{1b}[{count}{to}"));
        }
    }
}

impl TermLike for Drawing {
    fn width(&self) -> u16 {
        Term::stderr().size_checked().map_or(80, |(_, width)| width)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'A');
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'B');
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'C');
        Ok(())
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'D');
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.0.write(&format!("{text}\n"));
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.write("\r\u{1b}[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}
