use super::*;

const PUBLIC: &str = "https://reviewer.example";
const OWN: &str = "https://reviewer.example/webhook";

fn hook(url: &str) -> Hook {
    Hook {
        url: Some(url.to_owned()),
        content_type: Some("json".to_owned()),
        has_secret: true,
        verifies_tls: true,
    }
}

fn of(url: &str) -> RepositoryHook {
    RepositoryHook {
        hook: hook(url),
        active: true,
        events: EVENTS.iter().map(ToString::to_string).collect(),
        last: Some(answer(202)),
    }
}

fn answer(code: u16) -> Answer {
    Answer {
        code,
        words: "failed to connect to host".to_owned(),
    }
}

fn judge(hooks: &[RepositoryHook], public_url: &str) -> Vec<Line> {
    of_repository(&"octo/shop".parse().unwrap(), hooks, public_url)
}

/// The only line, which is wrong.
fn wrong(lines: &[Line]) -> &str {
    let wrong: Vec<&str> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Wrong(told) => Some(told.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(wrong.len(), 1, "{lines:#?}");
    wrong[0]
}

fn is_right(lines: &[Line]) -> bool {
    lines.iter().all(|line| matches!(line, Line::Right(_)))
}

#[test]
fn a_webhook_that_leads_to_the_service_with_everything_is_right() {
    assert_eq!(
        judge(&[of(OWN)], PUBLIC),
        [Line::Right(format!(
            "The webhook of octo/shop goes to {OWN}."
        ))]
    );
    let mut all = of(OWN);
    (all.events, all.last) = (vec!["*".to_owned()], None);
    assert!(is_right(&judge(&[all], PUBLIC)));
    assert!(is_right(&of_app(&hook(OWN), PUBLIC)));
}

#[test]
fn each_mistake_of_a_webhook_is_told_with_its_remedy() {
    type Change = fn(&mut RepositoryHook);
    let cases: [(Change, &str); 6] = [
        (|one| one.active = false, "is not active; switch it on"),
        (
            |one| one.hook.content_type = Some("form".into()),
            "has the content type form; choose application/json",
        ),
        (
            |one| one.hook.content_type = None,
            "has the content type form",
        ),
        (|one| one.hook.has_secret = false, "has no secret"),
        (
            |one| {
                one.events
                    .retain(|event| event != "push" && event != "status");
            },
            "lacks the events push, status; tick them",
        ),
        (
            |one| one.last = Some(answer(401)),
            "set the same on both sides",
        ),
    ];
    for (change, told) in cases {
        let mut one = of(OWN);
        change(&mut one);
        let lines = judge(&[one.clone()], PUBLIC);
        assert!(wrong(&lines).contains(told), "{lines:#?}");
        // A second one that is right is enough.
        assert!(is_right(&judge(&[one, of(OWN)], PUBLIC)));
    }
    let mut blind = of(OWN);
    blind.hook.verifies_tls = false;
    assert!(matches!(
        &judge(&[blind], PUBLIC)[..],
        [Line::Look(_), Line::Right(_)]
    ));
}

#[test]
fn an_address_that_is_not_the_public_one_is_told_where_there_is_one() {
    let other = "https://old.example/webhook";
    let lines = judge(&[of("https://ci.example/hook"), of(other)], PUBLIC);
    assert!(
        wrong(&lines).contains("goes to https://old.example/webhook, and public_url"),
        "{lines:#?}"
    );
    let lines = judge(&[of("https://ci.example/hook")], PUBLIC);
    assert!(
        wrong(&lines).contains("octo/shop has no webhook for this service"),
        "{lines:#?}"
    );
    assert!(wrong(&lines).contains(OWN) && wrong(&lines).contains("check_suite, "));
    // Sessions reach the service by another address than GitHub does.
    let inside = "http://127.0.0.1:8787";
    let lines = judge(&[of("https://ci.example/hook"), of(other)], inside);
    assert_eq!(
        lines,
        [Line::Right(
            "The webhook of octo/shop goes to https://old.example/webhook; this address has to lead to the service.".into()
        )]
    );
    assert!(wrong(&judge(&[], inside)).contains("with /webhook at its end"));
    assert!(
        wrong(&of_app(&hook("https://reviewer.example/"), inside)).contains("has to end with it")
    );
    assert!(wrong(&of_app(&hook(other), PUBLIC)).contains("public_url"));
    assert!(
        wrong(&of_app(&Hook::default(), PUBLIC)).contains("The App has no webhook; switch it on")
    );
}

#[test]
fn no_password_of_an_address_is_shown() {
    let secret = "https://me:secret@old.example/webhook?token=secret#secret";
    for public_url in [PUBLIC, "http://127.0.0.1:8787"] {
        let lines = format!("{:?}", judge(&[of(secret)], public_url));
        assert!(
            lines.contains("https://old.example/webhook") && !lines.contains("secret@"),
            "{lines}"
        );
        assert!(!lines.contains("token"), "{lines}");
    }
}

#[test]
fn what_nobody_may_see_is_for_a_person_to_compare() {
    let Line::Look(told) = unseen(&"octo/shop".parse().unwrap(), PUBLIC) else {
        panic!("a person has to look");
    };
    for part in [OWN, "application/json", "pull_request_review_thread"] {
        assert!(told.contains(part), "{told}");
    }
}

fn attempt(guid: &str, code: u16) -> Attempt {
    Attempt {
        guid: guid.to_owned(),
        at: "2026-01-01T00:00:00Z".to_owned(),
        answer: answer(code),
    }
}

#[test]
fn the_last_delivery_tells_whether_webhooks_arrive() {
    let told = |attempts: &[Attempt]| deliveries(attempts);
    assert!(matches!(told(&[]), Line::Right(_)));
    let Line::Right(line) = told(&[attempt("b", 202), attempt("a", 0), attempt("a", 202)]) else {
        panic!("the newest arrived");
    };
    assert_eq!(
        line,
        "Recent webhooks of the App: 2, and all of them arrived."
    );
    let Line::Right(line) = told(&[attempt("b", 202), attempt("a", 0), attempt("a", 502)]) else {
        panic!("the newest arrived");
    };
    assert!(line.contains("1 did not arrive"), "{line}");
    for (code, words) in [(401, "the same on both sides"), (404, "leads to /webhook")] {
        assert!(wrong(&[told(&[attempt("a", code), attempt("b", 202)])]).contains(words));
    }
    for (code, words) in [
        (0, "failed to connect to host"),
        (503, "the answer was 503"),
    ] {
        let Line::Look(line) = told(&[attempt("a", code)]) else {
            panic!("it may be that the service does not run yet");
        };
        assert!(line.contains(words), "{line}");
    }
}

#[test]
fn write_access_includes_read_access() {
    let mut granted: BTreeMap<String, String> = PERMISSIONS
        .iter()
        .map(|(name, access)| ((*name).to_owned(), (*access).to_owned()))
        .collect();
    assert!(missing_permissions(&granted).is_empty());
    granted.insert("statuses".into(), "write".into());
    granted.insert("contents".into(), "read".into());
    granted.remove("merge_queues");
    assert_eq!(
        missing_permissions(&granted),
        ["contents: write", "merge_queues: read"]
    );
}
