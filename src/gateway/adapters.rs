//! The adapters by which OpenCode speaks with providers: what each asks for, and which of them the gateway can stand
//! behind. A table, apart from the rules that read it.

/// Where requests say which model they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelIn {
    Body,
    Path,
    Header,
}

/// How one of OpenCode's adapters asks. Which path it takes may depend on the model.
pub(super) struct Adapter {
    pub(super) npm: &'static str,
    /// Its own address, for providers that have none in the catalogue.
    pub(super) url: Option<&'static str>,
    /// Below the base. With the model in the path, what follows the model.
    pub(super) paths: &'static [&'static str],
    pub(super) model: ModelIn,
}

const fn chat(npm: &'static str, url: Option<&'static str>) -> Adapter {
    Adapter {
        npm,
        url,
        paths: &["chat/completions"],
        model: ModelIn::Body,
    }
}

/// What speaks with an endpoint of the user's own.
pub(super) const ENDPOINT: Adapter = chat("@ai-sdk/openai-compatible", None);

/// The adapters that OpenCode brings along and that take a key in a header. The addresses are those inside the
/// adapters' packages.
pub(super) const ADAPTERS: &[Adapter] = &[
    ENDPOINT,
    Adapter {
        paths: &["messages"],
        ..chat("@ai-sdk/anthropic", Some("https://api.anthropic.com/v1"))
    },
    Adapter {
        paths: &["responses"],
        ..chat("@ai-sdk/openai", Some("https://api.openai.com/v1"))
    },
    Adapter {
        paths: &[":streamGenerateContent", ":generateContent"],
        model: ModelIn::Path,
        ..chat(
            "@ai-sdk/google",
            Some("https://generativelanguage.googleapis.com/v1beta"),
        )
    },
    chat(
        "@openrouter/ai-sdk-provider",
        Some("https://openrouter.ai/api/v1"),
    ),
    Adapter {
        paths: &["responses", "chat/completions"],
        ..chat("@ai-sdk/xai", Some("https://api.x.ai/v1"))
    },
    chat("@ai-sdk/mistral", Some("https://api.mistral.ai/v1")),
    chat("@ai-sdk/groq", Some("https://api.groq.com/openai/v1")),
    Adapter {
        paths: &["openai/chat/completions"],
        ..chat("@ai-sdk/deepinfra", Some("https://api.deepinfra.com/v1"))
    },
    chat("@ai-sdk/cerebras", Some("https://api.cerebras.ai/v1")),
    Adapter {
        paths: &["chat"],
        ..chat("@ai-sdk/cohere", Some("https://api.cohere.com/v2"))
    },
    chat("@ai-sdk/togetherai", Some("https://api.together.xyz/v1")),
    chat("@ai-sdk/perplexity", Some("https://api.perplexity.ai")),
    chat("@ai-sdk/vercel", Some("https://api.v0.dev/v1")),
    chat(
        "venice-ai-sdk-provider",
        Some("https://api.venice.ai/api/v1"),
    ),
    Adapter {
        paths: &["language-model"],
        model: ModelIn::Header,
        ..chat(
            "@ai-sdk/gateway",
            Some("https://ai-gateway.vercel.sh/v3/ai"),
        )
    },
];

/// Providers and adapters that sign each request, or sign in, where others send a key.
pub(super) const SIGNING: &[&str] = &[
    "@ai-sdk/amazon-bedrock",
    "@ai-sdk/google-vertex",
    "@ai-sdk/google-vertex/anthropic",
    "@jerome-benoit/sap-ai-provider-v2",
    "gitlab-ai-provider",
    "github-copilot",
];

/// Adapters whose address is made from the user's account.
pub(super) const OF_AN_ACCOUNT: &[&str] = &[
    "@ai-sdk/azure",
    "ai-gateway-provider",
    "watsonx-ai-provider",
];
