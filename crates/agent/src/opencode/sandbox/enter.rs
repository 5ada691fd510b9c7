//! Restricts this very process and turns it into the sidecar. A command of the reviewer's own binary, because a process
//! can only give up its own rights, and between `fork` and `exec` of a larger one this could not be done safely.
#![expect(clippy::disallowed_methods, reason = "edge: becomes the sidecar")]

use super::{
    Announcement, Confinement, DESCRIPTOR_LIMIT, DEVICES, FILE_LIMIT, FILE_LIMIT_OF_CHECKS, Gap,
    LIBRARY_FOLDERS, PROCESS_LIMIT, SYSTEM, SYSTEM_OF_CHECKS, SandboxSpec, own_network, seccomp,
    sockets,
};
use caps::CapSet;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, NetPort,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid, chown, geteuid, setgroups, setresgid, setresuid};
use seccomp_notify::Listener;
use std::ffi::OsString;
use std::fs::{File, read_dir};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The newest Landlock version that this program knows; a kernel with an older one restricts less, which is reported.
const KNOWN: ABI = ABI::V7;
/// The same as a number.
pub const LANDLOCK_ABI: i32 = KNOWN as i32;

/// Enters the sandbox and becomes `program`. Returns only where that was not possible, with the reason.
#[must_use]
pub fn become_confined(spec: &SandboxSpec, program: &Path, arguments: &[OsString]) -> String {
    let confinement = match enter(spec) {
        Ok(confinement) => confinement,
        Err(error) => return format!("The sandbox could not be entered: {error}"),
    };
    let refused = spec.required && !confinement.is_complete();
    let announcement = if refused {
        Announcement::Refused(confinement)
    } else {
        Announcement::Entered(confinement)
    };
    if let Err(error) = announce(&announcement) {
        return format!("The sandbox could not be announced: {error}");
    }
    if refused {
        return "The sandbox is required, and it is not complete.".into();
    }
    let error = Command::new(program).args(arguments).exec();
    let told = format!("{} cannot be executed: {error}", program.display());
    if spec.check.is_some() {
        // Where this fails, too, the exit code is what is left to say it.
        let _unheard = announce(&Announcement::NotStarted(told.clone()));
    }
    told
}

fn announce(announcement: &Announcement) -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", announcement.line()).and_then(|()| stdout.flush())
}

/// Each wall on its own, so that one that the kernel lacks does not take the others along. Paths are opened while
/// this process may still open them.
fn enter(spec: &SandboxSpec) -> Result<Confinement, String> {
    let failed = |error: Errno| error.to_string();
    prctl::set_no_new_privs().map_err(failed)?;
    limit(Resource::RLIMIT_CORE, 0).map_err(failed)?;
    limit(Resource::RLIMIT_NOFILE, DESCRIPTOR_LIMIT).map_err(failed)?;
    let file_limit = if let Some(check) = spec.check {
        limit(Resource::RLIMIT_CPU, check.cpu_seconds).map_err(failed)?;
        FILE_LIMIT_OF_CHECKS
    } else {
        FILE_LIMIT
    };
    limit(Resource::RLIMIT_FSIZE, file_limit).map_err(failed)?;
    let network = match spec.check {
        Some(_) => Network::of_check(own_network::enter()),
        None => Network::Supervised,
    };
    let ruleset = ruleset(spec, &network);
    // It needs a capability itself, so it comes first; where it fails, the sets cleared below are what counts.
    let _not_permitted = caps::clear(None, CapSet::Bounding);
    let changed = spec.user.map(change_user);
    let other_user = changed == Some(Ok(()));
    if other_user {
        limit(Resource::RLIMIT_NPROC, PROCESS_LIMIT).map_err(failed)?;
    }
    // It does not outlive the process that watches it. A change of the user would take this back.
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(failed)?;
    let mut gaps: Vec<Gap> = Vec::new();
    if let Some(Err(error)) = changed {
        take_back(spec);
        gaps.push(Gap::User(error.to_string()));
    }
    gaps.extend(drop_capabilities());
    let filtered = filter_calls(&network);
    let supervised = match network {
        Network::Supervised => supervise(spec, filtered.is_ok())?,
        Network::Own | Network::None(_) => Ok(()),
    };
    let ruleset = match supervised {
        Ok(()) => ruleset,
        Err(_) => ruleset.and_then(|ruleset| with_ports(ruleset, spec)),
    };
    let landlock = match ruleset.and_then(RulesetCreated::restrict_self) {
        Ok(status) => version(&status),
        Err(error) => Err(error.to_string()),
    };
    gaps.extend(landlock_gaps(landlock.as_ref(), other_user));
    match (filtered, supervised) {
        (Err(error), _) => gaps.push(Gap::Calls(error.to_string())),
        (Ok(()), Err(why)) => gaps.push(socket_gap(why, landlock.as_ref().ok().copied())),
        (Ok(()), Ok(())) => {}
    }
    Ok(Confinement {
        gaps,
        user: geteuid().as_raw(),
        landlock: landlock.ok(),
        no_loopback: match network {
            Network::None(why) => Some(why),
            Network::Own | Network::Supervised => None,
        },
    })
}

