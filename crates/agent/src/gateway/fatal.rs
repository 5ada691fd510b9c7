//! The failure that ends a run: the gateway knows it before OpenCode asks the model again, and whoever watches the turn is
//! told at once. The sentences about it stand here, because only the gateway knows who was asked.

use super::provider_error::Kind;
use reqwest::Url;
use reviewer_core::config::ModelChoice;
use reviewer_core::review::fallback::Cause;
use std::io;
use std::time::Duration;
use tokio::sync::watch;

/// A failure as a sentence for a person, with its kind if the endpoint told it.
#[derive(Debug)]
struct Failure {
    kind: Option<Kind>,
    sentence: String,
}

/// The first fatal failure of a route.
#[derive(Debug)]
pub(super) struct Fatal(watch::Sender<Option<Failure>>);

impl Default for Fatal {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Fatal {
    pub(super) fn record(&self, kind: Option<Kind>, sentence: String) {
        self.0.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert(Failure { kind, sentence });
            is_first
        });
    }

    pub(super) fn recorded(&self) -> Option<String> {
        let first = self.0.borrow();
        first.as_ref().map(|failure| failure.sentence.clone())
    }

    /// The cause, if there is a failure and another model may help against it.
    pub(super) fn cause(&self) -> Option<Cause> {
        let first = self.0.borrow();
        match first.as_ref()?.kind {
            Some(Kind::Key) => None,
            Some(Kind::Model) => Some(Cause::Unknown),
            Some(Kind::Quota) => Some(Cause::Quota),
            None => Some(Cause::Unreachable),
        }
    }

    /// Waits until there is one.
    pub(super) async fn wait(&self) -> String {
        let mut receiver = self.0.subscribe();
        let found = receiver.wait_for(Option::is_some).await;
        let found = found.ok();
        let sentence = found.as_ref().and_then(|found| found.as_ref());
        match sentence.map(|failure| failure.sentence.clone()) {
            Some(sentence) => sentence,
            // `self` holds a sender, so the channel is open.
            None => std::future::pending().await,
        }
    }
}

/// The names of an endpoint, for the sentences about it.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    /// As the subject of a sentence.
    subject: String,
    model: String,
    /// The user gave the address.
    is_own: bool,
}

impl Endpoint {
    pub(super) fn from_choice(choice: &ModelChoice) -> Self {
        Self {
            subject: match &choice.base_url {
                Some(url) => format!("The model endpoint {url} (model_base_url)"),
                None => format!("The provider {}", choice.provider),
            },
            model: choice.name.clone(),
            is_own: choice.base_url.is_some(),
        }
    }

    /// The endpoint answered, and no repeat will change the answer.
    pub(super) fn refused(&self, kind: Kind, status: u16, words: &str) -> String {
        let Self { subject, model, .. } = self;
        let said = if words.is_empty() {
            format!("HTTP {status}")
        } else {
            format!("{words} (HTTP {status})")
        };
        match kind {
            Kind::Key => {
                format!("{subject} refused the request: {said}. Check the API key.")
            }
            Kind::Quota => format!(
                "{subject} does not answer, because the account has no credit or quota left: {said}. Check the billing of \
                 the account that the API key belongs to."
            ),
            Kind::Model if self.is_own => format!(
                "{subject} does not know the model {model}, or its address is wrong: {said}. Check model and \
                 model_base_url."
            ),
            Kind::Model => {
                format!("{subject} does not know the model {model}: {said}. Check model.")
            }
        }
    }

    /// Something keeps it from answering that may pass, and it wants to be asked again only then.
    pub(super) fn busy(&self, words: &str, wait: Duration) -> String {
        let Self { subject, model, .. } = self;
        let (words, minutes) = (words.trim_end_matches('.'), wait.as_secs().div_ceil(60));
        format!(
            "{subject} does not answer for {model}, and wants to be asked again in {minutes} minutes: {words}."
        )
    }

    /// No connection could be made.
    pub(super) fn unreachable(&self, url: &Url, cause: &str, tries: usize) -> String {
        let address = url.origin().ascii_serialization();
        let check = if self.is_own {
            "Check model_base_url, and that the endpoint runs and can be reached from this machine"
        } else {
            "Check the network of this machine"
        };
        format!(
            "The model gateway cannot reach {address}: {cause} ({tries} tries). {check}; behind a proxy, set HTTPS_PROXY."
        )
    }
}

