//! Connections: a number of them at once, each with a time for headers and a longest life.

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use reviewer_system::clock::Clock;
use std::future::Future;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

/// The time for the headers of a request, and between two requests.
const HEADERS: Duration = Duration::from_secs(15);
/// After this time no further request begins on a connection.
const LONGEST_LIFE: Duration = Duration::from_mins(5);
/// The time in which a request under way may finish.
const GRACE: Duration = Duration::from_secs(20);
/// The wait after a connection that could not be accepted, such as for want of file descriptors.
const AFTER_ERROR: Duration = Duration::from_millis(200);
const LARGEST_HEADERS: usize = 64 * 1024;

/// The address that a request came from; of IPv6 the network, which is one user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer(pub(super) IpAddr);

impl Peer {
    fn new(address: SocketAddr) -> Self {
        Self(match address.ip().to_canonical() {
            IpAddr::V6(ip) => {
                let [a, b, c, d, ..] = ip.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

/// Serves connections until `shutdown` ends.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    most: usize,
    clock: Clock,
    shutdown: impl Future<Output = ()> + Send,
) {
    let permits = Arc::new(Semaphore::new(most));
    let (ending, _) = watch::channel(());
    let mut open = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        while open.try_join_next().is_some() {}
        let next = next(&listener, &permits);
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = next => accepted,
        };
        match accepted {
            Ok((stream, peer, permit)) => {
                let connection = Connection {
                    peer,
                    router: router.clone(),
                    clock,
                    ending: ending.subscribe(),
                    _permit: permit,
                };
                open.spawn(connection.serve(stream));
            }
            Err(error) => {
                tracing::warn!("a connection was not accepted: {error}");
                clock.sleep(AFTER_ERROR).await;
            }
        }
    }
    drop(listener);
    drop(ending);
    let done = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(clock.limit(GRACE), done)
        .await
        .is_err()
    {
        tracing::warn!("connections were closed before their requests had ended");
    }
}

/// The next connection, once there is room for it.
async fn next(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, Peer, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await;
    let permit = permit.map_err(std::io::Error::other)?;
    let (stream, address) = listener.accept().await?;
    Ok((stream, Peer::new(address), permit))
}

struct Connection {
    peer: Peer,
    router: Router,
    clock: Clock,
    /// Closed when the server ends.
    ending: watch::Receiver<()>,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    async fn serve(mut self, stream: TcpStream) {
        let (peer, router, clock) = (self.peer, self.router.clone(), self.clock);
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let router = TowerToHyperService::new(router.clone());
            async move { router.call(request).await }
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(clock.limit(HEADERS))
            .max_buf_size(LARGEST_HEADERS);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            ended = &mut connection => return told(ended),
            _ = self.ending.changed() => {}
            () = tokio::time::sleep(clock.limit(LONGEST_LIFE)) => {}
        }
        connection.as_mut().graceful_shutdown();
        if let Ok(ended) = tokio::time::timeout(clock.limit(GRACE), connection).await {
            told(ended);
        }
    }
}

fn told(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!("a connection broke off: {error}");
    }
}