/// The sockets that it may use.
enum Network {
    /// Those of the sidecar, which its supervisor answers for.
    Supervised,
    /// A namespace with nothing in it but its own loopback.
    Own,
    /// None, because there is no such namespace; why.
    None(String),
}

impl Network {
    fn of_check(entered: Result<(), String>) -> Self {
        entered.map_or_else(Self::None, |()| Self::Own)
    }
}

/// Has the process that started this one answer for the sockets. The outer error ends everything, because the calls are
/// handed over by then and nobody answers them; the inner one says why it is a gap.
fn supervise(spec: &SandboxSpec, filtered: bool) -> Result<Result<(), String>, String> {
    if !spec.supervised {
        return Ok(Err("nobody supervises them".into()));
    }
    let supervised = if filtered {
        listen_to_sockets()
    } else {
        Err("no filter of system calls".into())
    };
    let channel = std::io::stdin();
    let told = match &supervised {
        Ok(listener) => sockets::hand_over(channel.as_fd(), listener),
        Err(_) => sockets::renounce(channel.as_fd()),
    };
    told.map_err(|error| format!("the supervisor of its sockets cannot be reached: {error}"))?;
    // Closes the channel, which is the supervisor's and not the sidecar's.
    let nothing = File::open("/dev/null").map_err(|error| format!("/dev/null: {error}"))?;
    rustix::stdio::dup2_stdin(nothing).map_err(|error| format!("standard input: {error}"))?;
    Ok(supervised.map(drop))
}

fn listen_to_sockets() -> Result<Listener, String> {
    let release = rustix::system::uname();
    if !can_put_descriptors(&release.release().to_string_lossy()) {
        return Err("they need Linux 5.9".into());
    }
    let listener =
        seccomp_notify::install(&seccomp::supervised()).map_err(|error| error.to_string())?;
    seccomp::unbound(std::env::consts::ARCH)
        .and_then(|filter| seccompiler::apply_filter(&filter))
        .map_err(|error| error.to_string())?;
    Ok(listener)
}

/// True if the kernel of this release lets a supervisor put descriptors into another process.
fn can_put_descriptors(release: &str) -> bool {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    let mut number = || numbers.next().and_then(|digits| digits.parse::<u32>().ok());
    number()
        .zip(number())
        .is_some_and(|version| version >= (5, 9))
}

fn socket_gap(why: String, landlock: Option<i32>) -> Gap {
    match landlock {
        Some(version) if version >= ABI::V4 as i32 => Gap::Addresses(why),
        _ => Gap::Tcp(why),
    }
}

fn change_user(id: u32) -> nix::Result<()> {
    let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)
}

/// Lowers a limit, and leaves one that is lower already.
fn limit(resource: Resource, most: u64) -> nix::Result<()> {
    let (_, hard) = getrlimit(resource)?;
    let most = most.min(hard);
    setrlimit(resource, most, most)
}

/// Folders that were given to the other user: without capabilities, not even the superuser writes what is not his.
/// Where this fails, the sidecar says so when it starts.
fn take_back(spec: &SandboxSpec) {
    for folder in &spec.write {
        for folder in [folder.clone(), folder.join("tmp")] {
            let _not_permitted = chown(&folder, Some(geteuid()), None);
        }
    }
}

fn drop_capabilities() -> Option<Gap> {
    let sets = [
        CapSet::Ambient,
        CapSet::Effective,
        CapSet::Inheritable,
        CapSet::Permitted,
    ];
    sets.into_iter()
        .find_map(|set| caps::clear(None, set).err())
        .map(|error| Gap::Capabilities(error.to_string()))
}

fn filter_calls(network: &Network) -> Result<(), seccompiler::Error> {
    let architecture = std::env::consts::ARCH;
    let pairs = match network {
        Network::Supervised => seccomp::PAIRS,
        Network::Own | Network::None(_) => seccomp::PAIRS_OF_CHECKS,
    };
    for filter in seccomp::refusals(architecture, pairs)? {
        seccompiler::apply_filter(&filter)?;
    }
    if let Network::None(_) = network {
        seccompiler::apply_filter(&seccomp::no_sockets(architecture)?)?;
    }
    Ok(())
}

