//! Randomness for secrets, nonces and ids. Separate, because it is the system's to give and cannot be pure.

/// `bytes` random bytes in hexadecimal.
pub fn hex(bytes: usize) -> anyhow::Result<String> {
    let mut buffer = vec![0; bytes];
    getrandom::fill(&mut buffer)
        .map_err(|error| anyhow::anyhow!("The system gives no random numbers: {error}"))?;
    Ok(data_encoding::HEXLOWER.encode(&buffer))
}
