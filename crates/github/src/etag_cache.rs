//! Answers that GitHub has marked, so that it need not give them again: asked with the mark, it says "not modified",
//! which costs nothing of the rate limit. Pure.

use super::exchange::Answer;
use http::HeaderValue;
use http::header::ETAG;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The maximum size of the cache, in bytes of answers. Later answers are not cached.
const ROOM: usize = 16 << 20;

/// By route.
#[derive(Debug, Default)]
pub(super) struct EtagCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<String, (HeaderValue, Arc<Answer>)>,
    bytes: usize,
}

impl EtagCache {
    /// The mark and the answer that it stands for.
    pub(super) fn get(&self, route: &str) -> Option<(HeaderValue, Arc<Answer>)> {
        self.kept().answers.get(route).cloned()
    }

    pub(super) fn keep(&self, route: &str, answer: &Arc<Answer>) {
        let Some(mark) = answer.headers.get(ETAG) else {
            return;
        };
        let mut kept = self.kept();
        let size = |answer: &Answer| answer.body.len();
        if let Some((_, old)) = kept.answers.remove(route) {
            kept.bytes -= size(&old);
        }
        if kept.bytes + size(answer) <= ROOM {
            kept.bytes += size(answer);
            let entry = (mark.clone(), Arc::clone(answer));
            kept.answers.insert(route.to_owned(), entry);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;

    fn answer(mark: Option<&'static str>, size: usize) -> Arc<Answer> {
        let mut headers = HeaderMap::new();
        if let Some(mark) = mark {
            headers.insert(ETAG, HeaderValue::from_static(mark));
        }
        let body = "x".repeat(size);
        Arc::new(Answer { headers, body })
    }

    #[test]
    fn a_marked_answer_is_kept_while_there_is_room() {
        let cache = EtagCache::default();
        cache.keep("/none", &answer(None, 1));
        assert!(cache.get("/none").is_none());
        cache.keep("/a", &answer(Some("1"), ROOM - 1));
        cache.keep("/b", &answer(Some("2"), 2));
        assert!(cache.get("/b").is_none(), "there is no room");
        cache.keep("/a", &answer(Some("3"), 1));
        cache.keep("/b", &answer(Some("2"), 2));
        let (mark, kept) = cache.get("/a").unwrap();
        assert_eq!((mark.to_str().unwrap(), kept.body.len()), ("3", 1));
        assert!(cache.get("/b").is_some());
    }
}