fn ruleset(spec: &SandboxSpec, network: &Network) -> Result<RulesetCreated, RulesetError> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let running = AccessFs::ReadFile | AccessFs::Execute;
    let writing = AccessFs::ReadFile | AccessFs::WriteFile;
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    let ruleset = match network {
        // Its own loopback has no port that anybody else listens on.
        Network::Own => ruleset,
        Network::Supervised | Network::None(_) => {
            ruleset.handle_access(AccessNet::from_all(KNOWN))?
        }
    };
    let ruleset = ruleset.create()?;
    let of_checks = SYSTEM_OF_CHECKS.iter().filter(|_| spec.check.is_some());
    let system = SYSTEM.iter().chain(of_checks).map(PathBuf::from);
    let devices = DEVICES.iter().map(PathBuf::from);
    // Nothing that is written can be executed.
    let everything = AccessFs::from_all(KNOWN) & !AccessFs::Execute;
    ruleset
        .add_rules(path_beneath_rules(
            spec.read.iter().cloned().chain(system),
            reading,
        ))?
        .add_rules(path_beneath_rules(libraries(), AccessFs::ReadFile))?
        .add_rules(path_beneath_rules(&spec.execute, running))?
        .add_rules(path_beneath_rules(spec.write.iter().cloned(), everything))?
        .add_rules(path_beneath_rules(devices, writing))
}

/// The shared libraries of this system. One by one, because the same folders hold programs, and a loader runs every
/// program that it can read.
fn libraries() -> impl Iterator<Item = PathBuf> {
    let folders = LIBRARY_FOLDERS.iter().filter_map(|f| read_dir(f).ok());
    let names = folders.flatten().flatten().map(|entry| entry.path());
    names.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".so") || name.contains(".so.")
    })
}

/// The ports, for a kernel on which nobody answers for the sockets.
fn with_ports(ruleset: RulesetCreated, spec: &SandboxSpec) -> Result<RulesetCreated, RulesetError> {
    let connect = spec
        .connect
        .iter()
        .map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp)));
    ruleset
        .add_rule(NetPort::new(spec.listen, AccessNet::BindTcp))?
        .add_rules(connect)
}

/// The version of Landlock that holds, or why none does.
fn version(status: &RestrictionStatus) -> Result<i32, String> {
    match status.landlock {
        LandlockStatus::NotEnabled => Err("the kernel has it, but it is not enabled".into()),
        LandlockStatus::NotImplemented => Err("this kernel does not have it".into()),
        LandlockStatus::Available { .. } if status.ruleset == RulesetStatus::NotEnforced => {
            Err("the kernel enforces none of it".into())
        }
        LandlockStatus::Available { effective_abi, .. } => Ok(effective_abi as i32),
    }
}

fn landlock_gaps(version: Result<&i32, &String>, other_user: bool) -> Vec<Gap> {
    let version = match version {
        Ok(version) => *version,
        Err(why) => return vec![Gap::Landlock(why.clone())],
    };
    // Another user cannot signal the reviewer's processes in any case.
    let signals = (version < ABI::V6 as i32 && !other_user).then_some(Gap::Signals);
    signals.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_landlock_is_told_by_what_it_lacks() {
        assert_eq!(landlock_gaps(Ok(&7), false), []);
        assert_eq!(landlock_gaps(Ok(&5), true), []);
        assert_eq!(landlock_gaps(Ok(&5), false), [Gap::Signals]);
        assert_eq!(landlock_gaps(Ok(&3), true), []);
        let none = "this kernel does not have it".to_owned();
        assert_eq!(
            landlock_gaps(Err(&none), true),
            [Gap::Landlock(none.clone())]
        );
    }

    #[test]
    fn sockets_that_nobody_answers_for_are_told_by_what_is_left() {
        let why = || "they need Linux 5.9".to_owned();
        assert_eq!(socket_gap(why(), Some(7)), Gap::Addresses(why()));
        assert_eq!(socket_gap(why(), Some(3)), Gap::Tcp(why()));
        assert_eq!(socket_gap(why(), None), Gap::Tcp(why()));
    }

    #[test]
    fn a_kernel_is_told_by_its_release() {
        for release in ["5.9.0", "5.10", "6.18.44-generic", "10.0-rc1"] {
            assert!(can_put_descriptors(release), "{release}");
        }
        for release in ["5.8.18-300.fc33", "4.18.0-553", "", "linux"] {
            assert!(!can_put_descriptors(release), "{release}");
        }
    }
}
