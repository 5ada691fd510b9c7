//! The permitted content of a request to a provider, one table for each wire format: the objects and lists that the
//! pinned OpenCode and its adapters send, and the rules for the values in them. A table, apart from the reader that
//! follows it, so that a new version of OpenCode is a line here.

/// The permitted form of a value. Anything that is neither an object nor a list also stands in the place of one:
/// `content` is a text or a list. An address does not stand in the place of an object.
#[derive(Debug)]
pub(super) enum Shape {
    /// Any JSON. Providers hand it to the model, or got it from the model, and do not act on it.
    Free,
    /// No object and no list, and no address: what a key gets that is not listed.
    Plain,
    /// Neither an object nor a list: text of the model, or text for it.
    Text,
    /// The configured model.
    Model,
    /// A `data:` URL, or an object that holds one.
    Data,
    /// Base64 or a `data:` URL.
    Inline,
    /// The name of a tool of the run.
    Tool,
    /// One of these words.
    Is(&'static [&'static str]),
    /// `false`.
    Off,
    /// Not passed on, whatever it holds.
    Never,
    /// The shape of a key that an `Only` does not list: it is not passed on.
    Unlisted,
    /// Each item has this shape. Only `null` stands in the place of a list of `Only`.
    List(&'static Shape),
    /// An object with these keys. A key that is not listed is `Plain`.
    Object(&'static [(&'static str, Shape)]),
    /// An object with these keys and no others. Nothing else stands in its place.
    Only(&'static [(&'static str, Shape)]),
    /// An object with these keys, of which `type` or `role` has to be there. Nothing else stands in its place.
    Item(&'static [(&'static str, Shape)]),
    /// An object with keys of any name, whose values have this shape.
    Each(&'static Shape),
}

use Shape::{
    Data, Each, Free, Inline, Is, Item, List, Never, Object, Off, Only, Plain, Text, Tool,
};

/// The body of one wire format.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) body: Shape,
    /// Keys at the top that have to be there, because the provider's default is another one.
    pub(super) required: &'static [&'static str],
}

/// Keys at the top that are never passed on, in any spelling: they name another model, host or key, something that the
/// provider keeps, or work that it does by itself. Objects and lists need no line here, as unknown ones are refused.
pub(super) const NEVER_AT_TOP: &[&str] = &[
    "models",
    "fallbacks",
    "fallback_models",
    "route",
    "preset",
    "custom_llm_provider",
    "litellm_credential_name",
    "api_base",
    "api_key",
    "api_version",
    "base_url",
    "organization",
    "previous_response_id",
    "conversation",
    "conversation_id",
    "thread_id",
    "container",
    "cached_content",
    "background",
    "webhook",
    "webhook_url",
    "callback_url",
    "enable_search",
    "enable_web_search",
    "web_search",
    "force_search",
    "bootstrap_host",
    "bootstrap_port",
    "bootstrap_room",
    "vertex_location",
    "vertex_project",
    "vertex_credentials",
    "vertex_ai_location",
    "vertex_ai_project",
    "vertex_ai_credentials",
    "aws_region_name",
    "aws_bedrock_runtime_endpoint",
    "deployment",
    "deployment_id",
    "engine",
    "draft_model",
    "lora_path",
    "adapter",
    "adapter_id",
    "chat_template",
    "deferred",
    "fallback",
    "project",
];

/// An object of settings, without objects or lists in it.
const SETTINGS: Shape = Object(&[]);
const FUNCTION: &[&str] = &["function", "custom"];

/// An answer's form: a schema is data.
const FORMAT: Shape = Object(&[
    ("schema", Free),
    (
        "json_schema",
        Object(&[("schema", Free), ("description", Text)]),
    ),
    ("description", Text),
]);

