//! The dashboard as a browser meets it, but for the browser: sessions, forms, pages and events.

use super::fake::{OPERATE, READ, Server};
use crate::html_property::parse;
use futures_util::StreamExt as _;
use reqwest::{Method, RequestBuilder, Response};
use reviewer_core::config::service::HttpLimits;
use reviewer_core::lifecycle::{Phase, State};
use reviewer_system::clock::Clock;
use std::sync::atomic::Ordering;
use std::time::Duration;

const PULL: &str = "/ui/pr/octo/shop/7";
const HOSTILE: &str = "\"><script>alert(1)</script><img src=x onerror=alert(1)>";

/// A browser that keeps its cookie.
struct Visit<'a> {
    server: &'a Server,
    cookie: String,
}

impl Visit<'_> {
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.server.request(method, path);
        request.header("cookie", format!("theme=dark; {}", self.cookie))
    }

    async fn get(&self, path: &str) -> (u16, String) {
        read(
            self.request(Method::GET, path)
                .send()
                .await
                .expect("an answer"),
        )
        .await
    }

    /// The value of a hidden field of a page.
    async fn field(&self, path: &str, name: &str) -> String {
        let (_, page) = self.get(path).await;
        let inputs = parse(&page).named("input");
        let mut inputs = inputs.iter();
        let found = inputs.find(|input| input.attribute("name") == Some(name));
        let value = found.and_then(|input| input.attribute("value"));
        value.unwrap_or_default().to_owned()
    }

    fn retry(&self, form: &str, once: &str) -> RequestBuilder {
        let request = self.request(Method::POST, &format!("{PULL}/retry"));
        posts(request, &format!("form={form}&once={once}"))
    }
}

fn posts(request: RequestBuilder, body: &str) -> RequestBuilder {
    request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body.to_owned())
}

async fn read(answer: Response) -> (u16, String) {
    let status = answer.status().as_u16();
    (status, answer.text().await.expect("a text"))
}

async fn sent(request: RequestBuilder) -> (u16, String) {
    read(request.send().await.expect("an answer")).await
}

fn header(answer: &Response, name: &str) -> String {
    let value = answer.headers().get(name);
    let value = value.map(|value| value.to_str().expect("a text"));
    value.unwrap_or_default().to_owned()
}

fn sign_in(server: &Server, token: &str, next: &str) -> RequestBuilder {
    let request = server.request(Method::POST, "/ui/sign-in");
    posts(request, &format!("token={token}&next={next}"))
}

async fn signed_in<'a>(server: &'a Server, token: &str) -> Visit<'a> {
    let answer = sign_in(server, token, "").send().await.expect("an answer");
    assert_eq!(answer.status(), 303);
    let cookie = header(&answer, "set-cookie");
    let (cookie, _) = cookie.split_once(';').expect("attributes");
    Visit {
        server,
        cookie: cookie.to_owned(),
    }
}

#[tokio::test]
async fn whoever_is_not_signed_in_sees_the_way_in_and_nothing_else() {
    let server = Server::start().await;
    let answer = server
        .request(Method::GET, "/")
        .send()
        .await
        .expect("an answer");
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "location")),
        (303, "/ui".into())
    );
    for path in [
        "/ui",
        "/ui?state=error",
        PULL,
        "/ui/events",
        "/ui/nothing",
        "/ui/pr/octo/shop/8",
    ] {
        let (status, page) = sent(server.request(Method::GET, path)).await;
        assert_eq!(status, 401, "{path}");
        assert!(
            page.contains("<h1>Sign in</h1>") && !page.contains("octo/shop#7"),
            "{path}"
        );
    }
    let retry = server.request(Method::POST, &format!("{PULL}/retry"));
    assert_eq!(sent(retry).await.0, 401);
    assert_eq!(server.fake.asked(), [""; 0]);
}

