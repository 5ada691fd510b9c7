//! Rows N1, N3, N4 and N5 of the catalogue, as far as the look of a URL decides them.

use super::*;

fn parse(text: &str) -> Result<String, String> {
    Target::parse(text, &Reach::public()).map(|target| target.url().to_string())
}

#[test]
fn pages_of_documentation_are_fetched() {
    for url in [
        "https://docs.rs/tokio/1.54.1/tokio/task/struct.JoinSet.html",
        "https://pkg.go.dev/github.com/stretchr/testify/assert",
        "http://example.com/",
        "https://example.com/search?q=cve-2024-3094&page=2",
        "https://xn--bcher-kva.example/",
    ] {
        assert_eq!(parse(url).as_deref(), Ok(url));
    }
}

#[test]
fn the_usual_ways_to_write_a_url_are_one() {
    for (given, meant) in [
        (" https://docs.rs/a ", "https://docs.rs/a"),
        ("https://docs.rs/a#secret", "https://docs.rs/a"),
        ("https://DOCS.rs:443/a", "https://docs.rs/a"),
        ("https://docs.rs./a", "https://docs.rs/a"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("http:\\\\docs.rs\\a", "http://docs.rs/a"),
        ("https://docs.rs/a/../../b", "https://docs.rs/b"),
    ] {
        assert_eq!(parse(given).as_deref(), Ok(meant), "{given}");
    }
}

#[test]
fn n1_private_places_are_refused_in_every_spelling() {
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0x7f000001/",
        "http://017700000001/",
        "http://0177.0.0.01/",
        "http://１２７.０.０.１/",
        "http://127。0。0。1/",
        "http://127.0.0.1./",
        "http://0/",
        "http://[::]/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fe80::1%25eth0]/",
        "http://[fd00:ec2::254]/latest/meta-data",
        "http://169.254.169.254/latest/meta-data",
        "http://168.63.129.16/metadata",
        "http://8.8.8.8/",
        "http://localhost/",
        "http://localhost./",
        "http://LOCALHOST/",
        "http://ⓛocalhost/",
        "http://db.localhost/",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "http://metadata/",
        "http://kubernetes/",
        "http://router.home.arpa/",
        "http://docs..rs/",
        "http://docs.rs../",
        "http://.docs.rs/",
        "http://256.256.256.256/",
        "http://1.2.3.4.5/",
    ] {
        assert!(parse(url).is_err(), "{url}");
    }
}

#[test]
fn n5_only_http_without_credentials_on_the_usual_ports() {
    for url in [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "data:text/plain,hello",
        "javascript:alert(1)",
        "ws://example.com/",
        "https:///",
        "https://",
        "//example.com/",
        "example.com",
        "",
        "https://user@example.com/",
        "https://user:password@example.com/",
        "https://:password@example.com/",
        "https://github.com@example.com/",
        "https://example.com:8443/",
        "http://example.com:22/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://exam\nple.com/",
        "http://exam\tple.com/",
        "http://example.com/a b",
        "http://example.com/\u{0}",
    ] {
        assert!(parse(url).is_err(), "{url}");
    }
}

#[test]
fn n4_long_urls_are_refused() {
    let query = |n: usize| format!("https://docs.rs/?q={}", "a".repeat(n));
    assert!(parse(&query(254)).is_ok());
    assert!(parse(&query(255)).is_err());
    let path = |n: usize| format!("https://docs.rs/{}", "a".repeat(n));
    assert!(parse(&path(1_008)).is_ok());
    assert!(parse(&path(1_009)).is_err());
    let label = |n: usize| format!("https://{}.example.com/", "a".repeat(n));
    assert!(parse(&label(40)).is_ok());
    assert!(parse(&label(41)).is_err());
    assert!(parse(&format!("https://{}example.com/", "data.".repeat(20))).is_err());
}

#[test]
fn a_refusal_says_what_to_do_instead() {
    for (url, part) in [
        ("ftp://docs.rs/", "expected http or https"),
        ("http://10.0.0.1/", "Use the name of a public site."),
        ("http://wiki.internal/", "wiki.internal is not the name"),
        ("https://docs.rs:81/", "Leave the port out."),
    ] {
        let refusal = parse(url).unwrap_err();
        assert!(refusal.contains(part), "{refusal}");
    }
}

#[test]
fn n3_a_redirection_is_judged_like_any_url() {
    let reach = Reach::public();
    let from = Target::parse("https://docs.rs/a/b", &reach).unwrap();
    let to = |location: &str| {
        from.redirected(location, &reach)
            .map(|target| target.url().to_string())
    };
    assert_eq!(to("c").as_deref(), Ok("https://docs.rs/a/c"));
    assert_eq!(to("//crates.io/x#y").as_deref(), Ok("https://crates.io/x"));
    for closed in [
        "http://docs.rs/a/b",
        "https://127.0.0.1/",
        "https://metadata.google.internal/",
        "file:///etc/passwd",
        "https://user@crates.io/",
        "https://crates.io:8080/",
        "https://[bad",
    ] {
        let refusal = to(closed).unwrap_err();
        assert!(refusal.starts_with("The page redirects"), "{refusal}");
    }
    let plain = Target::parse("http://docs.rs/", &reach).unwrap();
    assert!(plain.redirected("https://docs.rs/", &reach).is_ok());
    assert!(plain.redirected("http://crates.io/", &reach).is_ok());
}

#[test]
fn n1_one_private_address_spoils_the_answer() {
    let reach = Reach::public();
    let vet = |addresses: &[&str]| {
        let addresses: Vec<IpAddr> = addresses.iter().map(|a| a.parse().unwrap()).collect();
        reach.vet("10.0.0.1.nip.io", &addresses)
    };
    assert!(vet(&["140.82.112.3", "2606:4700::1111"]).is_ok());
    assert!(vet(&["140.82.112.3", "10.0.0.1"]).is_err());
    assert!(vet(&["10.0.0.1"]).unwrap_err().contains("public address"));
    assert!(vet(&[]).unwrap_err().contains("has no address"));
}
