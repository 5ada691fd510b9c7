//! A network namespace of its own for a command that verifies a fix: tests reach their own servers, and nothing else is there.
//! The superuser makes one alone; anybody else makes it in a user namespace, where the kernel allows that.
#![expect(clippy::disallowed_methods, reason = "edge: writes its own id maps")]

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// Enters a new network, and turns its loopback on. The reason, where there is none.
pub(super) fn enter() -> Result<(), String> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let refused = |error: nix::Error| format!("no network namespace: {error}");
    if user == 0 {
        unshare(CloneFlags::CLONE_NEWNET).map_err(refused)?;
    } else {
        let both = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET;
        unshare(both).map_err(refused)?;
        // The same ids as outside. Without a map, it would be nobody, and its own files would be out of reach.
        for (file, text) in [
            ("setgroups", "deny".to_owned()),
            ("uid_map", format!("{user} {user} 1")),
            ("gid_map", format!("{group} {group} 1")),
        ] {
            std::fs::write(format!("/proc/self/{file}"), text)
                .map_err(|error| format!("no map of users: {error}"))?;
        }
    }
    turn_on_loopback().map_err(|error| format!("its loopback cannot be turned on: {error}"))
}

/// Asks the kernel to set the flag `IFF_UP` of the first interface, as `ip link set lo up` does.
fn turn_on_loopback() -> std::io::Result<()> {
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &request(), SendFlags::empty(), &kernel)?;
    let mut answer = [0; 256];
    let (read, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    let code = answer.get(16..20).filter(|_| read >= 20);
    let code = code.and_then(|bytes| bytes.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(std::io::Error::from_raw_os_error(-code)),
        None => Err(std::io::Error::other("the kernel's answer cannot be read")),
    }
}

/// `struct nlmsghdr` and `struct ifinfomsg`: a request to change interface 1, with an answer.
fn request() -> [u8; 32] {
    const LENGTH: u32 = 32;
    const RTM_NEWLINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const LOOPBACK: i32 = 1;
    const IFF_UP: u32 = 1;
    let mut request = [0; 32];
    request[0..4].copy_from_slice(&LENGTH.to_ne_bytes());
    request[4..6].copy_from_slice(&RTM_NEWLINK.to_ne_bytes());
    request[6..8].copy_from_slice(&REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    request[20..24].copy_from_slice(&LOOPBACK.to_ne_bytes());
    request[24..28].copy_from_slice(&IFF_UP.to_ne_bytes());
    request[28..32].copy_from_slice(&IFF_UP.to_ne_bytes());
    request
}