#[tokio::test]
async fn a_token_of_the_api_opens_the_page_that_was_asked_for() {
    let server = Server::start().await;
    for wrong in ["", "wrong", &"x".repeat(300), "token-of-the-session"] {
        let answer = sign_in(&server, wrong, "").send().await.expect("an answer");
        assert_eq!(header(&answer, "set-cookie"), "");
        let (status, page) = read(answer).await;
        assert_eq!(status, 401, "{wrong}");
        assert!(page.contains("The service has no such token."), "{page}");
    }
    let answer = sign_in(&server, READ, PULL)
        .send()
        .await
        .expect("an answer");
    assert_eq!(header(&answer, "location"), PULL);
    let cookie = header(&answer, "set-cookie");
    for part in ["Path=/ui", "HttpOnly", "SameSite=Strict", "Secure"] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
    assert!(!cookie.contains(READ), "the token is not in the cookie");
    let away = sign_in(&server, READ, "//evil.example")
        .send()
        .await
        .expect("an answer");
    assert_eq!(header(&away, "location"), "/ui");
    let visit = signed_in(&server, READ).await;
    let (status, page) = visit.get("/ui").await;
    assert_eq!(status, 200);
    assert!(page.contains("octo/shop#7"), "{page}");
    let (_, metrics) = read(server.get("/metrics", READ).await).await;
    assert!(
        metrics.contains("requests_unauthorized_total 4"),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_session_is_valid_on_every_front_and_ends_with_its_token() {
    let (one, other) = (Server::start().await, Server::start().await);
    let visit = signed_in(&one, OPERATE).await;
    let elsewhere = Visit {
        server: &other,
        cookie: visit.cookie.clone(),
    };
    assert_eq!(elsewhere.get("/ui").await.0, 200);
    one.fake
        .removed
        .lock()
        .expect("a lock")
        .insert("ops".into());
    assert_eq!(visit.get("/ui").await.0, 401);
    assert_eq!(elsewhere.get("/ui").await.0, 200);
    let forged = Visit {
        server: &other,
        cookie: visit
            .cookie
            .replace("opencode-reviewer=", "opencode-reviewer=A"),
    };
    assert_eq!(forged.get("/ui").await.0, 401);
}

#[tokio::test]
async fn signing_out_ends_the_session_in_the_browser() {
    let server = Server::start().await;
    let visit = signed_in(&server, READ).await;
    let form = visit.field("/ui", "form").await;
    let out = posts(
        visit.request(Method::POST, "/ui/sign-out"),
        &format!("form={form}"),
    );
    let answer = out.send().await.expect("an answer");
    assert_eq!(header(&answer, "location"), "/ui/sign-in");
    assert!(header(&answer, "set-cookie").contains("opencode-reviewer=; Path=/ui"));
    assert!(header(&answer, "set-cookie").contains("Max-Age=0"));
}

#[tokio::test]
async fn a_retry_is_ordered_once_by_whoever_may() {
    let server = Server::start().await;
    let visit = signed_in(&server, OPERATE).await;
    let (form, once) = (
        visit.field(PULL, "form").await,
        visit.field(PULL, "once").await,
    );
    for _ in 0..2 {
        let answer = visit.retry(&form, &once).send().await.expect("an answer");
        assert_eq!(header(&answer, "location"), format!("{PULL}?ordered=retry"));
    }
    let asked = server.fake.asked();
    let retries: Vec<&String> = asked
        .iter()
        .filter(|one| one.starts_with("retry"))
        .collect();
    let order = format!("retry api/ops/page-{once} by ops");
    assert_eq!(retries, [&order, &order], "both with one id");
    let (_, page) = visit.get(&format!("{PULL}?ordered=retry")).await;
    assert!(page.contains("The retry was ordered."), "{page}");
}

#[tokio::test]
async fn whoever_only_reads_orders_nothing() {
    let server = Server::start().await;
    let visit = signed_in(&server, READ).await;
    let (_, page) = visit.get(PULL).await;
    assert!(!page.contains("/retry"), "{page}");
    let form = visit.field(PULL, "form").await;
    let (status, page) = sent(visit.retry(&form, "a")).await;
    assert_eq!(status, 403);
    assert!(
        page.contains("This needs a token with the role operate."),
        "{page}"
    );
    assert!(
        server
            .fake
            .asked()
            .iter()
            .all(|one| !one.starts_with("retry"))
    );
}

#[tokio::test]
async fn a_form_of_another_page_site_or_session_is_refused() {
    let server = Server::start().await;
    let (visit, other) = (
        signed_in(&server, OPERATE).await,
        signed_in(&server, OPERATE).await,
    );
    let form = visit.field(PULL, "form").await;
    let foreign = other.field(PULL, "form").await;
    for wrong in ["", "00", foreign.as_str()] {
        let (status, page) = sent(visit.retry(wrong, "a")).await;
        assert_eq!(status, 403, "{wrong}");
        assert!(page.contains("The form is not of this session."), "{page}");
    }
    let host = server.address.to_string();
    for (name, value) in [
        ("origin", "https://evil.example".to_owned()),
        ("origin", format!("https://evil.example/{host}")),
        ("sec-fetch-site", "cross-site".to_owned()),
        ("sec-fetch-site", "same-site".to_owned()),
        ("sec-fetch-site", "none".to_owned()),
    ] {
        let (status, page) = sent(visit.retry(&form, "a").header(name, &value)).await;
        assert_eq!(status, 403, "{name}: {value}");
        assert!(
            page.contains("The form was sent from another site."),
            "{page}"
        );
        let entry = sign_in(&server, READ, "").header(name, &value);
        assert_eq!(sent(entry).await.0, 403, "{name}: {value}");
    }
    assert!(
        server
            .fake
            .asked()
            .iter()
            .all(|one| !one.starts_with("retry"))
    );
    for (name, value) in [
        ("origin", "https://reviewer.test".to_owned()),
        ("origin", format!("http://{host}")),
        ("origin", "null".to_owned()),
        ("sec-fetch-site", "same-origin".to_owned()),
    ] {
        let (status, _) = sent(visit.retry(&form, "a").header(name, &value)).await;
        assert_eq!(status, 303, "{name}: {value}");
    }
}

#[tokio::test]
async fn a_link_of_another_site_leads_in_without_another_sign_in() {
    let server = Server::start().await;
    let linked = server
        .request(Method::GET, PULL)
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "navigate");
    let answer = linked.send().await.expect("an answer");
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "refresh")),
        (200, "0".into())
    );
    let (_, page) = read(answer).await;
    assert!(page.contains(&format!("href=\"{PULL}\"")), "{page}");
    let visit = signed_in(&server, READ).await;
    let linked = visit
        .request(Method::GET, PULL)
        .header("sec-fetch-site", "cross-site");
    let (status, page) = sent(linked.header("sec-fetch-mode", "navigate")).await;
    assert!(status == 200 && page.contains("octo/shop#7"));
}

