//! The last output of a process, bounded and without its secrets, for the sentences about its end. Separate
//! from starting it, because a process that writes without end must not cost memory without end.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};

const KEPT_OUTPUT: usize = 64 * 1024;
const SHOWN_OUTPUT: usize = 4_000;

/// The secrets that must be removed from the process's output before it is logged.
pub(super) fn secrets(config: &Value, password: &SecretString) -> Vec<SecretString> {
    let mut found = vec![password.clone()];
    let mut open = vec![config];
    while let Some(value) = open.pop() {
        for (key, value) in value.as_object().into_iter().flatten() {
            match (key.as_str(), value.as_str()) {
                ("apiKey" | "Authorization", Some(secret)) => {
                    found.push(secret.trim_start_matches("Bearer ").into());
                }
                _ => open.push(value),
            }
        }
    }
    found.retain(|secret| !secret.expose_secret().is_empty());
    found
}

/// The last output of the process, bounded, for the sentences about its end.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    kept: Arc<Mutex<VecDeque<u8>>>,
    secrets: Arc<Vec<SecretString>>,
}

impl Output {
    pub(crate) fn new(secrets: Vec<SecretString>) -> Self {
        Self {
            kept: Arc::default(),
            secrets: Arc::new(secrets),
        }
    }

    pub(crate) fn drain(&self, pipe: Option<impl AsyncRead + Unpin + Send + 'static>) {
        let Some(mut pipe) = pipe else { return };
        let kept = Arc::clone(&self.kept);
        tokio::spawn(async move {
            let mut chunk = vec![0_u8; 8 * 1024];
            while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&chunk[..count]);
                let surplus = kept.len().saturating_sub(KEPT_OUTPUT);
                kept.drain(..surplus);
            }
        });
    }

    pub(super) async fn complete(&self) -> String {
        self.ended().await;
        self.tail()
    }

    /// Everything that is kept, as it was written, once the process is gone.
    pub(crate) async fn bytes(&self) -> Vec<u8> {
        self.ended().await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().copied().collect()
    }

    /// The readers drop their handle at the end of the pipe; a moment is enough once the process is gone.
    async fn ended(&self) {
        for _ in 0..50 {
            if Arc::strong_count(&self.kept) == 1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub(super) fn tail(&self) -> String {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from_utf8_lossy(kept.make_contiguous()).into_owned();
        drop(kept);
        for secret in self.secrets.iter() {
            text = text.replace(secret.expose_secret(), "[secret]");
        }
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        match lines.len() {
            0 => "(none)".to_owned(),
            count => last_chars(&lines[count.saturating_sub(20)..].join("\n"), SHOWN_OUTPUT),
        }
    }
}

fn last_chars(text: &str, count: usize) -> String {
    let skipped = text.chars().count().saturating_sub(count);
    text.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn the_tail_is_bounded_and_holds_no_secret() {
        let config = json!({
            "provider": { "p": { "options": { "apiKey": "key-1" } } },
            "mcp": { "m": { "headers": { "Authorization": "Bearer bearer-1" } } },
        });
        let output = Output::new(secrets(&config, &"password-1".into()));
        let mut text = "x".repeat(100_000);
        text.push_str("\nuses key-1 and bearer-1 with password-1\n");
        output.drain(Some(std::io::Cursor::new(text.into_bytes())));
        let tail = output.complete().await;
        assert!(
            tail.ends_with("uses [secret] and [secret] with [secret]"),
            "{tail}"
        );
        assert_eq!(tail.chars().count(), SHOWN_OUTPUT);
        let kept = output.kept.lock().unwrap().len();
        assert_eq!(kept, KEPT_OUTPUT);
    }

    #[test]
    fn a_silent_process_is_said_to_be_silent() {
        assert_eq!(Output::new(vec![]).tail(), "(none)");
    }
}