/// Returns why a connection could not be made, in words that people search for.
pub(super) fn connect_cause(error: &reqwest::Error, url: &Url, limit: Duration) -> String {
    if error.is_timeout() {
        return format!("no connection within {} s", limit.as_secs());
    }
    let chain = chain(error);
    let innermost = chain.last().map(ToString::to_string).unwrap_or_default();
    let kind = chain
        .iter()
        .rev()
        .find_map(|error| error.downcast_ref::<io::Error>())
        .map(kind_within);
    let host = url.host_str().unwrap_or_default();
    match kind {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
            if url.scheme() == "https" =>
        {
            format!("TLS failed: {innermost}")
        }
        _ if chain.iter().any(|error| error.to_string() == "dns error") => {
            format!("the name {host} could not be resolved ({innermost})")
        }
        _ => innermost,
    }
}

/// The kind of the error that others were put around; `source` passes over it.
fn kind_within(error: &io::Error) -> io::ErrorKind {
    let inner = error.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<io::Error>()) {
        Some(inner) => kind_within(inner),
        None => error.kind(),
    }
}

fn chain<'a>(error: &'a reqwest::Error) -> Vec<&'a (dyn std::error::Error + 'static)> {
    let mut chain: Vec<&'a (dyn std::error::Error + 'static)> = vec![error];
    while let Some(source) = chain.last().and_then(|error| error.source()) {
        chain.push(source);
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: Option<&str>) -> Endpoint {
        Endpoint::from_choice(&ModelChoice {
            provider: "openai".into(),
            name: "gpt-9".into(),
            base_url: base_url.map(str::to_owned),
            key: None,
            context: None,
        })
    }

    #[test]
    fn each_failure_is_called_by_its_name_and_says_what_to_check() {
        let provider = endpoint(None);
        assert_eq!(
            provider.refused(Kind::Key, 401, "Incorrect API key provided"),
            "The provider openai refused the request: Incorrect API key provided (HTTP 401). Check the API key."
        );
        assert_eq!(
            provider.refused(Kind::Quota, 429, "You exceeded your current quota"),
            "The provider openai does not answer, because the account has no credit or quota left: You exceeded your \
             current quota (HTTP 429). Check the billing of the account that the API key belongs to."
        );
        assert_eq!(
            provider.refused(Kind::Model, 404, ""),
            "The provider openai does not know the model gpt-9: HTTP 404. Check model."
        );
        let own = endpoint(Some("http://localhost:1234/v1"));
        assert_eq!(
            own.refused(Kind::Model, 404, "Not Found"),
            "The model endpoint http://localhost:1234/v1 (model_base_url) does not know the model gpt-9, or its address \
             is wrong: Not Found (HTTP 404). Check model and model_base_url."
        );
    }

    #[test]
    fn a_long_wait_is_told_in_minutes() {
        let wait = Duration::from_secs(3_590);
        assert_eq!(
            endpoint(None).busy("Rate limited.", wait),
            "The provider openai does not answer for gpt-9, and wants to be asked again in 60 minutes: Rate limited."
        );
    }

    #[test]
    fn an_address_is_shown_without_its_password_and_path() {
        let url = Url::parse("https://me:hunter2@llm.example:8443/v1/chat").unwrap();
        assert_eq!(
            endpoint(None).unreachable(&url, "connection refused", 3),
            "The model gateway cannot reach https://llm.example:8443: connection refused (3 tries). Check the network of \
             this machine; behind a proxy, set HTTPS_PROXY."
        );
    }

    #[tokio::test]
    async fn the_first_failure_stays_and_is_told_to_whoever_waits() {
        let fatal = Fatal::default();
        assert_eq!(fatal.recorded(), None);
        let told = tokio::join!(fatal.wait(), async {
            fatal.record(None, "first".into());
            fatal.record(Some(Kind::Key), "second".into());
        });
        assert_eq!(told.0, "first");
        assert_eq!(fatal.wait().await, "first");
        assert_eq!(fatal.cause(), Some(Cause::Unreachable));
        let key = Fatal::default();
        key.record(Some(Kind::Key), "The key is wrong.".into());
        assert_eq!(key.cause(), None, "for a person to correct");
    }
}
