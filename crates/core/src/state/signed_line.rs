//! A signed value as a hidden line of a text: the record in a check run, the report of a fix in a comment. Frozen, as the
//! blocks are.

use super::signature::{Keys, SignatureCheck, Signed};
use crate::domain::PrKey;
use serde_json::Value;

const CLOSE: &str = " -->";

fn open(name: &str) -> String {
    format!("<!-- rmcoc:{name} ")
}

fn content<'a>(pr: &'a PrKey, value: &'a Value) -> Signed<'a> {
    Signed {
        pr,
        root: None,
        visible: &Value::Null,
        hidden: value,
    }
}

/// The line, unsigned where there is no key. `<` and `>` are escaped, so that nothing inside can end it.
pub(crate) fn render(name: &str, value: &Value, pr: &PrKey, keys: &Keys) -> String {
    let signature = keys.sign(&content(pr, value));
    let signature = signature.map(|(kid, sig)| format!(r#","kid":"{kid}","sig":"{sig}""#));
    let json = format!(r#"{{"{name}":{value}{}}}"#, signature.unwrap_or_default());
    let json = json.replace('<', "\\u003c").replace('>', "\\u003e");
    format!("{}{json}{CLOSE}", open(name))
}

/// The value of the last such line, if the reviewer signed it for this pull request.
pub(crate) fn read(name: &str, text: &str, pr: &PrKey, keys: &Keys) -> Option<Value> {
    let open = open(name);
    let mut lines = text.lines().rev();
    let json = lines.find_map(|line| line.trim().strip_prefix(&open)?.strip_suffix(CLOSE))?;
    let mut line: Value = serde_json::from_str(json).ok()?;
    let value = line.get_mut(name)?.take();
    let part = |name: &str| line.get(name).and_then(Value::as_str);
    let verdict = keys.verify(&content(pr, &value), part("kid"), part("sig"));
    (verdict == SignatureCheck::Ours).then_some(value)
}
