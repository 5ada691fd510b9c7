//! The system calls that the sidecar is refused, and those that its supervisor answers. Landlock's rules for the
//! network know the ports of TCP only, and a process that can make namespaces, trace others or talk to io_uring has
//! ways around every other wall.

use nix::libc;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, sock_filter,
};
use std::collections::BTreeMap;

/// Refused whatever their arguments are.
const REFUSED: [i64; 52] = [
    // Asks the kernel for I/O past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Memory and queues outside the file system, which no limit of the sandbox counts and no path rule sees.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Leaving the process group, by which it is measured and ended.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Another view of the file system.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    // Keys of the session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_personality,
];

/// `clone` may make processes and threads, but no namespaces.
const NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    // CLONE_NEWTIME shares its bit with the exit signal and works in `clone3` only.
    libc::CLONE_PTRACE,
];

/// Flags and options of TCP Fast Open, which sends data to an address without `connect`.
const MSG_FASTOPEN: u64 = 0x2000_0000;
const FAST_OPEN_OPTIONS: [libc::c_int; 2] = [libc::TCP_FASTOPEN, libc::TCP_FASTOPEN_CONNECT];

/// The pairs of Unix sockets that the sidecar may make, as runtimes spawn with.
pub(super) const PAIRS: &[libc::c_int] = &[libc::SOCK_STREAM];

/// Those of a command that verifies a fix: Rust's library hands a new process's descriptor over one of the second kind. Like a
/// stream, it is connected for good, and sends to nobody else.
pub(super) const PAIRS_OF_CHECKS: &[libc::c_int] = &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET];

/// The filters that refuse calls; `architecture` is the processor's, as Rust names it, `pairs` are the kinds of socket pairs that
/// are not refused.
pub(super) fn refusals(
    architecture: &str,
    pairs: &[libc::c_int],
) -> Result<[BpfProgram; 3], Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, sockets()?);
    rules.insert(libc::SYS_socketpair, socket_pairs(pairs)?);
    rules.insert(libc::SYS_clone, namespaces()?);
    // Limits and priorities of its own only: those of the same user's other processes, the reviewer's among them, are
    // not a concern of its.
    for (call, argument) in [
        (libc::SYS_prlimit64, 0),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_sched_setparam, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_setpriority, 1),
        (libc::SYS_ioprio_set, 1),
    ] {
        rules.insert(call, vec![is_other(argument, 0)?]);
    }
    // Memory that is shared and has no file stays when no process maps it, and nobody could count it.
    let unnamed = u64::from((libc::MAP_SHARED | libc::MAP_ANONYMOUS).unsigned_abs());
    rules.insert(libc::SYS_mmap, vec![has_flag(3, unnamed)?]);
    // Takes room past the limit of a file's size.
    let unlimited = u64::from(libc::FALLOC_FL_KEEP_SIZE.unsigned_abs());
    rules.insert(libc::SYS_fallocate, vec![has_flag(1, unlimited)?]);
    rules.insert(libc::SYS_sendto, vec![has_flag(3, MSG_FASTOPEN)?]);
    rules.insert(libc::SYS_sendmsg, vec![has_flag(2, MSG_FASTOPEN)?]);
    rules.insert(libc::SYS_sendmmsg, vec![has_flag(3, MSG_FASTOPEN)?]);
    rules.insert(libc::SYS_setsockopt, fast_open_options()?);
    // Executes a descriptor, so that no path says what is executed.
    let empty_path = u64::from(libc::AT_EMPTY_PATH.unsigned_abs());
    rules.insert(libc::SYS_execveat, vec![has_flag(4, empty_path)?]);
    // What `clone3` is asked for lies in memory, where no filter can look. Told that the kernel does not know
    // it, the C library falls back on `clone`.
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok([
        program(architecture, rules, libc::EPERM)?,
        program(architecture, unknown, libc::ENOSYS)?,
        without_x32(),
    ])
}

/// Refuses every socket, for a command without a network of its own.
pub(super) fn no_sockets(architecture: &str) -> Result<BpfProgram, Error> {
    let calls = [libc::SYS_socket, libc::SYS_connect, libc::SYS_bind];
    let rules = calls.into_iter().map(|call| (call, Vec::new()));
    program(architecture, rules.collect(), libc::EACCES)
}

/// `bind` answers that it has been done, and does nothing: the supervisor gives the sidecar the one socket that
/// listens, and that is bound already.
pub(super) fn unbound(architecture: &str) -> Result<BpfProgram, Error> {
    let bind = BTreeMap::from([(libc::SYS_bind, Vec::new())]);
    program(architecture, bind, 0)
}

