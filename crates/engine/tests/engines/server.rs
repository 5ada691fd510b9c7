//! A PostgreSQL server of its own for tests, from the npm package that tests/engines pins. It listens on loopback, and ends
//! with the process that started it, however that ends.

use super::ports::free_port;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// PostgreSQL refuses to run as root, so it gets the user "nobody" then.
const NOBODY: u32 = 65_534;
const PASSWORD: &str = "correct horse";
/// Starts the server, ends it when the standard input is closed (by its owner, or by the end of its owner), and ends with it.
pub(crate) const GUARD: &str = r#"exec 3<&0; "$@" >>"$LOG" 2>&1 & server=$!
{ read -r _ <&3; kill -9 "$server" 2>/dev/null; } & reader=$!
wait "$server"; kill "$reader" 2>/dev/null"#;
/// Attempts to connect to a server that starts within seconds.
const ATTEMPTS: u32 = 600;
const PAUSE: Duration = Duration::from_millis(50);

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    guard: Mutex<Child>,
    stores: AtomicU32,
}

impl Server {
    /// Starts a server with an empty cluster. The error says what is missing.
    pub(crate) async fn start() -> Result<Self, String> {
        let package = package();
        if !package.is_dir() {
            return Err(format!(
                "{} is missing; `make engine-test` installs it",
                package.display()
            ));
        }
        let folder = tempfile::tempdir().unwrap();
        open_to_all(folder.path());
        let native = folder.path().join("native");
        copy(&package, &native).unwrap();
        link(&package, folder.path()).unwrap();
        let server = Self {
            port: free_port(),
            guard: Mutex::new(idle()),
            stores: AtomicU32::new(0),
            folder,
        };
        server.initialize();
        server.launch();
        server.answers().await;
        Ok(server)
    }

    /// The address of a database as a user.
    pub(crate) fn address(&self, user: &str, password: &str, database: &str) -> String {
        let password = password.replace(' ', "%20");
        format!(
            "postgres://{user}:{password}@127.0.0.1:{}/{database}",
            self.port
        )
    }

    /// The address of a database for its owner.
    pub(crate) fn owned(&self, database: &str) -> String {
        self.address("postgres", PASSWORD, database)
    }

    /// The address of a new, empty database.
    pub(crate) async fn empty(&self) -> String {
        let name = format!("store{}", self.stores.fetch_add(1, Ordering::Relaxed));
        self.execute("postgres", &format!("CREATE DATABASE {name}"))
            .await;
        self.owned(&name)
    }

    /// Executes statements in a database.
    pub(crate) async fn execute(&self, database: &str, statements: &str) {
        let mut connection = connect(&self.owned(database)).await.unwrap();
        let statements = sqlx::AssertSqlSafe(statements);
        let executed = sqlx::raw_sql(statements).execute(&mut connection).await;
        executed.unwrap();
        sqlx::Connection::close(connection).await.unwrap();
    }

    /// Kills the server. Its processes end, too.
    pub(crate) fn down(&self) {
        let file = self.data().join("postmaster.pid");
        let text = fs::read_to_string(file).unwrap();
        signal(text.lines().next().unwrap(), "KILL");
        // Its guard has nothing to guard any more.
        end(&mut self.guard.lock().unwrap());
    }

    /// Starts the server after its end.
    pub(crate) async fn up(&self) {
        self.launch();
        self.answers().await;
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.path().join("native/bin").join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("LD_LIBRARY_PATH", self.folder.path().join("native/lib"))
            .env("LC_ALL", "C")
            .env("LOG", self.data().join("server.log"))
            .current_dir(self.folder.path());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// The databases compare texts by the rules of a language, as those of many servers do.
    fn initialize(&self) {
        let data = self.data();
        fs::create_dir(&data).unwrap();
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
        let password = self.folder.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        if is_root() {
            chown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
            chown(&password, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut command = self.command(self.program("initdb").to_str().unwrap());
        command.arg("--pgdata").arg(&data);
        command.arg("--pwfile").arg(&password);
        command.args(["--username=postgres", "--auth=scram-sha-256"]);
        command.args(["--no-sync", "--no-instructions", "--encoding=UTF8"]);
        command.args(["--locale-provider=icu", "--icu-locale=en"]);
        // A password takes as long to check as the server asks for, and unoptimized code takes ten times as long.
        command.arg("--set=scram_iterations=1");
        let done = command.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "initdb failed: {said}");
    }

    /// Without `fsync`, because only processes die here, not the machine.
    fn launch(&self) {
        let mut command = self.command("sh");
        command.args(["-c", GUARD, "guard"]);
        command.arg(self.program("postgres")).arg("-D");
        command
            .arg(self.data())
            .arg("-p")
            .arg(self.port.to_string());
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "max_connections=200",
            "shared_buffers=32MB",
        ] {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let command = command.stderr(Stdio::null());
        *self.guard.lock().unwrap() = command.spawn().unwrap();
    }

    /// Waits for a connection. A server that is started too early after a crash gives up, and is started again.
    async fn answers(&self) {
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            match connect(&self.owned("postgres")).await {
                Ok(connection) => {
                    sqlx::Connection::close(connection).await.unwrap();
                    return;
                }
                Err(error) => last = error.to_string(),
            }
            let ended = self.guard.lock().unwrap().try_wait().unwrap();
            if ended.is_some() {
                self.launch();
            }
            tokio::time::sleep(PAUSE).await;
        }
        let log = fs::read_to_string(self.data().join("server.log")).unwrap_or_default();
        panic!("the server does not answer: {last}\n{log}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(mut guard) = self.guard.lock() {
            end(&mut guard);
        }
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(pid: &str, name: &str) {
    let sent = Command::new("sh")
        .args(["-c", r#"kill -s "$1" "$2""#, "signal", name, pid])
        .stderr(Stdio::null())
        .status();
    sent.unwrap();
}

async fn connect(address: &str) -> sqlx::Result<sqlx::AnyConnection> {
    sqlx::any::install_default_drivers();
    <sqlx::AnyConnection as sqlx::Connection>::connect(address).await
}

/// Closes the input of a guard, which then kills its server, and waits for it.
pub(crate) fn end(guard: &mut Child) {
    drop(guard.stdin.take());
    let _ended = guard.wait();
}

fn idle() -> Child {
    Command::new("true").spawn().unwrap()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn package() -> PathBuf {
    module("@embedded-postgres/").join("native")
}

/// The folder of an installed package for this machine, whose name begins like this.
pub(crate) fn module(name: &str) -> PathBuf {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/engines/node_modules")
        .join(format!("{name}{system}-{machine}"))
}

/// Another user may have no way to the checkout, so the server gets a copy.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    open_to_all(to);
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes the links between libraries that npm cannot pack. The package lists them for its install script.
fn link(package: &Path, folder: &Path) -> io::Result<()> {
    let list = fs::read_to_string(package.join("pg-symlinks.json"))?;
    let links: Vec<serde_json::Value> = serde_json::from_str(&list)?;
    for entry in links {
        let (source, target) = (&entry["source"], &entry["target"]);
        let (source, target) = (source.as_str().unwrap(), target.as_str().unwrap());
        symlink(folder.join(source), folder.join(target))?;
    }
    Ok(())
}
