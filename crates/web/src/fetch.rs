//! Fetches one public page. Every hop is judged anew, its name resolved once, and the connection made to the address
//! that was judged; size, time and number of hops are limited while the answer comes in.

use super::page::{self, PageKind};
use super::target::{Reach, Target};
use encoding_rs::Encoding;
use futures_util::future::BoxFuture;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION,
};
use reqwest::{Client, Response, redirect, retry};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The same for every request, so that it tells nothing about the run.
pub(crate) const USER_AGENT: &str = concat!("opencode-reviewer/", env!("CARGO_PKG_VERSION"));

/// Turns a name into addresses.
pub(crate) type Lookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> + Send + Sync>;

/// The system's resolver.
#[must_use]
pub(crate) fn system_lookup() -> Lookup {
    Arc::new(|host| {
        Box::pin(async move {
            // With the dot at the end the name is complete: no search domain of the network is tried.
            let found = tokio::net::lookup_host((format!("{host}."), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

#[derive(Debug, Clone, Copy)]
pub struct FetchLimits {
    /// For everything, from the first lookup to the last byte.
    pub time: Duration,
    pub bytes: usize,
    pub redirections: usize,
    pub characters: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(20),
            bytes: 2 << 20,
            redirections: 5,
            characters: 40_000,
        }
    }
}

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The final URL.
    pub url: String,
    pub text: String,
}

#[derive(Clone)]
pub struct Fetcher {
    reach: Reach,
    limits: FetchLimits,
    lookup: Lookup,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("reach", &self.reach)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Fetcher {
    /// For the public web.
    #[must_use]
    pub fn public() -> Self {
        Self::new(Reach::public(), FetchLimits::default(), system_lookup())
    }

    #[must_use]
    pub fn new(reach: Reach, limits: FetchLimits, lookup: Lookup) -> Self {
        Self {
            reach,
            limits,
            lookup,
        }
    }

    /// Judges the URL by its look. Fails if it may not be fetched.
    pub(crate) fn target(&self, url: &str) -> Result<Target, String> {
        Target::parse(url, &self.reach)
    }

    /// The page, or a sentence that tells the model what to do instead.
    pub(crate) async fn fetch(&self, target: Target) -> Result<Page, String> {
        let seconds = self.limits.time.as_secs();
        tokio::time::timeout(self.limits.time, self.follow(target))
            .await
            .unwrap_or_else(|_| {
                Err(format!(
                    "The page did not arrive within {seconds} seconds. Use another source."
                ))
            })
    }

    async fn follow(&self, mut target: Target) -> Result<Page, String> {
        for _ in 0..=self.limits.redirections {
            let response = self.ask(&target).await?;
            match redirection(&response)? {
                Some(location) => target = target.redirected(&location, &self.reach)?,
                None => return self.read(&target, response).await,
            }
        }
        Err(format!(
            "The page redirects more than {} times. Use another source.",
            self.limits.redirections
        ))
    }

    /// One request, to an address that was judged.
    async fn ask(&self, target: &Target) -> Result<Response, String> {
        let host = target.host();
        let found = (self.lookup)(host.to_owned()).await;
        let addresses = found.unwrap_or_default();
        self.reach.vet(host, &addresses)?;
        let sockets: Vec<SocketAddr> = addresses
            .iter()
            .map(|address| SocketAddr::new(*address, target.port()))
            .collect();
        let unreachable = |_| format!("{host} could not be reached. Use another source.");
        let client = pinned(host, &sockets).map_err(unreachable)?;
        let request = client.get(target.url().clone());
        let response = request.send().await.map_err(unreachable)?;
        // The client was told to go nowhere else; this is to know it.
        let reached = response.remote_addr();
        if reached.is_some_and(|reached| sockets.contains(&reached)) {
            return Ok(response);
        }
        Err(format!("{host} could not be reached. Use another source."))
    }

    async fn read(&self, target: &Target, response: Response) -> Result<Page, String> {
        let status = response.status();
        if !status.is_success() {
            return Err(format!(
                "{} answered with status {}. Check the URL, or search for the page.",
                target.host(),
                status.as_u16()
            ));
        }
        if header(&response, CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            return Err(
                "The page comes compressed although plain text was asked for. Use another source."
                    .into(),
            );
        }
        let kind = page::kind(header(&response, CONTENT_TYPE).as_deref())?;
        let bytes = read_up_to(response, self.limits.bytes)
            .await
            .map_err(|_| "The page broke off. Try once more, or use another source.".to_owned())?;
        let text = self.text(bytes, kind, target).await?;
        Ok(Page {
            url: target.url().to_string(),
            text,
        })
    }

    /// On a thread of its own, which stops when nobody waits any more.
    async fn text(
        &self,
        bytes: Vec<u8>,
        kind: (PageKind, &'static Encoding),
        target: &Target,
    ) -> Result<String, String> {
        let waiting = Waiting(Arc::new(AtomicBool::new(true)));
        let still = Arc::clone(&waiting.0);
        let (url, most) = (target.url().clone(), self.limits.characters);
        let made = tokio::task::spawn_blocking(move || {
            let goes_on = || still.load(Ordering::Relaxed);
            let text = page::text(&bytes, kind, &url, most, &goes_on)?;
            Some(page::clean(&text, most))
        });
        let text = made.await.ok().flatten();
        text.filter(|text| !text.is_empty())
            .ok_or_else(|| "The page holds no text that can be read. Use another source.".into())
    }
}

/// Tells the thread that makes the text whether somebody still waits for it.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A client for one hop: no proxy, no redirections, no referrer, no cookies, and one name with its addresses.
fn pinned(host: &str, sockets: &[SocketAddr]) -> reqwest::Result<Client> {
    let plain = |value| http::HeaderValue::from_static(value);
    let headers = HeaderMap::from_iter([
        (
            ACCEPT,
            plain("text/html, text/plain, text/markdown, application/json;q=0.9, */*;q=0.1"),
        ),
        (ACCEPT_ENCODING, plain("identity")),
    ]);
    Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .user_agent(USER_AGENT)
        .default_headers(headers)
        .resolve_to_addrs(host, sockets)
        .build()
}

fn header(response: &Response, name: reqwest::header::HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn redirection(response: &Response) -> Result<Option<String>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    header(response, LOCATION)
        .map(Some)
        .ok_or_else(|| "The page redirects without saying where. Use another source.".to_owned())
}

/// As much of the body as is wanted; the rest is never received.
pub(super) async fn read_up_to(mut response: Response, most: usize) -> reqwest::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk[..chunk.len().min(most - bytes.len())]);
        if bytes.len() >= most {
            break;
        }
    }
    Ok(bytes)
}
