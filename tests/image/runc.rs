//! A container where no engine runs: runc, the program that Docker starts containers with, on the unpacked image, with what
//! Docker gives to a container: capabilities, masked paths, namespaces. Three things differ: the network is the machine's, there
//! is no AppArmor, and the filter of system calls is that of Debian's containers-common, or none where it is not installed.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What Docker leaves to a superuser.
const CAPABILITIES: [&str; 14] = [
    "CAP_AUDIT_WRITE",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
];

const PROFILE: &str = "/usr/share/containers/seccomp.json";

/// Writes what runc starts.
pub fn bundle(
    folder: &Path,
    root: &Path,
    image: &Value,
    mounts: &[(PathBuf, &str)],
    variables: &BTreeMap<String, String>,
) {
    let list = |name: &str| image[name].as_array().cloned().unwrap_or_default();
    let mut environment = list("Env");
    environment.extend(variables.iter().map(|(k, v)| json!(format!("{k}={v}"))));
    let arguments = [list("Entrypoint"), list("Cmd")].concat();
    let mounts: Vec<Value> = mounts.iter().map(bound).collect();
    let mounts = [system_mounts(), mounts].concat();
    let namespaces = ["pid", "ipc", "uts", "mount"].map(|kind| json!({ "type": kind }));
    let config = json!({
        "ociVersion": "1.0.2",
        "root": { "path": root },
        "process": {
            "user": { "uid": 0, "gid": 0 },
            "cwd": "/github/workspace",
            "args": arguments,
            "env": environment,
            "capabilities": { "bounding": CAPABILITIES, "effective": CAPABILITIES, "permitted": CAPABILITIES },
        },
        "mounts": mounts,
        "linux": {
            "namespaces": namespaces,
            "maskedPaths": ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
                "/proc/sched_debug", "/proc/scsi", "/sys/firmware"],
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
            "seccomp": filter(),
        },
    });
    std::fs::create_dir(folder).expect("a folder");
    std::fs::write(folder.join("config.json"), config.to_string()).expect("a file");
}

fn bound((outside, inside): &(PathBuf, &str)) -> Value {
    json!({ "source": outside, "destination": inside, "options": ["rbind", "rw"] })
}

fn system_mounts() -> Vec<Value> {
    let mount = |kind: &str, destination: &str, options: &[&str]| json!({ "type": kind, "source": kind, "destination": destination, "options": options });
    vec![
        mount("proc", "/proc", &["nosuid", "noexec", "nodev"]),
        mount("tmpfs", "/dev", &["nosuid", "strictatime", "mode=755"]),
        mount(
            "tmpfs",
            "/dev/shm",
            &["nosuid", "noexec", "nodev", "mode=1777"],
        ),
        json!({ "source": "/sys", "destination": "/sys", "options": ["rbind", "ro", "nosuid", "noexec", "nodev"] }),
    ]
}

/// The profile is written for every machine and every set of capabilities; what concerns this one is taken out of it.
fn filter() -> Value {
    let Ok(profile) = std::fs::read(PROFILE) else {
        println!("runc: without a filter of system calls, as there is no {PROFILE}");
        return Value::Null;
    };
    let profile: Value = serde_json::from_slice(&profile).expect("a profile");
    let machine = match std::env::consts::ARCH {
        "x86_64" => ("SCMP_ARCH_X86_64", "amd64"),
        _ => ("SCMP_ARCH_AARCH64", "arm64"),
    };
    let names = |list: &Value| -> Vec<String> {
        let words = list.as_array().into_iter().flatten();
        words
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect()
    };
    let has = |cap: &String| CAPABILITIES.contains(&cap.as_str());
    let concerns = |rule: &&Value| {
        let (wanted, unwanted) = (&rule["includes"], &rule["excludes"]);
        let arches = names(&wanted["arches"]);
        names(&wanted["caps"]).iter().all(has)
            && !names(&unwanted["caps"]).iter().any(has)
            && (arches.is_empty() || arches.iter().any(|arch| arch == machine.1))
            && !names(&unwanted["arches"])
                .iter()
                .any(|arch| arch == machine.1)
    };
    let rules: Vec<Value> = profile["syscalls"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(concerns)
        .map(|rule| {
            let mut rule = rule.clone();
            if let Some(fields) = rule.as_object_mut() {
                fields.retain(|name, value| {
                    ["names", "action", "args", "errnoRet"].contains(&name.as_str())
                        && !value.is_null()
                });
            }
            rule
        })
        .collect();
    json!({
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile["defaultErrnoRet"],
        "architectures": [machine.0],
        "syscalls": rules,
    })
}
