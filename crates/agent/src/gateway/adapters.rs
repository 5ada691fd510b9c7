//! The adapters by which OpenCode speaks with providers: what each asks for, and which of them the gateway can stand
//! behind. A table, apart from the rules that read it.

use super::shapes::{self, Wire};

/// The part of a request that names the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelIn {
    Body,
    Path,
    Header,
}

/// The request format of one of OpenCode's adapters. Which path it takes may depend on the model.
pub(super) struct Adapter {
    pub(super) npm: &'static str,
    /// Its own address, for providers that have none in the catalogue.
    pub(super) url: Option<&'static str>,
    pub(super) calls: &'static [Call],
    pub(super) model: ModelIn,
    /// The header that it sends the key in, spelled as it does.
    pub(super) credential: &'static str,
}

/// One kind of request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// Below the base. With the model in the path, what follows the model.
    pub(super) path: &'static str,
    /// The one query that it may have.
    pub(super) query: Option<&'static str>,
    pub(super) wire: &'static Wire,
}

impl Call {
    const fn to(path: &'static str, wire: &'static Wire) -> Self {
        let query = None;
        Self { path, query, wire }
    }
}

const CHAT: Call = Call::to("chat/completions", &shapes::CHAT);
const RESPONSES: Call = Call::to("responses", &shapes::RESPONSES);

const fn chat(npm: &'static str, url: Option<&'static str>) -> Adapter {
    Adapter {
        npm,
        url,
        calls: &[CHAT],
        model: ModelIn::Body,
        credential: "Authorization",
    }
}

/// The adapter for an endpoint of the user's own.
pub(super) const ENDPOINT: Adapter = chat("@ai-sdk/openai-compatible", None);

/// The adapters that OpenCode brings along and that take a key in a header. The addresses are those inside the
/// adapters' packages.
pub(super) const ADAPTERS: &[Adapter] = &[
    ENDPOINT,
    Adapter {
        calls: &[Call::to("messages", &shapes::MESSAGES)],
        credential: "x-api-key",
        ..chat("@ai-sdk/anthropic", Some("https://api.anthropic.com/v1"))
    },
    Adapter {
        calls: &[RESPONSES],
        ..chat("@ai-sdk/openai", Some("https://api.openai.com/v1"))
    },
    Adapter {
        calls: &[
            Call {
                query: Some("alt=sse"),
                ..Call::to(":streamGenerateContent", &shapes::GOOGLE)
            },
            Call::to(":generateContent", &shapes::GOOGLE),
        ],
        model: ModelIn::Path,
        credential: "x-goog-api-key",
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
        calls: &[RESPONSES, CHAT],
        ..chat("@ai-sdk/xai", Some("https://api.x.ai/v1"))
    },
    chat("@ai-sdk/mistral", Some("https://api.mistral.ai/v1")),
    chat("@ai-sdk/groq", Some("https://api.groq.com/openai/v1")),
    Adapter {
        calls: &[Call::to("openai/chat/completions", &shapes::CHAT)],
        ..chat("@ai-sdk/deepinfra", Some("https://api.deepinfra.com/v1"))
    },
    chat("@ai-sdk/cerebras", Some("https://api.cerebras.ai/v1")),
    Adapter {
        calls: &[Call::to("chat", &shapes::COHERE)],
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
        calls: &[Call::to("language-model", &shapes::VERCEL)],
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
