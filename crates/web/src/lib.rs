//! The web, as far as a review may ask it: a search and a fetch, guarded. Nothing is asked before the guard has judged
//! the question, and what comes back stands between the run's fences.

pub mod fetch;
mod filter;
mod html;
pub mod leak;
mod leak_encodings;
mod page;
pub(crate) mod public_address;
pub mod search;
pub(crate) mod target;
#[cfg(test)]
mod tests;
mod wire;

use fetch::Fetcher;
use leak::Guard;
use reviewer_text::fence::Fence;
use search::{Search, SearchFailure};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const LONGEST_QUERY: usize = 256;
const MOST_CHARACTERS: usize = 40_000;
const LONGEST_COMPLAINT: usize = 500;
/// The maximum number of calls of each kind in a run: enough for a review, too few to carry much out.
const MOST_CALLS: usize = 30;

/// The state that the two tools share.
#[derive(Debug)]
pub struct Web {
    search: Search,
    /// None behind a proxy, which would choose the address itself.
    fetcher: Option<Fetcher>,
    fence: Fence,
    /// Empty until the repository has been read. `None`: not all of it was, and nothing is asked.
    guard: OnceLock<Option<Guard>>,
    searches: AtomicUsize,
    fetches: AtomicUsize,
}

impl Web {
    #[must_use]
    pub fn new(search: Search, fetcher: Option<Fetcher>, fence: Fence) -> Self {
        Self {
            search,
            fetcher,
            fence,
            guard: OnceLock::new(),
            searches: AtomicUsize::new(0),
            fetches: AtomicUsize::new(0),
        }
    }

    /// From now on questions are judged, and asked. The first guard stays.
    pub fn open(&self, guard: Guard) {
        let _stays = self.guard.set(Some(guard));
    }

    /// From now on nothing is asked, because the guard would not recognise all of the repository.
    pub fn close(&self) {
        let _stays = self.guard.set(None);
    }

    /// True if pages can be fetched.
    #[must_use]
    pub fn fetches(&self) -> bool {
        self.fetcher.is_some()
    }

    /// Results as fenced text, or a sentence that tells the model what to do.
    pub async fn search(&self, query: &str) -> Result<String, String> {
        let query = query.trim();
        if query.is_empty() || query.chars().count() > LONGEST_QUERY {
            return Err(format!(
                "query has 1 to {LONGEST_QUERY} characters. Ask shorter, by names, versions and error codes."
            ));
        }
        self.guard()?.judge_query(query)?;
        take(&self.searches, "searches")?;
        match self.search.search(query).await {
            Ok(text) => {
                let text = page::clean(&text, MOST_CHARACTERS);
                Ok(self.fence.prose("web search results", &text))
            }
            Err(SearchFailure::Ours(sentence)) => Err(sentence),
            Err(SearchFailure::Theirs(said)) => {
                let said = page::clean(&said, LONGEST_COMPLAINT);
                let said = self.fence.prose("answer of the search endpoint", &said);
                Err(format!(
                    "The search failed. Go on without searching.\n{said}"
                ))
            }
        }
    }

    /// A page as fenced text, or a sentence that tells the model what to do.
    pub async fn fetch(&self, url: &str) -> Result<String, String> {
        let fetcher = self
            .fetcher
            .as_ref()
            .ok_or("Pages cannot be fetched behind a proxy. Use web_search.")?;
        let target = fetcher.target(url)?;
        self.guard()?.judge_url(target.url().as_str())?;
        take(&self.fetches, "fetches")?;
        let page = fetcher.fetch(target).await?;
        let text = format!("URL: {}\n\n{}", page.url, page.text);
        Ok(self.fence.prose("web page", &text))
    }

    fn guard(&self) -> Result<&Guard, String> {
        match self.guard.get() {
            Some(Some(guard)) => Ok(guard),
            Some(None) => Err("The web is not asked in this review. Go on without it.".into()),
            None => Err("The review has not begun; wait for the first prompt.".into()),
        }
    }
}

fn take(used: &AtomicUsize, what: &str) -> Result<(), String> {
    if used.fetch_add(1, Ordering::Relaxed) < MOST_CALLS {
        return Ok(());
    }
    Err(format!(
        "This review has used all of its {MOST_CALLS} {what}. Go on without."
    ))
}