#[tokio::test]
async fn what_is_not_there_or_out_of_scope_is_not_found() {
    let server = Server::start().await;
    let visit = signed_in(&server, OPERATE).await;
    for path in [
        "/ui/pr/octo/shop/8",
        "/ui/pr/eve/shop/7",
        "/ui/pr/octo/shop/x",
        "/ui/pr/octo/..%2f/7",
        "/ui?state=nothing",
        "/ui/nothing",
        "/ui/events?pull=octo/shop/8",
        "/ui/events?pull=x",
    ] {
        let (status, page) = visit.get(path).await;
        assert_eq!(status, 404, "{path}");
        assert!(
            page.contains("There is no such page or pull request here."),
            "{page}"
        );
    }
}

#[tokio::test]
async fn pages_may_load_their_own_files_and_nothing_else() {
    let server = Server::start().await;
    let visit = signed_in(&server, READ).await;
    for path in [
        "/ui",
        PULL,
        "/ui/sign-in",
        "/ui/style.css",
        "/ui/live.js",
        "/ui/icon.svg",
    ] {
        let answer = visit
            .request(Method::GET, path)
            .send()
            .await
            .expect("an answer");
        let policy = header(&answer, "content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self';"),
            "{policy}"
        );
        assert!(
            policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(header(&answer, "referrer-policy"), "no-referrer");
        assert_eq!(header(&answer, "cache-control"), "no-store");
    }
    let api = server.get("/pr", READ).await;
    assert_eq!(
        header(&api, "content-security-policy"),
        "default-src 'none'; frame-ancestors 'none'"
    );
}

