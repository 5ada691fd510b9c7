//! Takes the secrets of runs out of what is printed. A set and not one redactor, because a process may hold several runs,
//! each with secrets of its own that must not show in what the process prints for all of them.

use reviewer_text::redact::Redactor;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The redactors of every run that prints here. Clones share one set.
#[derive(Debug, Clone, Default)]
pub struct LogRedactor(Arc<Mutex<Vec<Arc<Redactor>>>>);

/// A redactor that is asked until this is dropped.
#[derive(Debug)]
#[must_use = "the redactor is removed when this is dropped"]
pub struct Registration {
    set: LogRedactor,
    redactor: Arc<Redactor>,
}

impl LogRedactor {
    /// Adds the redactor of a run.
    pub(crate) fn register(&self, redactor: &Arc<Redactor>) -> Registration {
        self.set().push(Arc::clone(redactor));
        Registration {
            set: self.clone(),
            redactor: Arc::clone(redactor),
        }
    }

    /// The text without the secrets of any run that is registered.
    #[must_use]
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for redactor in self.registered() {
            if let Cow::Owned(cleaned) = redactor.clean(&text) {
                text = Cow::Owned(cleaned);
            }
        }
        text
    }

    /// A document without them.
    #[must_use]
    pub(crate) fn clean_value(&self, value: Value) -> Value {
        let registered = self.registered().into_iter();
        registered.fold(value, |value, redactor| redactor.clean_value(value))
    }

    /// A copy, so that nothing waits for the lock while a text is cleaned: a panic in there is printed through here.
    fn registered(&self) -> Vec<Arc<Redactor>> {
        self.set().clone()
    }

    fn set(&self) -> MutexGuard<'_, Vec<Arc<Redactor>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut set = self.set.set();
        let registered = set
            .iter()
            .position(|redactor| Arc::ptr_eq(redactor, &self.redactor));
        if let Some(index) = registered {
            set.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redactor(secret: &str) -> Arc<Redactor> {
        Arc::new(Redactor::new(&[secret.into()]))
    }

    #[test]
    fn every_registered_run_is_hidden_and_none_after_its_end() {
        let (log, text) = (LogRedactor::default(), "otter-4711-lake heron-1147-reed");
        assert_eq!(log.clean(text), text);
        let first = log.clone().register(&redactor("otter-4711-lake"));
        let second = log.register(&redactor("heron-1147-reed"));
        let hidden = "[redacted: secret of this run]";
        assert_eq!(log.clean(text), format!("{hidden} {hidden}"));
        let document = log.clean_value(json!({ "said": [text] }));
        assert_eq!(document, json!({ "said": [format!("{hidden} {hidden}")] }));
        drop(first);
        assert_eq!(log.clean(text), format!("otter-4711-lake {hidden}"));
        drop(second);
        assert_eq!(log.clean(text), text);
    }

    #[test]
    fn a_run_that_registers_twice_is_hidden_until_both_are_gone() {
        let (log, twice) = (LogRedactor::default(), redactor("otter-4711-lake"));
        let (first, second) = (log.register(&twice), log.register(&twice));
        drop(first);
        assert_ne!(log.clean("otter-4711-lake"), "otter-4711-lake");
        drop(second);
        assert_eq!(log.clean("otter-4711-lake"), "otter-4711-lake");
    }
}