pub(super) const CHAT: Wire = Wire {
    body: Object(&[
        ("messages", List(&CHAT_MESSAGE)),
        ("tools", List(&CHAT_TOOL)),
        ("tool_choice", CHAT_TOOL_CHOICE),
        ("stop", List(&Text)),
        ("store", Off),
        ("stream_options", SETTINGS),
        ("response_format", FORMAT),
        ("reasoning", SETTINGS),
        ("thinking", SETTINGS),
        ("usage", SETTINGS),
        ("cache_control", SETTINGS),
        ("chat_template_args", SETTINGS),
        ("chat_template_kwargs", SETTINGS),
        (
            "venice_parameters",
            Object(&[
                ("enable_web_search", Never),
                ("enable_web_scraping", Never),
                ("enable_x_search", Never),
                ("character_slug", Never),
            ]),
        ),
        // What adapters for endpoints pass on as it stands in OpenCode's options.
        ("thinkingConfig", SETTINGS),
        ("include", List(&Is(&["reasoning.encrypted_content"]))),
    ]),
    required: &[],
};

const CHAT_TOOL: Shape = Only(&[
    ("type", Is(FUNCTION)),
    ("name", Tool),
    (
        "function",
        Only(&[
            ("name", Tool),
            ("description", Text),
            ("parameters", Free),
            ("strict", Plain),
        ]),
    ),
    ("eager_input_streaming", Plain),
    ("cache_control", SETTINGS),
]);

const CHAT_TOOL_CHOICE: Shape = Object(&[
    ("type", Is(FUNCTION)),
    ("name", Tool),
    ("function", Object(&[("name", Tool)])),
]);

const CHAT_MESSAGE: Shape = Object(&[
    ("content", List(&CHAT_PART)),
    ("reasoning", Text),
    ("reasoning_content", Text),
    ("reasoning_text", Text),
    ("reasoning_details", List(&REASONING_DETAIL)),
    ("reasoning_opaque", Text),
    ("tool_plan", Text),
    ("refusal", Text),
    ("cache_control", SETTINGS),
    (
        "tool_calls",
        List(&Object(&[
            ("type", Is(FUNCTION)),
            ("function", Object(&[("arguments", Text)])),
            ("extra_content", Object(&[("google", SETTINGS)])),
            ("cache_control", SETTINGS),
        ])),
    ),
]);

/// A model's reasoning, in OpenRouter's form.
const REASONING_DETAIL: Shape = Object(&[
    (
        "type",
        Is(&["reasoning.text", "reasoning.summary", "reasoning.encrypted"]),
    ),
    ("text", Text),
    ("summary", Text),
    ("data", Text),
]);

const CHAT_PART: Shape = Object(&[
    (
        "type",
        Is(&[
            "text",
            "image_url",
            "document_url",
            "video_url",
            "file_url",
            "input_audio",
            "file",
            "thinking",
            "refusal",
        ]),
    ),
    ("text", Text),
    ("refusal", Text),
    ("thinking", List(&CHAT_THOUGHT)),
    ("image_url", Data),
    ("document_url", Data),
    ("video_url", Data),
    ("file_url", Data),
    ("input_audio", Only(&[("data", Inline), ("format", Plain)])),
    (
        "file",
        Object(&[("file_data", Data), ("file_id", Never), ("file_url", Data)]),
    ),
    ("cache_control", SETTINGS),
]);

/// A model's reasoning, in Mistral's form.
const CHAT_THOUGHT: Shape = Object(&[("type", Is(&["text"])), ("text", Text)]);

pub(super) const MESSAGES: Wire = Wire {
    body: Object(&[
        ("system", List(&BLOCK)),
        ("messages", List(&Object(&[("content", List(&BLOCK))]))),
        (
            "tools",
            List(&Only(&[
                ("type", Is(&["custom"])),
                ("name", Tool),
                ("description", Text),
                ("input_schema", Free),
                ("input_examples", List(&Free)),
                ("strict", Plain),
                ("eager_input_streaming", Plain),
                ("cache_control", SETTINGS),
            ])),
        ),
        (
            "tool_choice",
            Object(&[
                ("type", Is(&["auto", "any", "none", "tool"])),
                ("name", Tool),
            ]),
        ),
        ("thinking", SETTINGS),
        (
            "output_config",
            Object(&[("format", FORMAT), ("task_budget", SETTINGS)]),
        ),
        ("output_format", FORMAT),
        ("cache_control", SETTINGS),
        ("metadata", SETTINGS),
        ("stop_sequences", List(&Text)),
    ]),
    required: &[],
};

