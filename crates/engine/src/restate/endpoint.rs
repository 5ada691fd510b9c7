//! The address at which the server reaches this process. Its own loop, because the SDK's ends with the first connection that
//! cannot be accepted, and goes on answering after its end.

use super::address::Address;
use crate::restate_error::RestateError;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use restate_sdk::endpoint::Endpoint as Handlers;
use restate_sdk::hyper::HyperEndpoint;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Connections that wait to be accepted.
const WAITING: u32 = 1_024;
/// Calls of a connection at the same time. With more of them the server opens another one, which can lead to another worker of the
/// same address.
const CALLS: u32 = 32;
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

/// A bound address that nobody serves yet.
#[derive(Debug)]
pub(super) struct Bound {
    listener: TcpListener,
    pub(super) address: SocketAddr,
}

/// The serving process's end of all calls. Dropped, it answers no more, and the server calls again.
#[derive(Debug)]
pub(super) struct Endpoint {
    accepting: AbortHandle,
    ended: watch::Receiver<()>,
}

/// The others that may listen on the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// Workers of the same service on this machine: whoever is there answers.
    Workers,
    Nobody,
}

impl Bound {
    /// Binds the address of a store. None: the store names none, because this process only sends.
    pub(super) fn new(address: &Address, others: Others) -> Result<Option<Self>, RestateError> {
        let Some(listen) = address.listen else {
            return Ok(None);
        };
        let cannot = |error: io::Error| RestateError::NotListening {
            address: listen.to_string(),
            why: error.to_string(),
        };
        let listener = bind(listen, others).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        Ok(Some(Self { listener, address }))
    }

    /// Answers the server from now on.
    pub(super) fn serve(self, handlers: Handlers) -> Endpoint {
        let handlers = HyperEndpoint::new(handlers);
        let (alive, ended) = watch::channel(());
        let accepting = tokio::spawn(async move {
            accept(self.listener, handlers).await;
            drop(alive);
        });
        Endpoint {
            accepting: accepting.abort_handle(),
            ended,
        }
    }
}

impl Endpoint {
    /// Ends all calls, and waits until the address is free.
    pub(super) async fn close(&self) {
        self.accepting.abort();
        // The error tells that the task and its listener are gone.
        let _gone = self.ended.clone().changed().await;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn bind(address: SocketAddr, others: Others) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Connections of a process that ended do not keep the address from the next one.
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(others == Others::Workers)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// The connections end with this task.
async fn accept(listener: TcpListener, handlers: HyperEndpoint) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let connection = http2::Builder::new(TokioExecutor::new())
                        .max_concurrent_streams(CALLS)
                        .serve_connection(TokioIo::new(stream), handlers.clone());
                    connections.spawn(async move {
                        if let Err(error) = connection.await {
                            tracing::debug!("a connection of the Restate server ended: {error}");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!("a connection of the Restate server was not accepted: {error}");
                    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                }
            },
            Some(_ended) = connections.join_next() => {}
        }
    }
}
