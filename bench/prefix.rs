//! How much of a request the model has seen before. Providers cache by prefix, so a conversation that only grows at
//! its end costs a fraction of one that changes in the middle.

use serde_json::Value;

/// Of each pair of successive requests: the bytes they begin with in common, over the length of the first.
pub fn shared(requests: &[Value]) -> Vec<f64> {
    let texts: Vec<String> = requests.iter().map(text).collect();
    let pairs = texts.windows(2);
    pairs.map(|pair| ratio(&pair[0], &pair[1])).collect()
}

/// The bytes of all requests.
pub fn all(requests: &[Value]) -> usize {
    requests.iter().map(|request| text(request).len()).sum()
}

/// The bytes that each request does not begin with in common with the one before.
pub fn new(requests: &[Value]) -> usize {
    let mut before = String::new();
    let mut new = 0;
    for request in requests {
        let text = text(request);
        new += text.len() - common(&before, &text);
        before = text;
    }
    new
}

/// Tools, which stand first, and the messages in their order, without the bracket at the end, which only the last one
/// meets.
fn text(request: &Value) -> String {
    let messages = request["messages"].as_array().into_iter().flatten();
    let parts = request.get("tools").into_iter().chain(messages);
    parts.map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn common(before: &str, after: &str) -> usize {
    let pairs = before.bytes().zip(after.bytes());
    pairs.take_while(|(one, other)| one == other).count()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "requests are far shorter than 2^52 bytes"
)]
fn ratio(before: &str, after: &str) -> f64 {
    common(before, after) as f64 / before.len().max(1) as f64
}
