//! The reviewers of a panel, and the voices that they make: models of one vendor err alike, so several of them count
//! once where other vendors sit on the panel.

use std::collections::BTreeSet;

/// A reviewer of the panel. Its place in the list of seats is its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The name that people read, such as `security`.
    pub name: String,
    /// The model as `provider/name`.
    pub model: String,
}

/// Families of models by the beginning of a word in their names, with the vendor that trains them.
const FAMILIES: &[(&str, &str)] = &[
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("chatgpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("codex", "openai"),
    ("gemini", "google"),
    ("gemma", "google"),
    ("llama", "meta"),
    ("codellama", "meta"),
    ("mistral", "mistral"),
    ("mixtral", "mistral"),
    ("ministral", "mistral"),
    ("magistral", "mistral"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
    ("deepseek", "deepseek"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("grok", "xai"),
    ("kimi", "moonshot"),
    ("moonshot", "moonshot"),
    ("glm", "zhipu"),
    ("chatglm", "zhipu"),
    ("command", "cohere"),
    ("minimax", "minimax"),
    ("nova", "amazon"),
    ("phi", "microsoft"),
    ("nemotron", "nvidia"),
];

/// Shorter beginnings stand in other words, too, so nothing but a version may follow them.
const DISTINCTIVE: usize = 4;

/// The vendor of a seat's model: by the name of the model, whoever serves it, else the id of the provider.
#[must_use]
pub fn vendor(seat: &Seat) -> String {
    let model = seat.model.to_lowercase();
    let (provider, path) = model.split_once('/').unwrap_or(("", &model));
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    let known = words.find_map(|word| {
        let mut families = FAMILIES.iter();
        families.find(|(family, _)| is_of(word, family))
    });
    match known {
        Some((_, vendor)) => (*vendor).to_owned(),
        None if provider.is_empty() => name.to_owned(),
        None => provider.to_owned(),
    }
}

fn is_of(word: &str, family: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    word.strip_prefix(family).is_some_and(|rest| {
        let version = rest.starts_with(is_digit) && !family.ends_with(is_digit);
        rest.is_empty() || version || family.len() >= DISTINCTIVE
    })
}

/// The voice of each seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voices(Vec<usize>);

impl Voices {
    /// Vendors where several sit on the panel, else sessions.
    #[must_use]
    pub fn new(seats: &[Seat]) -> Self {
        let vendors: Vec<String> = seats.iter().map(vendor).collect();
        let kinds: Vec<&String> = vendors
            .iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        if kinds.len() < 2 {
            return Self((0..seats.len()).collect());
        }
        let voice = |vendor: &String| kinds.binary_search(&vendor).unwrap_or(kinds.len());
        Self(vendors.iter().map(voice).collect())
    }

    /// The number of the seat's voice; `None` for a number that is no seat's.
    #[must_use]
    pub fn of(&self, seat: usize) -> Option<usize> {
        self.0.get(seat).copied()
    }

    /// The voices of these seats, each once.
    pub(crate) fn of_all(&self, seats: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        seats.into_iter().filter_map(|seat| self.of(seat)).collect()
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;

    /// Seats named by their numbers, with these models.
    pub(crate) fn seats(models: &[&str]) -> Vec<Seat> {
        let named = |(number, model): (usize, &&str)| Seat {
            name: format!("r{number}"),
            model: (*model).into(),
        };
        models.iter().enumerate().map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::seats;
    use super::*;

    #[test]
    fn a_vendor_is_known_by_the_model_whoever_serves_it() {
        for (model, expected) in [
            ("anthropic/claude-sonnet-4-5", "anthropic"),
            (
                "amazon-bedrock/us.anthropic.claude-opus-4-v1:0",
                "anthropic",
            ),
            ("openrouter/openai/gpt-5.2", "openai"),
            ("azure/o3-mini", "openai"),
            ("openai/codex-mini-latest", "openai"),
            ("openai/gpt4o", "openai"),
            ("google-vertex/Gemini-3-Pro", "google"),
            ("groq/llama3-70b", "meta"),
            ("openrouter/deepseek-r1-distill-llama-70b", "deepseek"),
            ("mistral/devstral-small", "mistral"),
            ("opencode/qwen3-coder", "qwen"),
            ("xai/grok-code-fast-1", "xai"),
            ("opencode/kimi-k2", "moonshot"),
            ("zai/glm-4.7", "zhipu"),
            ("lmstudio/o12-phind", "lmstudio"),
            ("Acme/house-model", "acme"),
            ("house-model", "house-model"),
            ("", ""),
        ] {
            let seat = &seats(&[model])[0];
            assert_eq!(vendor(seat), expected, "{model}");
        }
    }

    #[test]
    fn sessions_are_voices_until_a_second_vendor_sits_on_the_panel() {
        let voices = |models: &[&str]| Voices::new(&seats(models)).0;
        assert_eq!(
            voices(&["a/claude", "a/claude", "b/claude-opus"]),
            [0, 1, 2]
        );
        assert_eq!(voices(&["a/claude", "b/gpt-5", "c/claude"]), [0, 1, 0]);
        assert_eq!(Voices::new(&seats(&["a/claude"])).of(1), None);
    }
}
