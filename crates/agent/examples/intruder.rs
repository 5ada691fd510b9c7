//! Stands in the place of a repository's tests and tries what they must not be able to do: `intruder SECRET PORT SOCKET`, a file, a
//! port and a Unix socket of somebody else. Prints one line of outcomes.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a tool of the tests: stops at the first surprise"
)]

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::ptrace;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::kill;
use nix::unistd::{Gid, Pid, Uid, chroot, getppid, setpgid, setresgid, setresuid, setsid};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Outcomes = Vec<(&'static str, String)>;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [secret, port, socket] = &arguments[..] else {
        panic!("SECRET PORT SOCKET");
    };
    let outcomes = [
        reads(Path::new(secret)),
        writes(Path::new(secret)),
        connections(port, socket),
        processes(),
        rights(),
        limits(port),
    ];
    let told: Vec<String> = outcomes
        .concat()
        .into_iter()
        .map(|(name, outcome)| format!("{name}={outcome}"))
        .collect();
    println!("{}", told.join("; "));
}

fn tried<T, E: Into<io::Error>>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => "done".into(),
        Err(error) => {
            let error: io::Error = error.into();
            let name = error.raw_os_error().map(Errno::from_raw);
            name.map_or_else(|| error.to_string(), |name| format!("{name:?}"))
        }
    }
}

fn variable(name: &str) -> PathBuf {
    PathBuf::from(std::env::var_os(name).expect("a variable"))
}

fn reads(secret: &Path) -> Outcomes {
    let parent = format!("/proc/{}", getppid());
    let linked = |name: &str, target: &Path| {
        let link = variable("HOME").join(name);
        symlink(target, &link).and_then(|()| fs::read(link))
    };
    let folder = secret.parent().expect("a folder");
    vec![
        ("read-tree", tried(fs::read_dir("."))),
        ("read-system", tried(fs::read_dir("/usr/bin"))),
        ("read-secret", tried(fs::read(secret))),
        ("list-neighbours", tried(fs::read_dir(folder))),
        ("list-above", tried(fs::read_dir(".."))),
        ("read-passwd", tried(fs::read("/etc/passwd"))),
        ("read-root", tried(fs::read_dir("/"))),
        ("read-home-of-root", tried(fs::read_dir("/root"))),
        ("list-tmp", tried(fs::read_dir("/tmp"))),
        ("list-processes", tried(fs::read_dir("/proc"))),
        ("environ-self", tried(fs::read("/proc/self/environ"))),
        ("environ-1", tried(fs::read("/proc/1/environ"))),
        (
            "environ-parent",
            tried(fs::read(format!("{parent}/environ"))),
        ),
        (
            "memory-parent",
            tried(fs::File::open(format!("{parent}/mem"))),
        ),
        ("link-to-secret", tried(linked("l1", secret))),
        (
            "link-to-passwd",
            tried(linked("l2", Path::new("/etc/passwd"))),
        ),
        (
            "link-to-environ",
            tried(linked("l3", Path::new("/proc/self/environ"))),
        ),
    ]
}

fn writes(secret: &Path) -> Outcomes {
    let (home, temporary) = (variable("HOME"), variable("TMPDIR"));
    let program = temporary.join("planted");
    let own = std::env::current_exe().and_then(|own| fs::copy(own, &program));
    let set_user = own.and_then(|_| {
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755))?;
        let output = Command::new(&program).output()?;
        // Without its three arguments it stops, which is enough to have run.
        (output.status.code() == Some(101))
            .then_some(())
            .ok_or_else(|| Errno::EACCES.into())
    });
    vec![
        ("write-tree", tried(fs::write("built", "x"))),
        ("write-home", tried(fs::write(home.join("note"), "x"))),
        (
            "write-temporary",
            tried(fs::write(temporary.join("x"), "x")),
        ),
        ("run-built", tried(set_user)),
        ("write-null", tried(fs::write("/dev/null", "x"))),
        ("write-secret", tried(fs::write(secret, "x"))),
        ("write-above", tried(fs::write("../planted", "x"))),
        ("write-tmp", tried(fs::write("/tmp/planted-by-tests", "x"))),
        ("write-shm", tried(fs::write("/dev/shm/planted", "x"))),
        ("write-usr", tried(fs::write("/usr/planted", "x"))),
        ("hard-link", tried(fs::hard_link(secret, home.join("h")))),
    ]
}

