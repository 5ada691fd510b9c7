//! How much of a request the model has seen before. Providers cache by prefix, so a conversation that only grows at
//! its end costs a fraction of one that changes in the middle.

use serde_json::Value;

/// Of each pair of successive requests: the bytes they begin with in common, over the length of the first.
pub fn shared(requests: &[Value]) -> Vec<f64> {
    let texts: Vec<String> = requests.iter().map(messages).collect();
    texts
        .windows(2)
        .map(|pair| ratio(pair[0].as_bytes(), pair[1].as_bytes()))
        .collect()
}

/// Whether the tools, which stand before the messages, stayed the same.
pub fn same_tools(requests: &[Value]) -> bool {
    requests
        .windows(2)
        .all(|pair| pair[0]["tools"] == pair[1]["tools"])
}

/// The messages in their order, without the bracket at the end, which only the last one meets.
fn messages(request: &Value) -> String {
    let messages = request["messages"].as_array().into_iter().flatten();
    messages
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "requests are far shorter than 2^52 bytes"
)]
fn ratio(before: &[u8], after: &[u8]) -> f64 {
    let common = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    common as f64 / before.len().max(1) as f64
}