/// A block of Anthropic's messages; a tool's result holds blocks itself.
const BLOCK: Shape = Object(&[
    (
        "type",
        Is(&[
            "text",
            "image",
            "document",
            "thinking",
            "redacted_thinking",
            "tool_use",
            "tool_result",
        ]),
    ),
    ("text", Text),
    ("thinking", Text),
    ("data", Text),
    ("title", Text),
    ("context", Text),
    ("input", Free),
    ("content", List(&INNER_BLOCK)),
    ("source", SOURCE),
    ("citations", SETTINGS),
    ("caller", Object(&[("type", Is(&["direct"]))])),
    ("cache_control", SETTINGS),
    ("file_id", Never),
]);

const INNER_BLOCK: Shape = Object(&[
    ("type", Is(&["text", "image", "document"])),
    ("text", Text),
    ("title", Text),
    ("context", Text),
    ("source", SOURCE),
    ("citations", SETTINGS),
    ("cache_control", SETTINGS),
    ("file_id", Never),
]);

const SOURCE: Shape = Object(&[
    ("type", Is(&["base64", "text"])),
    ("data", Text),
    ("url", Data),
    ("file_id", Never),
]);

pub(super) const RESPONSES: Wire = Wire {
    body: Object(&[
        ("input", List(&ITEM)),
        ("instructions", Text),
        (
            "tools",
            List(&Only(&[
                ("type", Is(FUNCTION)),
                ("name", Tool),
                ("description", Text),
                ("parameters", Free),
                ("strict", Plain),
                ("format", SETTINGS),
            ])),
        ),
        (
            "tool_choice",
            Object(&[("type", Is(FUNCTION)), ("name", Tool)]),
        ),
        ("store", Off),
        ("include", List(&Is(&["reasoning.encrypted_content"]))),
        ("reasoning", SETTINGS),
        ("text", Object(&[("format", FORMAT)])),
        ("stream_options", SETTINGS),
        ("prompt_cache_options", SETTINGS),
    ]),
    // OpenAI keeps what it is not told to forget.
    required: &["store"],
};

/// An item without `type` and `role` is a reference to one that OpenAI keeps.
const ITEM: Shape = Item(&[
    (
        "type",
        Is(&[
            "message",
            "function_call",
            "function_call_output",
            "custom_tool_call",
            "custom_tool_call_output",
            "reasoning",
        ]),
    ),
    ("role", Is(&["user", "assistant", "system", "developer"])),
    ("content", List(&ITEM_PART)),
    ("output", List(&ITEM_PART)),
    ("summary", List(&ITEM_PART)),
    ("arguments", Text),
    ("input", Text),
    ("encrypted_content", Text),
]);

const ITEM_PART: Shape = Object(&[
    (
        "type",
        Is(&[
            "input_text",
            "output_text",
            "summary_text",
            "reasoning_text",
            "refusal",
            "input_image",
            "input_file",
        ]),
    ),
    ("text", Text),
    ("refusal", Text),
    ("image_url", Data),
    ("file_data", Data),
    ("file_url", Data),
    ("file_id", Never),
    ("prompt_cache_breakpoint", SETTINGS),
    // Of an answer that comes back: empty, as no tool of the provider's is on offer.
    ("annotations", List(&Never)),
    ("logprobs", List(&Never)),
]);

pub(super) const GOOGLE: Wire = Wire {
    body: Object(&[
        ("contents", List(&GOOGLE_CONTENT)),
        ("systemInstruction", GOOGLE_CONTENT),
        (
            "tools",
            List(&Only(&[(
                "functionDeclarations",
                List(&Only(&[
                    ("name", Tool),
                    ("description", Text),
                    ("parameters", Free),
                    ("parametersJsonSchema", Free),
                ])),
            )])),
        ),
        (
            "toolConfig",
            Object(&[(
                "functionCallingConfig",
                Object(&[("allowedFunctionNames", List(&Tool))]),
            )]),
        ),
        (
            "generationConfig",
            Object(&[
                ("thinkingConfig", SETTINGS),
                ("stopSequences", List(&Text)),
                ("responseModalities", List(&Is(&["TEXT"]))),
                ("responseSchema", Free),
                ("responseJsonSchema", Free),
            ]),
        ),
        ("safetySettings", List(&SETTINGS)),
    ]),
    required: &[],
};

