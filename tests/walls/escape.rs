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
use nix::fcntl::{AtFlags, FallocateFlags, fallocate};
use nix::mount::{MsFlags, mount};
use nix::mqueue::{MQ_OFlag, mq_open};
use nix::sched::{CloneFlags, unshare};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::ptrace;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::socket::{
    ControlMessage, MsgFlags, MultiHeaders, SockaddrIn, sendmmsg, sendmsg, setsockopt, sockopt,
};
use nix::sys::stat::Mode;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::{
    Gid, Pid, Uid, chroot, execveat, getppid, setgroups, setpgid, setresgid, setresuid, setsid,
};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::ffi::CString;
use std::fs;
use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    let home = PathBuf::from(std::env::var_os("HOME").expect("a home"));
    // …/runner/temp/reviewer-…/home
    let runner = home
        .ancestors()
        .nth(3)
        .expect("the runner's folder")
        .to_owned();
    let outcomes = [
        reads(&home, &runner),
        writes(&home),
        connections(&home, &runner),
        fast_opens(),
        listeners(),
        processes(&home),
        programs(),
        limits(&home),
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
    let snapshot = home.with_file_name("head");
    let linked = |name: &str, target: &str| {
        let link = home.join(name);
        symlink(target, &link).and_then(|()| fs::read(link))
    };
    vec![
        ("read-library", tried(fs::File::open(library()))),
        ("read-programs", tried(fs::read_dir("/usr/bin"))),
        ("read-program", tried(fs::File::open("/usr/bin/env"))),
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
    let snapshot = home.with_file_name("head");
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

/// The C library, wherever this distribution has it.
fn library() -> PathBuf {
    let folders = [
        "/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu",
        "/lib64",
        "/usr/lib",
    ];
    let mut files = folders
        .iter()
        .map(|folder| Path::new(folder).join("libc.so.6"));
    files.find(|file| file.exists()).expect("a C library")
}

/// The port of a listener that no wall lets through, from our own name.
fn foreign() -> u16 {
    let name = std::env::current_exe().expect("a name");
    let name = name.to_string_lossy();
    let port = name.rsplit('-').next().expect("a port");
    port.parse().expect("a number")
}

/// The port of the reviewer's own server, from the configuration.
fn ours() -> u16 {
    let config = std::env::var("OPENCODE_CONFIG_CONTENT").expect("the configuration");
    let ours = config
        .split("http://127.0.0.1:")
        .nth(1)
        .expect("our address");
    let ours: String = ours.chars().take_while(char::is_ascii_digit).collect();
    ours.parse().expect("a number")
}

/// Says a word to an address. The test judges who has heard it.
fn say(address: &str) -> io::Result<()> {
    TcpStream::connect(address)?.write_all(b"canary")
}

/// Asks the test to listen on other hosts under the number of our port, and says a word there.
fn same_port_elsewhere(home: &Path) -> Outcomes {
    let port = ours();
    fs::write(home.join("port"), port.to_string()).expect("a file of its own");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !home.join("listening").exists() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    vec![
        ("same-port", tried(say(&format!("127.0.0.2:{port}")))),
        ("same-port-v6", tried(say(&format!("[::1]:{port}")))),
    ]
}

fn connections(home: &Path, runner: &Path) -> Outcomes {
    let foreign = foreign();
    let to = |port: u16| TcpStream::connect(format!("127.0.0.1:{port}"));
    let ours = ours();
    let socket = |domain, kind, protocol| Socket::new(domain, kind, protocol);
    let (v4, v6, stream) = (Domain::IPV4, Domain::IPV6, Type::STREAM);
    let mptcp = socket(v4, stream, Some(Protocol::MPTCP)).and_then(|socket| {
        let address: SocketAddr = format!("127.0.0.1:{foreign}").parse().expect("an address");
        socket.connect(&SockAddr::from(address))
    });
    let mut outcomes = same_port_elsewhere(home);
    outcomes.extend([
        ("tcp-ours", tried(to(ours))),
        ("tcp-foreign", tried(say(&format!("127.0.0.1:{foreign}")))),
        ("tcp-foreign-v6", tried(say(&format!("[::1]:{foreign}")))),
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
        ("unix-pair-datagram", tried(UnixDatagram::pair())),
    ]);
    outcomes
}

/// TCP Fast Open connects without `connect`: the data of the first call goes out with the handshake.
fn fast_opens() -> Outcomes {
    const FAST_OPEN: i32 = 0x2000_0000;
    let address = SocketAddrV4::new([127, 0, 0, 1].into(), foreign());
    let flags = MsgFlags::from_bits_retain(FAST_OPEN);
    let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let to = SockAddr::from(SocketAddr::from(address));
    let (one, two, three) = (socket(), socket(), socket());
    let data = [IoSlice::new(b"canary")];
    let peer = SockaddrIn::from(address);
    let none: [ControlMessage<'_>; 0] = [];
    let sent = sendmsg(two.as_raw_fd(), &data, &none, flags, Some(&peer));
    let mut headers = MultiHeaders::preallocate(1, None);
    let many = sendmmsg(
        three.as_raw_fd(),
        &mut headers,
        [&data],
        [Some(peer)],
        none,
        flags,
    );
    vec![
        (
            "fast-open-sendto",
            tried(one.send_to_with_flags(b"canary", &to, FAST_OPEN)),
        ),
        ("fast-open-sendmsg", tried(sent)),
        ("fast-open-sendmmsg", tried(many.map(|_| ()))),
        (
            "fast-open-option",
            tried(setsockopt(&socket(), sockopt::TcpFastOpenConnect, &true)),
        ),
    ]
}

/// The sidecar listens once. The kernel gives a port of its own choice to a socket that listens without `bind`.
fn listeners() -> Outcomes {
    let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let heard_by = |socket: &Socket| socket.local_addr().ok().and_then(|at| at.as_socket());
    let (first, second) = (socket(), socket());
    let listens = tried(first.listen(1));
    let address = heard_by(&first).map_or_else(|| "none".into(), |at| at.to_string());
    vec![
        ("listen", listens),
        ("listen-address", address),
        ("listen-again", tried(second.listen(1))),
        ("listen-bound", tried(TcpListener::bind("0.0.0.0:0"))),
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

/// Programs that only files of `/usr` or of memory hold.
fn programs() -> Outcomes {
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let loader = loaders.into_iter().find(|path| Path::new(path).exists());
    let run_by_it = Command::new(loader.expect("a loader"))
        .arg("/usr/bin/env")
        .output()
        .and_then(|output| {
            let ran = output.status.success();
            ran.then_some(()).ok_or_else(|| Errno::EACCES.into())
        });
    let memory = memfd_create("planted", MFdFlags::MFD_CLOEXEC);
    let own = fs::File::open(std::env::current_exe().expect("a name")).expect("our own file");
    let no_text: [CString; 0] = [];
    let empty = CString::default();
    // Where this is not refused, the intruder begins anew and never prints its line.
    let executed = execveat(&own, &empty, &no_text, &no_text, AtFlags::AT_EMPTY_PATH);
    let queue = mq_open(
        "/planted",
        MQ_OFlag::O_CREAT | MQ_OFlag::O_RDWR,
        Mode::S_IRWXU,
        None,
    );
    vec![
        ("run-by-loader", tried(run_by_it)),
        ("memory-file", tried(memory)),
        ("run-descriptor", tried(executed)),
        ("message-queue", tried(queue)),
    ]
}

/// How much it may take.
fn limits(home: &Path) -> Outcomes {
    const ABOVE: u64 = (1 << 30) + 1;
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    signals.thread_block().expect("a blocked signal");
    let large = fs::File::create(home.join("large")).and_then(|file| file.set_len(ABOVE));
    let kept = fs::File::create(home.join("kept")).and_then(|file| {
        let flags = FallocateFlags::FALLOC_FL_KEEP_SIZE;
        let size = i64::try_from(ABOVE).expect("a size");
        Ok(fallocate(&file, flags, 0, size)?)
    });
    let processes = getrlimit(Resource::RLIMIT_NPROC).map(|(soft, _)| soft);
    let parent = rustix::process::Pid::from_raw(getppid().as_raw());
    let none = rustix::process::Rlimit {
        current: Some(4),
        maximum: Some(4),
    };
    let limited = rustix::process::prlimit(parent, rustix::process::Resource::Nofile, none);
    let slowed = rustix::process::setpriority_process(parent, 19);
    vec![
        ("large-file", tried(large)),
        ("large-file-without-size", tried(kept)),
        ("limit-parent", tried(limited)),
        ("slow-parent", tried(slowed)),
        ("processes", format!("{processes:?}")),
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
