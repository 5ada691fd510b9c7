//! Randomness for secrets, nonces and ids. Separate, because it is the system's to give and cannot be pure.

/// `bytes` random bytes in hexadecimal.
pub fn hex(bytes: usize) -> anyhow::Result<String> {
    let mut buffer = vec![0; bytes];
    getrandom::fill(&mut buffer).map_err(refused)?;
    Ok(data_encoding::HEXLOWER.encode(&buffer))
}

/// A random number.
pub fn number() -> anyhow::Result<u32> {
    getrandom::u32().map_err(refused)
}

fn refused(error: getrandom::Error) -> anyhow::Error {
    anyhow::anyhow!("The system gives no random numbers: {error}")
}
