use super::Address;

fn refusal(store: &str) -> String {
    Address::parse(store).unwrap_err().to_string()
}

#[test]
fn a_host_is_enough() {
    let address = Address::parse("restate://127.0.0.1").unwrap();
    assert_eq!(address.ingress, "http://127.0.0.1:8080");
    assert_eq!(address.admin, "http://127.0.0.1:9070");
    assert_eq!(address.listen.unwrap().to_string(), "127.0.0.1:9080");
    assert_eq!(address.advertise, "http://127.0.0.1:9080");
    assert!(address.is_local());
}

#[test]
fn every_part_can_be_named() {
    let address = Address::parse(
        "restate://engine.example:18080?admin=http://engine.example:19070/&listen=0.0.0.0:7000\
         &advertise=http://reviewer.example:7000&identity=publickeyv1_x",
    );
    let address = address.unwrap();
    assert_eq!(address.ingress, "http://engine.example:18080");
    assert_eq!(address.admin, "http://engine.example:19070");
    assert_eq!(address.advertise, "http://reviewer.example:7000");
    assert_eq!(address.identity.as_deref(), Some("publickeyv1_x"));
    assert!(!address.is_local());
    let front = Address::parse("restate://[::1]?listen=none").unwrap();
    assert_eq!(front.listen, None);
    assert!(front.is_local());
}

#[test]
fn each_mistake_is_told_in_a_sentence() {
    for (store, part) in [
        ("restate://", "it names no host"),
        ("restate://host:999999", "invalid port number"),
        ("restate://host/life", "it has the path /life"),
        ("restate://host?ADMIN=x", "it has the unknown part ADMIN"),
        (
            "restate://host?identity=a&identity=b",
            "it has the part identity twice",
        ),
        (
            "restate://host?admin=host:9070",
            "admin=host:9070 is no address",
        ),
        ("restate://host?listen=9080", "listen=9080 is no address"),
        (
            "restate://host?listen=0.0.0.0:9080",
            "advertise= has to say",
        ),
    ] {
        let told = refusal(store);
        assert!(told.contains(part), "{told}");
        assert!(told.starts_with("the store restate://"), "{told}");
    }
    let told = refusal("restate://user:hunter2@host");
    assert!(
        told.contains("it has a password") && !told.contains("hunter2"),
        "{told}"
    );
}
