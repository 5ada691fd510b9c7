//! The loopback server through which OpenCode reaches the tools of its sessions and, through the gateway, its model.
//! Bound before its address is told, closed to everybody without the secret of a session.

use super::handler::Handler;
use super::tool::BoundTool;
use crate::gateway::Gateway;
use crate::opencode::SessionName;
use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::serve::ListenerExt;
use reviewer_text::redact::Redactor;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// No argument of the reviewer's tools is larger.
const MAX_REQUEST: usize = 1 << 20;

/// A session's tools, with the secret that admits to them.
#[derive(Debug)]
pub struct Offer {
    pub session: SessionName,
    /// Admits to the tools of this session, and of no other.
    pub bearer: SecretString,
    /// Takes secrets out of whatever the model says.
    pub redactor: Arc<Redactor>,
    pub tools: Vec<BoundTool>,
}

/// One MCP server of a session.
type Mcp = StreamableHttpService<Handler, LocalSessionManager>;

/// A session that is served.
struct Served {
    /// The one value of the header that admits.
    authorization: String,
    servers: HashMap<&'static str, Mcp>,
}

impl Served {
    fn new(offer: Offer, address: SocketAddr) -> Self {
        let mut grouped: HashMap<&'static str, Vec<BoundTool>> = HashMap::new();
        for tool in offer.tools {
            grouped.entry(tool.name.server).or_default().push(tool);
        }
        let servers = grouped.into_iter().map(|(server, tools)| {
            let handler = Handler {
                tools: tools.into(),
                redactor: Arc::clone(&offer.redactor),
                prefix: offer.session.prefix(),
            };
            (server, mcp(address, handler))
        });
        Self {
            authorization: format!("Bearer {}", offer.bearer.expose_secret()),
            servers: servers.collect(),
        }
    }
}

/// The sessions by their names in paths.
#[derive(Clone, Default)]
struct Sessions(Arc<RwLock<HashMap<String, Arc<Served>>>>);

impl Sessions {
    fn get(&self, name: &str) -> Option<Arc<Served>> {
        let sessions = self.0.read().unwrap_or_else(PoisonError::into_inner);
        sessions.get(name).cloned()
    }

    /// Registers a session. Returns false if the name was taken.
    fn add(&self, name: SessionName, served: Served) -> bool {
        let mut sessions = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let name = name.to_string();
        let is_free = !sessions.contains_key(&name);
        if is_free {
            sessions.insert(name, Arc::new(served));
        }
        is_free
    }
}

/// The running server.
pub struct ToolServer {
    base_url: String,
    address: SocketAddr,
    sessions: Sessions,
    task: JoinHandle<()>,
}

impl fmt::Debug for ToolServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ToolServer {
    /// With the tools of some sessions, and with the way to the model.
    pub async fn start(offers: Vec<Offer>, gateway: Option<&Gateway>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .context("The tool server could not listen on the loopback interface")?;
        let address = listener
            .local_addr()
            .context("the tool server has no address")?;
        let sessions = Sessions::default();
        let mut router = Router::new()
            .route("/mcp/{*path}", any(admit))
            .with_state(sessions.clone());
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
        let server = Self {
            base_url: format!("http://{address}"),
            address,
            sessions,
            task,
        };
        for offer in offers {
            server.add(offer)?;
        }
        Ok(server)
    }

    /// Serves one more session. A name is given once, so that no session takes the place of another.
    pub fn add(&self, offer: Offer) -> Result<()> {
        let name = offer.session;
        let is_new = self.sessions.add(name, Served::new(offer, self.address));
        ensure!(is_new, "the session {name} is served already");
        Ok(())
    }

    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The URL of a session's tool servers; each has its name below it.
    #[must_use]
    pub fn tools_url(&self, session: SessionName) -> String {
        format!("{}/mcp/{session}", self.base_url)
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

/// One MCP server below the address of the tool server.
fn mcp(address: SocketAddr, handler: Handler) -> Mcp {
    StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MAX_REQUEST)
            .with_allowed_hosts([address.to_string()])
            .enforce_origin_validation(),
    )
}

/// Stands where the secret of a session would, of the same length, if there is no such session.
const NOBODY: &str = "Bearer 0000000000000000000000000000000000000000000000000000000000000000";

/// Hands a request to `/mcp/<session>/<server>` on, for whoever has the secret of that session. Others learn nothing,
/// not even which sessions there are.
async fn admit(State(sessions): State<Sessions>, request: Request) -> Response {
    let path = request.uri().path().strip_prefix("/mcp/");
    let (session, server) = path
        .and_then(|path| path.split_once('/'))
        .unwrap_or_default();
    let found = sessions.get(session);
    let expected = match &found {
        Some(found) => found.authorization.as_bytes(),
        None => NOBODY.as_bytes(),
    };
    let given = request.headers().get(header::AUTHORIZATION);
    // In constant time: how long a comparison takes must not tell how much was right.
    let matches = given.is_some_and(|given| given.as_bytes().ct_eq(expected).into());
    let Some(admitted) = found.filter(|_| matches) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    match admitted.servers.get(server) {
        Some(mcp) => mcp.handle(request).await.map(Body::new),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