#[tokio::test]
async fn text_of_others_reaches_the_browser_as_text() {
    let server = Server::start().await;
    *server.fake.state.lock().expect("a lock") = State {
        phase: Phase::Error {
            message: HOSTILE.to_owned(),
            of_settings: false,
        },
        ..State::default()
    };
    let visit = signed_in(&server, OPERATE).await;
    for path in ["/ui?state=pending", PULL] {
        let (status, page) = visit.get(path).await;
        assert_eq!(status, 200);
        let page = parse(&page);
        assert!(page.text().contains(HOSTILE), "{path}");
        assert_eq!(page.named("script").len(), 1, "{path}");
        assert!(page.named("img").is_empty(), "{path}");
    }
}

/// The next event of a stream; `None` at its end.
async fn event(
    stream: &mut (impl futures_util::Stream<Item = reqwest::Result<axum::body::Bytes>> + Unpin),
) -> Option<String> {
    let next = tokio::time::timeout(Duration::from_mins(1), stream.next()).await;
    let bytes = next.expect("something within a minute")?.ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test]
async fn a_page_hears_of_a_change_and_of_the_end_of_the_service() {
    let server = Server::start().await;
    server.fake.version.store(3, Ordering::Relaxed);
    let visit = signed_in(&server, READ).await;
    let events = |path: &str| visit.request(Method::GET, path).send();
    let mut pull = events("/ui/events?pull=octo/shop/7&seen=3")
        .await
        .expect("an answer")
        .bytes_stream();
    // What a page does not show is told at once.
    let mut late = events("/ui/events?pull=octo/shop/7&seen=2")
        .await
        .expect("an answer")
        .bytes_stream();
    assert!(
        event(&mut late)
            .await
            .expect("an event")
            .contains("event: change\ndata: now\n")
    );
    let mut list = events("/ui/events?seen=x")
        .await
        .expect("an answer")
        .bytes_stream();
    assert!(
        event(&mut list)
            .await
            .expect("an event")
            .contains("event: change\ndata: now\n")
    );
    let (_, metrics) = read(server.get("/metrics", READ).await).await;
    assert!(
        metrics.contains("opencode_reviewer_dashboard_listeners 3"),
        "{metrics}"
    );
    server.fake.version.store(4, Ordering::Relaxed);
    assert!(
        event(&mut pull)
            .await
            .expect("an event")
            .contains("event: change\ndata: now\n")
    );
    // All of them listen while the service ends, and keep it from nothing.
    server.stop().await;
    while event(&mut pull).await.is_some() {}
}

#[tokio::test]
async fn a_page_that_changes_all_the_time_leaves_its_token_most_of_its_rate() {
    let server = Server::start().await;
    let visit = signed_in(&server, READ).await;
    let clock = Clock::scaled(1.0);
    let begun = clock.instant();
    let answer = visit.request(Method::GET, "/ui/events?pull=octo/shop/7&seen=0");
    let mut page = answer.send().await.expect("an answer").bytes_stream();
    for version in 1..3 {
        server.fake.version.store(version, Ordering::Relaxed);
        assert!(event(&mut page).await.is_some());
    }
    let took = clock.instant().duration_since(begun);
    assert!(took >= Duration::from_secs(3), "{took:?}");
}

#[tokio::test]
async fn listeners_share_their_looks_at_the_store_and_have_few_places() {
    let server = Server::with(
        HttpLimits {
            connections: 40,
            ..HttpLimits::default()
        },
        1.0,
    )
    .await;
    let visit = signed_in(&server, READ).await;
    let clock = Clock::scaled(1.0);
    let begun = clock.instant();
    let listen = || visit.request(Method::GET, "/ui/events?seen=x").send();
    let mut open = Vec::new();
    for _ in 0..4 {
        let answer = listen().await.expect("an answer");
        assert_eq!(answer.status(), 200);
        open.push(answer.bytes_stream());
    }
    assert_eq!(listen().await.expect("an answer").status(), 429);
    for stream in &mut open {
        assert!(event(stream).await.is_some());
    }
    // One look a second, whatever the number of listeners, and however long this has taken.
    let looks = u64::try_from(server.fake.looks.load(Ordering::Relaxed)).expect("a number");
    let seconds = clock.instant().duration_since(begun).as_secs();
    assert!((1..=seconds + 1).contains(&looks), "{looks} in {seconds} s");
}
