//! The loopback server through which OpenCode reaches the tools and, through the gateway, its model. Bound before its
//! address is told, closed to everybody without the run's secrets.

use super::web::WebHandler;
use super::{SERVERS, TOOLS, Tool, without_secrets};
use crate::gateway::Gateway;
use crate::redact::Redactor;
use crate::review::desk::SharedDesk;
use crate::web::Web;
use anyhow::{Context, Result};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use secrecy::{ExposeSecret as _, SecretString};
use std::net::SocketAddr;
use std::sync::Arc;
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// No argument of our tools is larger.
const MAX_REQUEST: usize = 1 << 20;

/// What the server offers, and to whom.
#[derive(Debug)]
pub struct Offer<'a> {
    pub desk: SharedDesk,
    /// Admits to the tools.
    pub bearer: SecretString,
    /// Takes secrets out of whatever the model says.
    pub redactor: Arc<Redactor>,
    /// The way to the model.
    pub gateway: Option<&'a Gateway>,
    /// Without it, the tools of the web do not exist.
    pub web: Option<Arc<Web>>,
}

/// The running server.
#[derive(Debug)]
pub struct ToolServer {
    base_url: String,
    port: u16,
    task: JoinHandle<()>,
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ToolServer {
    pub async fn start(offer: Offer<'_>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .context("The tool server could not listen on the loopback interface")?;
        let address = listener
            .local_addr()
            .context("the tool server has no address")?;
        let gateway = offer.gateway;
        let mut router = tools(offer, address);
        if let Some(gateway) = gateway {
            // The gateway has an admission of its own, and no limit but its own on what it passes.
            router = router.merge(gateway.router(address));
        }
        // The pieces of a model's answer are small; none shall wait for the next.
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!("small answers may be late: {error}");
            }
        });
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!("the tool server stopped: {error}");
            }
        });
        Ok(Self {
            base_url: format!("http://{address}"),
            port: address.port(),
            task,
        })
    }

    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// The tools, each server at its path, for whoever has the bearer secret.
fn tools(offer: Offer<'_>, address: SocketAddr) -> axum::Router {
    let mut router = axum::Router::new();
    for server in SERVERS {
        let handler = Handler {
            server,
            desk: offer.desk.clone(),
            redactor: Arc::clone(&offer.redactor),
        };
        let service = mcp(address, move || handler.clone());
        router = router.nest_service(&format!("/mcp/{server}"), service);
    }
    if let Some(web) = offer.web {
        let handler = move || WebHandler(Arc::clone(&web));
        router = router.nest_service("/mcp/web", mcp(address, handler));
    }
    router.layer(middleware::from_fn_with_state(
        Arc::<str>::from(format!("Bearer {}", offer.bearer.expose_secret())),
        authorised,
    ))
}

/// One MCP server below our address.
fn mcp<H: ServerHandler>(
    address: SocketAddr,
    handler: impl Fn() -> H + Send + Sync + 'static,
) -> StreamableHttpService<H, LocalSessionManager> {
    StreamableHttpService::new(
        move || Ok(handler()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MAX_REQUEST)
            .with_allowed_hosts([address.to_string()])
            .enforce_origin_validation(),
    )
}

/// A refusal is a result, too: the model can act on it.
pub(super) fn tool_result(answer: Result<String, String>) -> CallToolResponse {
    let result = match answer {
        Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
    };
    result.into()
}

async fn authorised(State(expected): State<Arc<str>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION);
    // In constant time: how long a comparison takes must not tell how much was right.
    let matches = given.is_some_and(|given| given.as_bytes().ct_eq(expected.as_bytes()).into());
    if matches {
        next.run(request).await
    } else {
        StatusCode::UNAUTHORIZED.into_response()
    }
}

#[derive(Debug, Clone)]
struct Handler {
    server: &'static str,
    desk: SharedDesk,
    redactor: Arc<Redactor>,
}

impl Handler {
    fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        let server = self.server;
        TOOLS.iter().filter(move |tool| tool.server == server)
    }

    fn call(&self, request: CallToolRequestParams) -> Result<String, String> {
        let tool = self
            .tools()
            .find(|tool| tool.name == request.name)
            .ok_or_else(|| format!("There is no tool {}.", request.name))?;
        let arguments = without_secrets(request.arguments.unwrap_or_default(), &self.redactor);
        let answer = self
            .desk
            .work(|desk| (tool.call)(desk, arguments))
            .unwrap_or_else(|| Err("The review has not begun; wait for the first prompt.".into()));
        // A refusal quotes the name that it refuses.
        let clean = |text: String| self.redactor.clean_own(&text).into_owned();
        answer.map(clean).map_err(clean)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self
            .tools()
            .map(|tool| rmcp::model::Tool::new(tool.name, tool.description, (tool.schema)()))
            .collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(tool_result(self.call(request)))
    }
}
