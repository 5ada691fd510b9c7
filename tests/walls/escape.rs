//! Stands in the sidecar's place and tries to get out: every way that we know, and beside them a few things that
//! have to work, so that a wall around everything would not pass for a good one. Prints one line of `name=outcome`.
//!
//! Everything it needs to know it finds as an intruder would: in its environment, and in its own name, where the
//! test has left the number of a port.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "an intruder"
)]

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::ptrace;
use nix::sys::signal::kill;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::{
    Gid, Pid, Uid, chroot, getppid, setgroups, setpgid, setresgid, setresuid, setsid,
};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fs;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    let home = PathBuf::from(std::env::var_os("HOME").expect("a home"));
    // …/runner/temp/opencode-reviewer-…/home
    let runner = home
        .ancestors()
        .nth(3)
        .expect("the runner's folder")
        .to_owned();
    let outcomes = [
        reads(&home, &runner),
        writes(&home),
        connections(&runner),
        processes(&home),
        rights(),
    ];
    let told: Vec<String> = outcomes
        .concat()
        .into_iter()
        .map(|(name, outcome)| format!("{name}={outcome}"))
        .collect();
    println!("{}", told.join("; "));
}

type Outcomes = Vec<(&'static str, String)>;

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

fn reads(home: &Path, runner: &Path) -> Outcomes {
    let parent = format!("/proc/{}", getppid());
    let snapshot = home.with_file_name("snapshot");
    let linked = |name: &str, target: &str| {
        let link = home.join(name);
        symlink(target, &link).and_then(|()| fs::read(link))
    };
    vec![
        ("read-libraries", tried(fs::read_dir("/usr"))),
        ("read-snapshot", tried(fs::read_dir(&snapshot))),
        ("read-passwd", tried(fs::read("/etc/passwd"))),
        ("read-root", tried(fs::read_dir("/"))),
        ("read-environ-1", tried(fs::read("/proc/1/environ"))),
        ("read-environ-self", tried(fs::read("/proc/self/environ"))),
        (
            "read-environ-parent",
            tried(fs::read(format!("{parent}/environ"))),
        ),
        (
            "read-memory-parent",
            tried(fs::File::open(format!("{parent}/mem"))),
        ),
        ("list-processes", tried(fs::read_dir("/proc"))),
        (
            "read-workspace",
            tried(fs::read(runner.join("workspace/secret.txt"))),
        ),
        (
            "read-workspace-git",
            tried(fs::read(runner.join("workspace/.git/config"))),
        ),
        (
            "read-runner-temp",
            tried(fs::read(runner.join("temp/token"))),
        ),
        ("list-runner-temp", tried(fs::read_dir(runner.join("temp")))),
        ("read-event", tried(fs::read(runner.join("event.json")))),
        ("list-scratch", tried(fs::read_dir(home.with_file_name("")))),
        ("read-through-link", tried(linked("l1", "/etc/passwd"))),
        (
            "read-environ-through-link",
            tried(linked("l2", "/proc/self/environ")),
        ),
        ("read-zero", tried(fs::File::open("/dev/zero"))),
    ]
}

fn writes(home: &Path) -> Outcomes {
    let linked = fs::hard_link("/usr/bin/env", home.join("h"));
    let snapshot = home.with_file_name("snapshot");
    vec![
        ("write-home", tried(fs::write(home.join("note"), "x"))),
        ("write-null", tried(fs::write("/dev/null", "x"))),
        (
            "write-snapshot",
            tried(fs::write(snapshot.join("planted"), "x")),
        ),
        ("write-tmp", tried(fs::write("/tmp/planted", "x"))),
        ("write-shm", tried(fs::write("/dev/shm/planted", "x"))),
        (
            "write-scratch",
            tried(fs::write(home.with_file_name("planted"), "x")),
        ),
        ("hard-link", tried(linked)),
    ]
}

fn connections(runner: &Path) -> Outcomes {
    let name = std::env::current_exe().expect("a name");
    let name = name.to_string_lossy();
    let foreign = name.rsplit('-').next().expect("a port");
    let to = |port: &str| TcpStream::connect(format!("127.0.0.1:{port}"));
    let config = std::env::var("OPENCODE_CONFIG_CONTENT").expect("the configuration");
    let ours = config
        .split("http://127.0.0.1:")
        .nth(1)
        .expect("our address");
    let ours: String = ours.chars().take_while(char::is_ascii_digit).collect();
    let socket = |domain, kind, protocol| Socket::new(domain, kind, protocol);
    let (v4, v6, stream) = (Domain::IPV4, Domain::IPV6, Type::STREAM);
    let mptcp = socket(v4, stream, Some(Protocol::MPTCP)).and_then(|socket| {
        let address: SocketAddr = format!("127.0.0.1:{foreign}").parse().expect("an address");
        socket.connect(&SockAddr::from(address))
    });
    vec![
        ("tcp-ours", tried(to(&ours))),
        ("tcp-foreign", tried(to(foreign))),
        (
            "tcp-foreign-v6",
            tried(TcpStream::connect(format!("[::1]:{foreign}"))),
        ),
        ("tcp-listen", tried(TcpListener::bind("127.0.0.1:0"))),
        ("udp", tried(socket(v4, Type::DGRAM, None))),
        ("udp-v6", tried(socket(v6, Type::DGRAM, None))),
        ("mptcp", tried(mptcp)),
        ("sctp", tried(socket(v4, stream, Some(Protocol::SCTP)))),
        ("raw", tried(socket(v4, Type::RAW, Some(Protocol::ICMPV4)))),
        ("packet", tried(socket(Domain::PACKET, Type::RAW, None))),
        ("netlink", tried(socket(Domain::from(16), Type::RAW, None))),
        ("vsock", tried(socket(Domain::VSOCK, stream, None))),
        (
            "unix",
            tried(UnixStream::connect(runner.join("docker.sock"))),
        ),
        (
            "unix-datagram",
            tried(socket(Domain::UNIX, Type::DGRAM, None)),
        ),
        ("unix-pair", tried(UnixStream::pair())),
    ]
}

fn processes(home: &Path) -> Outcomes {
    let parent = getppid();
    let mut byte = [0];
    let remote = [RemoteIoVec {
        base: 0x1000,
        len: 1,
    }];
    let peeked = process_vm_readv(parent, &mut [IoSliceMut::new(&mut byte)], &remote);
    let own = std::env::current_exe().expect("a name");
    let copied = fs::copy(own, home.join("copy")).and_then(|_| run(&home.join("copy")));
    vec![
        ("io-uring", tried(io_uring::IoUring::new(8))),
        ("ptrace-parent", tried(ptrace::attach(parent))),
        ("ptrace-me", tried(ptrace::traceme())),
        ("peek-parent", tried(peeked)),
        ("signal-parent", tried(kill(parent, None))),
        ("signal-init", tried(kill(Pid::from_raw(1), None))),
        ("leave-session", tried(setsid())),
        ("leave-group", tried(setpgid(Pid::from_raw(0), parent))),
        ("run-shell", tried(run(Path::new("/bin/sh")))),
        ("run-git", tried(run(Path::new("/usr/bin/git")))),
        ("run-own-file", tried(copied)),
    ]
}

fn run(program: &Path) -> io::Result<()> {
    // What it prints would come between our own line and whoever reads it.
    Command::new(program)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map(drop)
}

fn rights() -> Outcomes {
    let (root, group) = (Uid::from_raw(0), Gid::from_raw(0));
    let none: Option<&str> = None;
    let mounted = mount(Some("none"), "/tmp", Some("tmpfs"), MsFlags::empty(), none);
    let capabilities = caps::read(None, caps::CapSet::Permitted).map(|set| set.len());
    let bounding = caps::read(None, caps::CapSet::Bounding).map(|set| set.len());
    let privileges = nix::sys::prctl::get_no_new_privs();
    let core = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_CORE);
    let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
    names.sort();
    vec![
        ("become-root", tried(setresuid(root, root, root))),
        ("become-root-group", tried(setresgid(group, group, group))),
        ("more-groups", tried(setgroups(&[group]))),
        ("unshare-user", tried(unshare(CloneFlags::CLONE_NEWUSER))),
        ("unshare-mount", tried(unshare(CloneFlags::CLONE_NEWNS))),
        ("mount", tried(mounted)),
        ("chroot", tried(chroot("/usr"))),
        ("user", format!("{}:{}", Uid::effective(), Gid::effective())),
        ("capabilities", format!("{capabilities:?}")),
        ("bounding", format!("{bounding:?}")),
        ("no-new-privileges", format!("{privileges:?}")),
        ("core", format!("{core:?}")),
        ("environment", names.join(",")),
    ]
}
