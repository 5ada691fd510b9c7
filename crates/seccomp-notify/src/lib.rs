//! Seccomp user notifications (`seccomp_unotify(2)`): a filter hands chosen system calls of a process to another
//! process, which answers them. A crate of its own, because the kernel's interface needs `unsafe`, which the rest of the
//! product forbids. Every unsafe block is one call with pointers to values that live on the stack of the caller.

use libc::{c_int, c_ulong, sock_filter, sock_fprog};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// The receiving end of a filter: one notification for each call that the filter hands over.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A system call that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notification {
    /// Names this call in answers.
    pub id: u64,
    /// The number of the system call.
    pub call: i64,
    /// Its arguments as the caller's registers held them. Pointers are of no use here.
    pub arguments: [u64; 6],
}

/// Restricts the calling thread by a filter whose `SECCOMP_RET_USER_NOTIF` verdicts reach the returned listener.
///
/// The thread must have `no_new_privs`. The listener is closed on `exec`.
pub fn install(program: &[sock_filter]) -> io::Result<Listener> {
    let listening = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Without the second flag, a signal restarts a call that is being answered. Kernels before 5.19 do not know it.
    let uninterrupted = listening | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    match set_filter(program, uninterrupted) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set_filter(program, listening),
        outcome => outcome,
    }
}

fn set_filter(program: &[sock_filter], flags: c_ulong) -> io::Result<Listener> {
    let len =
        u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let program = sock_fprog {
        len,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies the program, whose length is the slice's, and writes nothing.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    let descriptor =
        RawFd::try_from(answer).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us, and nobody else has it.
    let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
    Ok(Listener(owned))
}

impl Listener {
    /// Waits for the next call. `None` where the call was abandoned before it could be read.
    pub fn receive(&self) -> io::Result<Option<Notification>> {
        let mut received = libc::seccomp_notif {
            id: 0,
            pid: 0,
            flags: 0,
            data: libc::seccomp_data {
                nr: 0,
                arch: 0,
                instruction_pointer: 0,
                args: [0; 6],
            },
        };
        // SAFETY: the request's number holds the size of the value that the kernel writes.
        let answer = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_RECV,
                &raw mut received,
            )
        };
        match outcome(answer) {
            Ok(()) => Ok(Some(Notification {
                id: received.id,
                call: i64::from(received.data.nr),
                arguments: received.data.args,
            })),
            Err(error) if is_abandoned(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts a copy of `descriptor` into the caller's table under the number `at`, in place of what is there.
    pub fn put(&self, id: u64, descriptor: BorrowedFd<'_>, at: u32) -> io::Result<()> {
        let source = descriptor.as_raw_fd();
        let request = libc::seccomp_notif_addfd {
            id,
            flags: u32::try_from(libc::SECCOMP_ADDFD_FLAG_SETFD).unwrap_or_default(),
            srcfd: u32::try_from(source).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?,
            newfd: at,
            newfd_flags: u32::try_from(libc::O_CLOEXEC).unwrap_or_default(),
        };
        // SAFETY: the request's number holds the size of the value that the kernel reads.
        let answer = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_ADDFD,
                &raw const request,
            )
        };
        outcome(answer)
    }

    /// Ends a call: it returns 0, or fails with an error number.
    pub fn answer(&self, id: u64, result: Result<(), c_int>) -> io::Result<()> {
        let mut response = libc::seccomp_notif_resp {
            id,
            val: 0,
            error: -result.err().unwrap_or_default(),
            flags: 0,
        };
        // SAFETY: the request's number holds the size of the value that the kernel reads.
        let answer = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                &raw mut response,
            )
        };
        outcome(answer)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A listener that another process installed and handed over.
impl From<OwnedFd> for Listener {
    fn from(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }
}

fn outcome(answer: c_int) -> io::Result<()> {
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn is_abandoned(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR))
}