/// A server of its own, as tests have them.
fn own_loopback() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.write_all(b"word")?;
    drop(client);
    let mut word = String::new();
    server.read_to_string(&mut word)?;
    (word == "word")
        .then_some(())
        .ok_or_else(|| Errno::EIO.into())
}

fn connections(port: &str, socket: &str) -> Outcomes {
    let say = |address: String| TcpStream::connect(address)?.write_all(b"canary");
    let new = Socket::new;
    vec![
        ("own-loopback", tried(own_loopback())),
        ("unix-pair", tried(UnixStream::pair())),
        ("tcp-outside", tried(say(format!("127.0.0.1:{port}")))),
        ("tcp-outside-v6", tried(say(format!("[::1]:{port}")))),
        ("tcp-far", tried(say("192.0.2.1:80".into()))),
        ("unix", tried(UnixStream::connect(socket))),
        ("udp", tried(new(Domain::IPV4, Type::DGRAM, None))),
        (
            "raw",
            tried(new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))),
        ),
        ("netlink", tried(new(Domain::from(16), Type::RAW, None))),
        ("vsock", tried(new(Domain::VSOCK, Type::STREAM, None))),
    ]
}

fn processes() -> Outcomes {
    let parent = getppid();
    vec![
        ("ptrace-parent", tried(ptrace::attach(parent))),
        ("ptrace-me", tried(ptrace::traceme())),
        ("signal-parent", tried(kill(parent, None))),
        ("signal-init", tried(kill(Pid::from_raw(1), None))),
        ("leave-session", tried(setsid())),
        ("leave-group", tried(setpgid(Pid::from_raw(0), parent))),
    ]
}

fn rights() -> Outcomes {
    let (root, group) = (Uid::from_raw(0), Gid::from_raw(0));
    let none: Option<&str> = None;
    let mounted = mount(Some("none"), "/tmp", Some("tmpfs"), MsFlags::empty(), none);
    let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
    names.sort();
    vec![
        ("become-root", tried(setresuid(root, root, root))),
        ("become-root-group", tried(setresgid(group, group, group))),
        ("unshare-user", tried(unshare(CloneFlags::CLONE_NEWUSER))),
        ("unshare-network", tried(unshare(CloneFlags::CLONE_NEWNET))),
        ("mount", tried(mounted)),
        ("chroot", tried(chroot("/usr"))),
        ("memory-file", tried(memfd_create("x", MFdFlags::empty()))),
        ("user", Uid::effective().to_string()),
        ("environment", names.join(",")),
    ]
}

/// The limits that it meets. The last of all: it fills its table of processes.
fn limits(port: &str) -> Outcomes {
    let limit = |what| getrlimit(what).map_or(0, |(_, hard)| hard).to_string();
    let mut children = Vec::new();
    let held = loop {
        let child = Command::new("/usr/bin/sleep")
            // By this number the test knows them.
            .arg(format!("9{port}"))
            .stdout(Stdio::null())
            .spawn();
        match child {
            Ok(child) if children.len() < 600 => children.push(child),
            Ok(_) => break "no limit".to_owned(),
            Err(_) => break "held".to_owned(),
        }
    };
    vec![
        ("files", limit(Resource::RLIMIT_NOFILE)),
        ("file-size", limit(Resource::RLIMIT_FSIZE)),
        ("core", limit(Resource::RLIMIT_CORE)),
        ("fork-bomb", held),
        ("children", children.len().to_string()),
    ]
}
