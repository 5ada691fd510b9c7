//! The address at which the server reaches this process. Its own loop, because the SDK's ends with the first connection that
//! cannot be accepted, and goes on answering after its end.

use super::address::Address;
use super::error::RestateError;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use restate_sdk::endpoint::Endpoint as Handlers;
use restate_sdk::hyper::HyperEndpoint;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

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

impl Bound {
    /// Binds the address of a store. None: the store names none, because this process only sends.
    pub(super) async fn new(address: &Address) -> Result<Option<Self>, RestateError> {
        let Some(listen) = address.listen else {
            return Ok(None);
        };
        let cannot = |error: std::io::Error| RestateError::NotListening {
            address: listen.to_string(),
            why: error.to_string(),
        };
        let listener = TcpListener::bind(listen).await.map_err(cannot)?;
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

/// The connections end with this task.
async fn accept(listener: TcpListener, handlers: HyperEndpoint) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let connection = http2::Builder::new(TokioExecutor::new())
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
