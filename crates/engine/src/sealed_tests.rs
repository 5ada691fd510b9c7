use super::*;

fn key(byte: u8) -> MasterKey {
    MasterKey::parse(&SecretString::from(HEXLOWER.encode(&[byte; 32]))).unwrap()
}

fn ring(byte: u8) -> KeyRing {
    KeyRing::new(key(byte), Vec::new())
}

fn token() -> SecretString {
    SecretString::from("ghp_example")
}

#[test]
fn a_sealed_token_is_opened_by_the_same_master_key() {
    let sealed = ring(1).seal("quality", &token()).unwrap();
    let kept = Sealed::decode("quality", &sealed.encode()).unwrap();
    let opened = ring(1).open("quality", &kept).unwrap();
    assert_eq!(opened.expose_secret(), "ghp_example");
}

#[test]
fn a_wrong_master_key_is_named_in_one_sentence() {
    let sealed = ring(1).seal("quality", &token()).unwrap();
    let error = ring(2).open("quality", &sealed).unwrap_err().to_string();
    assert!(error.contains(&key(1).id()), "{error}");
    assert!(error.contains(&key(2).id()), "{error}");
    assert!(error.contains("give that master key"), "{error}");
}

#[test]
fn a_token_of_one_agent_is_not_opened_for_another() {
    let sealed = ring(1).seal("quality", &token()).unwrap();
    let refused = ring(1).open("security", &sealed).unwrap_err();
    assert_eq!(
        refused,
        SealError::Damaged {
            agent: "security".to_owned()
        }
    );
}

#[test]
fn a_changed_byte_anywhere_is_refused() {
    let sealed = ring(1).seal("quality", &token()).unwrap();
    for place in 0..sealed.0.len() {
        let mut changed = sealed.clone();
        changed.0[place] ^= 1;
        let opened = ring(1).open("quality", &changed);
        assert!(opened.is_err(), "byte {place}");
    }
    let cut = Sealed(sealed.0[..20].to_vec());
    assert!(ring(1).open("quality", &cut).is_err());
}

#[test]
fn an_earlier_master_key_still_opens_until_the_token_is_sealed_anew() {
    let sealed = ring(1).seal("quality", &token()).unwrap();
    let rotated = KeyRing::new(key(2), vec![key(1)]);
    assert!(rotated.is_outdated(&sealed));
    let opened = rotated.open("quality", &sealed).unwrap();
    let anew = rotated.seal("quality", &opened).unwrap();
    assert!(!rotated.is_outdated(&anew));
    assert!(ring(2).open("quality", &anew).is_ok());
}

#[test]
fn two_seals_of_a_token_have_nothing_in_common_but_the_key() {
    let (one, two) = (
        ring(1).seal("quality", &token()).unwrap(),
        ring(1).seal("quality", &token()).unwrap(),
    );
    assert_ne!(one.0[5..], two.0[5..]);
}

#[test]
fn a_token_of_a_newer_format_asks_for_its_version() {
    let mut sealed = ring(1).seal("quality", &token()).unwrap();
    sealed.0[0] = FORMAT + 1;
    let error = ring(1).open("quality", &sealed).unwrap_err().to_string();
    assert!(error.contains("start that version"), "{error}");
}

#[test]
fn a_master_key_has_thirty_two_bytes() {
    let base64 = BASE64.encode(&[7; 32]);
    let parsed = MasterKey::parse(&SecretString::from(format!("{base64}\n"))).unwrap();
    assert_eq!(parsed.id(), key(7).id());
    for bad in ["", "secret", &HEXLOWER.encode(&[1; 31])] {
        let refused = MasterKey::parse(&SecretString::from(bad)).unwrap_err();
        assert_eq!(refused, SealError::BadMasterKey, "{bad}");
    }
}

#[test]
fn no_secret_is_printed() {
    let sealed = ring(1).seal("quality", &token()).unwrap();
    let printed = format!("{:?} {sealed:?}", ring(1));
    let secret = HEXLOWER.encode(key(1).token_key.expose_secret());
    assert!(!printed.contains(&secret), "{printed}");
    assert!(!printed.contains("[1"), "{printed}");
    assert!(printed.contains("***"), "{printed}");
}