/// Hands `connect` and `listen` to the supervisor.
pub(super) fn supervised() -> Vec<libc::sock_filter> {
    let notify = libc::SECCOMP_RET_USER_NOTIF;
    let program = [
        load_number(),
        jump_if(libc::BPF_JEQ, number(libc::SYS_connect), 2),
        jump_if(libc::BPF_JEQ, number(libc::SYS_listen), 1),
        answer(libc::SECCOMP_RET_ALLOW),
        answer(notify),
    ];
    let as_libc = |step: sock_filter| libc::sock_filter {
        code: step.code,
        jt: step.jt,
        jf: step.jf,
        k: step.k,
    };
    program.map(as_libc).to_vec()
}

/// A 64-bit kernel of x86 may also take calls under x32's numbers, which no other rule knows. (Calls of 32-bit programs end
/// the process: the other filters are for one architecture.)
fn without_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    vec![
        load_number(),
        jump_if(libc::BPF_JGE, X32, 1),
        answer(libc::SECCOMP_RET_ALLOW),
        answer(libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
    ]
}

/// Loads the number of the system call, the first field of `seccomp_data`.
fn load_number() -> sock_filter {
    step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)
}

/// Skips so many steps where the comparison with the number holds.
fn jump_if(comparison: u32, value: u32, steps: u8) -> sock_filter {
    step(libc::BPF_JMP | comparison | libc::BPF_K, value, steps)
}

fn answer(verdict: u32) -> sock_filter {
    step(libc::BPF_RET | libc::BPF_K, verdict, 0)
}

fn step(code: u32, k: u32, jt: u8) -> sock_filter {
    let code = u16::try_from(code).unwrap_or_default();
    sock_filter { code, jt, jf: 0, k }
}

fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or_default()
}

fn program(
    architecture: &str,
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    answer: libc::c_int,
) -> Result<BpfProgram, Error> {
    let refused = SeccompAction::Errno(answer.unsigned_abs());
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        refused,
        architecture.try_into()?,
    )?;
    Ok(filter.try_into()?)
}

fn has_flag(argument: u8, flag: u64) -> Result<SeccompRule, Error> {
    let asked = SeccompCondition::new(argument, Dword, SeccompCmpOp::MaskedEq(flag), flag)?;
    Ok(SeccompRule::new(vec![asked])?)
}

fn is_other(argument: u8, value: u64) -> Result<SeccompRule, Error> {
    let other = SeccompCondition::new(argument, Dword, SeccompCmpOp::Ne, value)?;
    Ok(SeccompRule::new(vec![other])?)
}

/// A pair is refused unless it is of Unix sockets and of these kinds: a datagram socket could be sent to any path.
fn socket_pairs(kinds: &[libc::c_int]) -> Result<Vec<SeccompRule>, Error> {
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    let mut rules = vec![is_other(0, unix)?, is_other(2, 0)?];
    rules.extend(other_kinds(kinds)?);
    Ok(rules)
}

/// All kinds of sockets but these.
fn other_kinds(these: &[libc::c_int]) -> Result<Vec<SeccompRule>, Error> {
    const KIND: u64 = 0xf;
    let is_one = |kind: u64| {
        these
            .iter()
            .any(|one| u64::from(one.unsigned_abs()) == kind)
    };
    let kinds = (0..=KIND).filter(|kind| !is_one(*kind));
    kinds
        .map(|kind| {
            let is = SeccompCondition::new(1, Dword, SeccompCmpOp::MaskedEq(KIND), kind)?;
            Ok(SeccompRule::new(vec![is])?)
        })
        .collect()
}

fn fast_open_options() -> Result<Vec<SeccompRule>, Error> {
    let is = |argument, value: libc::c_int| {
        SeccompCondition::new(
            argument,
            Dword,
            SeccompCmpOp::Eq,
            u64::from(value.unsigned_abs()),
        )
    };
    let rules = FAST_OPEN_OPTIONS.iter().map(|option| {
        Ok(SeccompRule::new(vec![
            is(1, libc::IPPROTO_TCP)?,
            is(2, *option)?,
        ])?)
    });
    rules.collect()
}

/// `socket` is refused unless it is for TCP over IPv4 or IPv6: no UDP, no MPTCP, no Unix sockets, no raw ones.
fn sockets() -> Result<Vec<SeccompRule>, Error> {
    let is_not = |argument, values: [libc::c_int; 2]| {
        let conditions = values.map(|value| {
            let value = u64::from(value.unsigned_abs());
            SeccompCondition::new(argument, Dword, SeccompCmpOp::Ne, value)
        });
        let conditions = conditions.into_iter().collect::<Result<Vec<_>, _>>()?;
        SeccompRule::new(conditions)
    };
    let mut rules = vec![
        is_not(0, [libc::AF_INET, libc::AF_INET6])?,
        is_not(2, [0, libc::IPPROTO_TCP])?,
    ];
    rules.extend(other_kinds(&[libc::SOCK_STREAM])?);
    Ok(rules)
}

