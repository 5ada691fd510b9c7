//! Answers the sidecar's `connect` and `listen` from the reviewer's process. Whatever address it names, it gets a
//! connection to the reviewer's server; and it listens once, on the port that is held for it. Landlock cannot do this:
//! it knows ports and no addresses, and a socket that listens without `bind` gets a port that no rule sees.

use nix::libc;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType, recvmsg, sendmsg,
};
use seccomp_notify::{Listener, Notification};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longest wait for the reviewer's own server, which listens on this machine.
const PATIENCE: Duration = Duration::from_secs(5);
const BACKLOG: i32 = 512;

/// A port of this machine that nobody else can take before the sidecar listens on it. Until then it refuses
/// connections.
#[derive(Debug)]
pub struct HeldPort {
    socket: OwnedFd,
    number: u16,
}

impl HeldPort {
    pub fn any() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
        let socket = rustix::net::socket_with(family, kind, flags, None)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        let address = SocketAddrV4::try_from(rustix::net::getsockname(&socket)?)?;
        Ok(Self {
            socket,
            number: address.port(),
        })
    }

    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// Supervises the process at the other end of `channel` until it has ended. Where that process sends no listener, because
/// its kernel has no notifications, the port is given free for it.
pub fn supervise(channel: UnixStream, port: HeldPort, server: u16) -> io::Result<()> {
    let supervisor = std::thread::Builder::new().name("sidecar-sockets".into());
    supervisor.spawn(move || {
        let Some(listener) = receive(&channel) else {
            drop(port);
            return;
        };
        let mut sockets = Sockets {
            listener,
            port: Some(port),
            server: SocketAddrV4::new(Ipv4Addr::LOCALHOST, server),
        };
        while let Some(asked) = sockets.next() {
            sockets.answer(&asked);
        }
    })?;
    Ok(())
}

/// Hands the listener to the supervisor, over the descriptor that the process was started with.
pub(super) fn hand_over(channel: BorrowedFd<'_>, listener: &Listener) -> io::Result<()> {
    let descriptors = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    attached.push(SendAncillaryMessage::ScmRights(&descriptors));
    let data = [IoSlice::new(b"n")];
    retry_on_intr(|| sendmsg(channel, &data, &mut attached, SendFlags::empty()))?;
    Ok(())
}

/// Tells the supervisor that there will be no listener, and waits until it has given the port free.
pub(super) fn renounce(channel: BorrowedFd<'_>) -> io::Result<()> {
    rustix::net::shutdown(channel, Shutdown::Write)?;
    let mut byte = [0];
    retry_on_intr(|| rustix::io::read(channel, &mut byte))?;
    Ok(())
}

/// Waits for the listener. `None` where the other end was closed without one.
fn receive(channel: &UnixStream) -> Option<Listener> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut data = [IoSliceMut::new(&mut byte)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    retry_on_intr(|| recvmsg(channel, &mut data, &mut attached, flags)).ok()?;
    attached.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next().map(Listener::from),
        _ => None,
    })
}

struct Sockets {
    listener: Listener,
    /// Gone once the sidecar listens on it.
    port: Option<HeldPort>,
    server: SocketAddrV4,
}

impl Sockets {
    /// The next call that waits for an answer. `None` once every process in the sandbox has ended.
    fn next(&self) -> Option<Notification> {
        loop {
            let mut waiting = [PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut waiting, None) {
                Ok(_) if waiting[0].revents().contains(PollFlags::IN) => {}
                Err(Errno::INTR) => continue,
                _ => return None,
            }
            match self.listener.receive() {
                Ok(Some(asked)) => return Some(asked),
                Ok(None) => {}
                Err(_) => return None,
            }
        }
    }

    fn answer(&mut self, asked: &Notification) {
        let done = match asked.call {
            libc::SYS_connect => self.connect(asked),
            libc::SYS_listen => self.listen(asked),
            _ => Err(Errno::PERM.into()),
        };
        let answer = done.map_err(|error| error.raw_os_error().unwrap_or(libc::ECONNREFUSED));
        // An error means that the caller is gone.
        let told = self.listener.answer(asked.id, answer);
        if asked.call == libc::SYS_listen && answer.is_ok() && told.is_ok() {
            self.port = None;
        }
    }

    /// Replaces the caller's socket by one that is connected to the reviewer's server. It does not block, as those of
    /// OpenCode do not.
    fn connect(&self, asked: &Notification) -> io::Result<()> {
        let stream = TcpStream::connect_timeout(&self.server.into(), PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        self.put(asked, stream.as_fd())
    }

    /// Replaces the caller's socket by the one that is held for it. The first time only.
    fn listen(&self, asked: &Notification) -> io::Result<()> {
        let port = self.port.as_ref().ok_or(Errno::PERM)?;
        rustix::net::listen(&port.socket, BACKLOG)?;
        self.put(asked, port.socket.as_fd())
    }

    fn put(&self, asked: &Notification, socket: BorrowedFd<'_>) -> io::Result<()> {
        // The kernel takes the lower half of the register for the number, too.
        let [at, ..] = asked.arguments;
        let at = u32::try_from(at & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        self.listener.put(asked.id, socket, at)
    }
}
