//! Making text safe for the log: the runner's escapes, and the removal of what a terminal or a runner would
//! obey. Pure, so that it can be tried against hostile text.

/// Escapes the data of a workflow command.
pub(super) fn command_data(text: &str) -> String {
    let clean: String = visible(text).collect();
    clean
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
pub(super) fn command_property(text: &str) -> String {
    command_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// On one line, whatever it was on before.
pub(super) fn one_line(text: &str) -> String {
    visible(text)
        .collect::<String>()
        .replace("\r\n", "\\n")
        .replace(['\r', '\n'], "\\n")
}

/// The lines as the runner splits them, without what a terminal obeys.
pub(super) fn lines(text: &str) -> impl Iterator<Item = String> {
    let clean: String = visible(text).collect();
    let unified = clean.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<String> = unified
        .trim_end_matches('\n')
        .split('\n')
        .map(str::to_owned)
        .collect();
    lines.into_iter()
}

/// A line that is no command: the runner takes `::` after leading space, and `##[` anywhere.
pub(super) fn inert(line: &str) -> String {
    let line = line.replace("##[", "## [");
    if line.trim_start().starts_with("::") {
        format!("| {line}")
    } else {
        line
    }
}

/// At most `limit` bytes, ending with a whole character.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The text without escape sequences and control characters; line ends stay, a tab is a space.
fn visible(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut chars = text.chars().peekable();
    std::iter::from_fn(move || {
        loop {
            let c = chars.next()?;
            match c {
                '\u{1b}' => skip_escape(&mut chars),
                '\u{9b}' => skip_csi(&mut chars),
                '\t' => return Some(' '),
                '\n' | '\r' => return Some(c),
                '\u{2028}'
                | '\u{2029}'
                | '\u{feff}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}' => {}
                _ if c.is_control() => {}
                _ => return Some(c),
            }
        }
    })
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        // An operating system command (a title, a link) ends with BEL or ESC \, and never spans lines here.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next_if(|c| !matches!(c, '\n' | '\r')) {
                if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        _ => {
            chars.next_if(char::is_ascii_graphic);
        }
    }
}

/// Parameters, then one final character.
fn skip_csi(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}
