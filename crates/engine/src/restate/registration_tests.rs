use super::*;

fn deployment(id: &str, uri: &str, manifest: &str, revisions: &[(&str, u32)]) -> Deployment {
    let services = revisions
        .iter()
        .map(|(name, revision)| json!({ "name": name, "revision": revision }));
    let services: Vec<Value> = services.collect();
    let metadata = json!({ NOTED: manifest });
    let told = json!({ "id": id, "uri": uri, "metadata": metadata, "services": services });
    serde_json::from_value(told).unwrap()
}

#[test]
fn only_the_same_handlers_at_the_same_address_that_are_called_need_no_registration() {
    let (pull, registry) = ("opencode-reviewer.pull", "opencode-reviewer.registry");
    let all = [
        deployment("command", "http://a:1/", "rows", &[(registry, 1)]),
        deployment(
            "earlier",
            "http://b:2/",
            "both",
            &[(registry, 2), (pull, 1)],
        ),
        deployment(
            "current",
            "http://c:3/",
            "both",
            &[(registry, 3), (pull, 2)],
        ),
    ];
    let found = |uri, manifest| registered(&all, uri, manifest);
    assert_eq!(found("http://c:3", "both").as_deref(), Some("current"));
    assert_eq!(found("http://c:3", "other"), None);
    assert_eq!(found("http://b:2", "both"), None);
    assert_eq!(found("http://a:1", "rows"), None);
    assert_eq!(registered(&[], "http://c:3", "both"), None);
}

#[test]
fn the_same_handlers_have_the_same_hash_with_and_without_a_key() {
    let built = |limits: &Limits, identity| {
        let handlers = Handlers {
            service: None,
            limits,
            identity,
        };
        handlers
            .build()
            .unwrap_or_else(|error| panic!("{error}"))
            .manifest
    };
    let limits = Limits::default();
    let key = "publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f";
    assert_eq!(built(&limits, None), built(&limits, Some(key)));
    assert_ne!(built(&limits, None), HEXLOWER.encode(&Sha256::digest(b"")));
}
