//! Ports of the loopback for servers that are killed and started again. A socket of the other kind reserves each of them until
//! this process ends, so that no other run on this machine takes it, also while nobody listens on it.

use std::net::{TcpListener, UdpSocket};
use std::sync::Mutex;

/// Below the ports that connections get.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// The next port to try, counted from the first one, and the reservations.
static RESERVED: Mutex<(u16, Vec<UdpSocket>)> = Mutex::new((0, Vec::new()));

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let mut reserved = RESERVED.lock().unwrap();
    let (next, sockets) = &mut *reserved;
    let own = u16::try_from(std::process::id() % u32::from(COUNT)).unwrap();
    for _ in 0..COUNT {
        let port = FIRST + (own + *next) % COUNT;
        *next = (*next + 1) % COUNT;
        let address = ("127.0.0.1", port);
        if let (Ok(socket), Ok(_listener)) = (UdpSocket::bind(address), TcpListener::bind(address))
        {
            sockets.push(socket);
            return port;
        }
    }
    panic!("no port is free");
}
