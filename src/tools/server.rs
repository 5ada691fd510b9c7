//! The loopback server through which OpenCode reaches the tools. Bound before its address is told, closed to
//! everybody without the run's bearer secret.

use super::{SERVERS, TOOLS, Tool};
use crate::review::desk::Desk;
use anyhow::{Context, Result};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The desk, shared between the tools and the run. Empty until the pull request has been read; the lock
/// makes parallel tool calls take turns.
#[derive(Debug, Clone, Default)]
pub struct SharedDesk(Arc<Mutex<Option<Desk>>>);

impl SharedDesk {
    pub fn open(&self, desk: Desk) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(desk);
    }

    /// Runs `f` on the desk, if there is one.
    pub fn with<T>(&self, f: impl FnOnce(&mut Desk) -> T) -> Option<T> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
            .map(f)
    }
}

/// No argument of our tools is larger.
const MAX_REQUEST: usize = 1 << 20;

/// The running server.
#[derive(Debug)]
pub struct ToolServer {
    base_url: String,
    bearer: String,
    task: JoinHandle<()>,
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ToolServer {
    pub async fn start(desk: SharedDesk, bearer: String) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .context("The tool server could not listen on the loopback interface")?;
        let address = listener
            .local_addr()
            .context("the tool server has no address")?;
        let mut router = axum::Router::new();
        for server in SERVERS {
            let (desk, name) = (desk.clone(), *server);
            let service = StreamableHttpService::new(
                move || {
                    Ok(Handler {
                        server: name,
                        desk: desk.clone(),
                    })
                },
                Arc::new(LocalSessionManager::default()),
                StreamableHttpServerConfig::default()
                    .with_legacy_session_mode(false)
                    .with_json_response(true)
                    .with_max_request_body_bytes(MAX_REQUEST)
                    .with_allowed_hosts([address.to_string()])
                    .enforce_origin_validation(),
            );
            router = router.nest_service(&format!("/mcp/{server}"), service);
        }
        let router = router.layer(middleware::from_fn_with_state(
            Arc::<str>::from(format!("Bearer {bearer}")),
            authorised,
        ));
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!("the tool server stopped: {error}");
            }
        });
        Ok(Self {
            base_url: format!("http://{address}"),
            bearer,
            task,
        })
    }

    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    #[must_use]
    pub fn bearer(&self) -> &str {
        &self.bearer
    }
}

async fn authorised(State(expected): State<Arc<str>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION);
    let matches = given.is_some_and(|given| same(given.as_bytes(), expected.as_bytes()));
    if matches {
        next.run(request).await
    } else {
        StatusCode::UNAUTHORIZED.into_response()
    }
}

/// Compares without telling by time how much was right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[derive(Debug, Clone)]
struct Handler {
    server: &'static str,
    desk: SharedDesk,
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
        let arguments = request.arguments.unwrap_or_default();
        self.desk
            .with(|desk| (tool.call)(desk, arguments))
            .unwrap_or_else(|| Err("The review has not begun; wait for the first prompt.".into()))
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
        let result = match self.call(request) {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }
}