fn namespaces() -> Result<Vec<SeccompRule>, Error> {
    let flags = NAMESPACES.iter();
    flags
        .map(|flag| has_flag(0, u64::from(flag.unsigned_abs())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluates a classic BPF program over `seccomp_data`: the kernel's answer to a call.
    fn verdict(program: &[sock_filter], call: i64, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend(u32::try_from(call).unwrap().to_le_bytes());
        // AUDIT_ARCH_X86_64.
        data.extend(0xc000_003e_u32.to_le_bytes());
        data.extend(0_u64.to_le_bytes());
        data.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
        let (mut at, mut value) = (0, 0);
        loop {
            let step = &program[at];
            let code = u32::from(step.code);
            let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            at += 1 + match code & 0x07 {
                libc::BPF_RET => return step.k,
                libc::BPF_LD => {
                    let from = step.k as usize;
                    value = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
                    0
                }
                libc::BPF_ALU if code & 0xf0 == libc::BPF_AND => {
                    value &= step.k;
                    0
                }
                libc::BPF_JMP => match code & 0xf0 {
                    libc::BPF_JA => step.k as usize,
                    libc::BPF_JEQ => jump(value == step.k),
                    libc::BPF_JGE => jump(value >= step.k),
                    libc::BPF_JGT => jump(value > step.k),
                    other => panic!("unknown jump {other:#x}"),
                },
                other => panic!("unknown step {other:#x}"),
            };
        }
    }

    /// The strictest verdict of the filters, as an error number; `None` where the call is let through.
    fn refused(call: i64, arguments: [u64; 6]) -> Option<i32> {
        refused_with(PAIRS, call, arguments)
    }

    fn refused_with(pairs: &[libc::c_int], call: i64, arguments: [u64; 6]) -> Option<i32> {
        let filters = refusals("x86_64", pairs).unwrap();
        let verdicts = filters
            .iter()
            .map(|filter| verdict(filter, call, arguments));
        let refusal = verdicts
            .into_iter()
            .find(|verdict| *verdict != libc::SECCOMP_RET_ALLOW)?;
        assert_eq!(refusal & 0xffff_0000, libc::SECCOMP_RET_ERRNO);
        i32::try_from(refusal & 0xffff).ok()
    }

    const EPERM: Option<i32> = Some(libc::EPERM);

    #[test]
    fn a_command_without_a_network_of_its_own_gets_no_socket() {
        let filter = no_sockets("x86_64").unwrap();
        let tcp = [2, 1, 6, 0, 0, 0];
        let answer = verdict(&filter, libc::SYS_socket, tcp);
        assert_eq!(
            answer,
            libc::SECCOMP_RET_ERRNO | libc::EACCES.unsigned_abs()
        );
        let pair = verdict(&filter, libc::SYS_socketpair, [1, 1, 0, 0, 0, 0]);
        assert_eq!(pair, libc::SECCOMP_RET_ALLOW);
    }

    #[test]
    fn memory_and_queues_outside_the_file_system_are_refused() {
        for call in [
            libc::SYS_memfd_create,
            libc::SYS_shmget,
            libc::SYS_semget,
            libc::SYS_msgget,
            libc::SYS_mq_open,
        ] {
            assert_eq!(refused(call, [0; 6]), EPERM, "{call}");
        }
        let shared = u64::from(libc::MAP_SHARED.unsigned_abs());
        let unnamed = u64::from(libc::MAP_ANONYMOUS.unsigned_abs());
        let private = u64::from(libc::MAP_PRIVATE.unsigned_abs());
        let mapped = |flags| refused(libc::SYS_mmap, [0, 4096, 3, flags, u64::MAX, 0]);
        assert_eq!(mapped(shared | unnamed), EPERM);
        assert_eq!(mapped(private | unnamed), None);
        assert_eq!(mapped(shared), None);
    }

    #[test]
    fn a_pair_is_a_stream_of_unix_sockets() {
        let pair = |family: i32, kind: i32| {
            let (family, kind) = (family.unsigned_abs(), kind.unsigned_abs());
            refused(
                libc::SYS_socketpair,
                [u64::from(family), u64::from(kind), 0, 0, 0, 0],
            )
        };
        assert_eq!(
            pair(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC),
            None
        );
        assert_eq!(pair(libc::AF_UNIX, libc::SOCK_DGRAM), EPERM);
        assert_eq!(pair(libc::AF_UNIX, libc::SOCK_SEQPACKET), EPERM);
        assert_eq!(pair(libc::AF_TIPC, libc::SOCK_STREAM), EPERM);
        for (kind, answer) in [
            (libc::SOCK_STREAM, None),
            (libc::SOCK_SEQPACKET, None),
            (libc::SOCK_DGRAM, EPERM),
        ] {
            let arguments = [1, u64::from(kind.unsigned_abs()), 0, 0, 0, 0];
            let of_check = refused_with(PAIRS_OF_CHECKS, libc::SYS_socketpair, arguments);
            assert_eq!(of_check, answer, "{kind}");
            let socket = refused_with(PAIRS_OF_CHECKS, libc::SYS_socket, arguments);
            assert_eq!(socket, EPERM, "{kind}");
        }
    }

    #[test]
    fn limits_and_priorities_are_set_for_itself_only() {
        assert_eq!(refused(libc::SYS_prlimit64, [0, 7, 0, 0, 0, 0]), None);
        assert_eq!(refused(libc::SYS_prlimit64, [4711, 0, 1, 0, 0, 0]), EPERM);
        assert_eq!(refused(libc::SYS_setpriority, [0, 0, 19, 0, 0, 0]), None);
        assert_eq!(
            refused(libc::SYS_setpriority, [0, 4711, 19, 0, 0, 0]),
            EPERM
        );
        assert_eq!(refused(libc::SYS_fallocate, [3, 0, 0, 9, 0, 0]), None);
        assert_eq!(refused(libc::SYS_fallocate, [3, 1, 0, 9, 0, 0]), EPERM);
    }

    #[test]
    fn fast_open_is_refused_and_other_sending_is_not() {
        let nosignal = u64::from(libc::MSG_NOSIGNAL.unsigned_abs());
        for (call, at) in [
            (libc::SYS_sendto, 3),
            (libc::SYS_sendmsg, 2),
            (libc::SYS_sendmmsg, 3),
        ] {
            let mut arguments = [0; 6];
            arguments[at] = nosignal;
            assert_eq!(refused(call, arguments), None);
            arguments[at] |= MSG_FASTOPEN;
            assert_eq!(refused(call, arguments), EPERM);
        }
        let tcp = u64::from(libc::IPPROTO_TCP.unsigned_abs());
        for (option, answer) in [(23, EPERM), (30, EPERM), (1, None)] {
            let arguments = [5, tcp, option, 0, 4, 0];
            assert_eq!(refused(libc::SYS_setsockopt, arguments), answer);
        }
        // The same number at another level is another option.
        assert_eq!(refused(libc::SYS_setsockopt, [5, 1, 30, 0, 4, 0]), None);
    }

    #[test]
    fn a_descriptor_is_not_executed() {
        let flag = u64::from(libc::AT_EMPTY_PATH.unsigned_abs());
        assert_eq!(refused(libc::SYS_execveat, [3, 0, 0, 0, flag, 0]), EPERM);
        assert_eq!(refused(libc::SYS_execveat, [3, 0, 0, 0, 0, 0]), None);
    }

    #[test]
    fn calls_under_other_numbers_are_unknown() {
        for call in [libc::SYS_connect, libc::SYS_socket, libc::SYS_read] {
            assert_eq!(refused(call | 0x4000_0000, [0; 6]), Some(libc::ENOSYS));
        }
        assert_eq!(refused(libc::SYS_clone3, [0; 6]), Some(libc::ENOSYS));
    }

    #[test]
    fn the_supervisor_is_asked_about_connections_and_listeners_only() {
        let supervised: Vec<sock_filter> = supervised()
            .iter()
            .map(|step| sock_filter {
                code: step.code,
                jt: step.jt,
                jf: step.jf,
                k: step.k,
            })
            .collect();
        let asked = |call| verdict(&supervised, call, [0; 6]);
        assert_eq!(asked(libc::SYS_connect), libc::SECCOMP_RET_USER_NOTIF);
        assert_eq!(asked(libc::SYS_listen), libc::SECCOMP_RET_USER_NOTIF);
        assert_eq!(asked(libc::SYS_accept4), libc::SECCOMP_RET_ALLOW);
        let bind = verdict(&unbound("x86_64").unwrap(), libc::SYS_bind, [0; 6]);
        assert_eq!(bind, libc::SECCOMP_RET_ERRNO, "done, and nothing is done");
    }

    #[test]
    fn no_call_is_listed_twice() {
        let listed: std::collections::HashSet<i64> = REFUSED.into_iter().collect();
        assert_eq!(listed.len(), REFUSED.len());
    }
}
