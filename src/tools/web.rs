//! The tools of the server `web`. Separate from the others, because they wait for the network and touch no desk: a
//! slow page must not keep a finding from being recorded.

use super::server::tool_result;
use super::{web_fetch, web_search};
use crate::web::Web;
use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, JsonObject, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::sync::Arc;

/// A tool as the model meets it: `web_<name>`.
#[derive(Debug, Clone, Copy)]
pub struct WebTool {
    pub name: &'static str,
    pub description: &'static str,
    pub schema: fn() -> Arc<JsonObject>,
    /// Whether this run can do it at all.
    pub is_offered: fn(&Web) -> bool,
    /// The answer, or a refusal that tells the model what to do next.
    pub call: for<'a> fn(&'a Web, JsonObject) -> BoxFuture<'a, Result<String, String>>,
}

/// Every tool that asks the web.
pub const WEB_TOOLS: &[WebTool] = &[web_search::TOOL, web_fetch::TOOL];

#[derive(Debug, Clone)]
pub(super) struct WebHandler(pub(super) Arc<Web>);

impl WebHandler {
    fn tools(&self) -> impl Iterator<Item = &'static WebTool> {
        WEB_TOOLS.iter().filter(|tool| (tool.is_offered)(&self.0))
    }

    async fn call(&self, request: CallToolRequestParams) -> Result<String, String> {
        let tool = self.tools().find(|tool| tool.name == request.name);
        let tool = tool.ok_or_else(|| format!("There is no tool {}.", request.name))?;
        (tool.call)(&self.0, request.arguments.unwrap_or_default()).await
    }
}

impl ServerHandler for WebHandler {
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
        Ok(tool_result(self.call(request).await))
    }
}