const GOOGLE_CONTENT: Shape = Object(&[("parts", List(&GOOGLE_PART))]);

const GOOGLE_PART: Shape = Object(&[
    ("text", Text),
    ("thoughtSignature", Text),
    ("inlineData", INLINE),
    ("functionCall", Object(&[("args", Free)])),
    (
        "functionResponse",
        Object(&[
            ("response", Free),
            ("parts", List(&Object(&[("inlineData", INLINE)]))),
        ]),
    ),
]);

const INLINE: Shape = Object(&[("data", Text)]);

pub(super) const COHERE: Wire = Wire {
    body: Object(&[
        ("messages", List(&CHAT_MESSAGE)),
        ("tools", List(&CHAT_TOOL)),
        ("stop_sequences", List(&Text)),
        ("response_format", Object(&[("json_schema", Free)])),
        ("thinking", SETTINGS),
    ]),
    required: &[],
};

/// Vercel's gateway takes what the AI SDK hands to its adapters.
pub(super) const VERCEL: Wire = Wire {
    body: Object(&[
        (
            "prompt",
            List(&Object(&[
                ("content", List(&VERCEL_PART)),
                ("providerOptions", Each(&VERCEL_METADATA)),
            ])),
        ),
        (
            "tools",
            List(&Only(&[
                ("type", Is(&["function"])),
                ("name", Tool),
                ("description", Text),
                ("inputSchema", Free),
                ("inputExamples", List(&Free)),
                ("strict", Plain),
                ("providerOptions", Each(&VERCEL_METADATA)),
            ])),
        ),
        ("toolChoice", Object(&[("toolName", Tool)])),
        ("providerOptions", Each(&VERCEL_OPTIONS)),
        ("stopSequences", List(&Text)),
        ("responseFormat", FORMAT),
        ("headers", VERCEL_HEADERS),
    ]),
    required: &[],
};

/// For the provider behind the gateway: these choose there what the keys at the top choose elsewhere.
const VERCEL_OPTIONS: Shape = Object(&[
    ("thinking", SETTINGS),
    ("thinkingConfig", SETTINGS),
    ("reasoning", SETTINGS),
    ("cacheControl", SETTINGS),
    ("include", List(&Is(&["reasoning.encrypted_content"]))),
    ("store", Off),
    ("previousResponseId", Never),
    ("conversation", Never),
    ("container", Never),
    ("cachedContent", Never),
    ("model", Never),
]);

/// Metadata of an earlier answer, which is sent back with that answer.
const VERCEL_METADATA: Shape = Object(&[
    ("cacheControl", SETTINGS),
    ("cache_control", SETTINGS),
    ("reasoning_details", List(&REASONING_DETAIL)),
    ("signature", Text),
    ("reasoningEncryptedContent", Text),
    ("thoughtSignature", Text),
    ("redactedData", Text),
]);

/// The gateway repeats them to the provider behind it. They are spelt as versions of OpenCode spell them.
const VERCEL_HEADERS: Shape = Only(&[
    ("anthropic-beta", Is(&["fast-mode-2026-02-01"])),
    ("http-referer", Text),
    ("x-title", Plain),
    ("User-Agent", Plain),
    ("user-agent", Plain),
    ("X-Session-Id", Plain),
    ("x-session-id", Plain),
    ("x-session-affinity", Plain),
    ("x-parent-session-id", Plain),
]);

const VERCEL_PART: Shape = Object(&[
    (
        "type",
        Is(&["text", "reasoning", "file", "tool-call", "tool-result"]),
    ),
    ("text", Text),
    ("data", Inline),
    ("input", Free),
    (
        "output",
        Object(&[("value", List(&VERCEL_RESULT)), ("reason", Text)]),
    ),
    ("providerOptions", Each(&VERCEL_METADATA)),
]);

const VERCEL_RESULT: Shape = Object(&[
    ("type", Is(&["text", "media", "image-data", "file-data"])),
    ("text", Text),
    ("data", Inline),
    ("providerOptions", Each(&VERCEL_METADATA)),
]);
