// Makes crates/agent/src/gateway/providers.json anew from the catalogue of the pinned OpenCode: where each provider is reached, and
// which adapter speaks with it. `--check` compares instead of writing. Model lists are left out, except for models
// that differ from their provider. Run by `make providers` after OpenCode's version has moved.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const target = join(root, "crates/agent/src/gateway/providers.json");
// No model has this name, so OpenCode gives it what it would give to any model that it does not know.
const UNKNOWN = "a-model-that-no-catalogue-knows";

const plain = await catalogue({});
// Configured, a provider shows what an unknown model gets, and OpenCode Zen shows its models that cost something.
const configured = await catalogue(
  Object.fromEntries(
    Object.keys(plain).map((id) => [id, { options: { apiKey: "none" }, models: { [UNKNOWN]: {} } }]),
  ),
);
const entries = Object.keys(plain)
  .sort()
  .map((id) => [id, entry({ ...plain[id].models, ...configured[id].models })]);
const text = `{\n${entries.map(([id, value]) => `${JSON.stringify(id)}:${JSON.stringify(value)}`).join(",\n")}\n}\n`;

if (!process.argv.includes("--check")) {
  writeFileSync(target, text);
  console.log(`${entries.length} providers, ${text.length} bytes`);
} else if (readFileSync(target, "utf8") !== text) {
  const known = JSON.parse(readFileSync(target, "utf8"));
  const made = Object.fromEntries(entries);
  const ids = new Set([...Object.keys(known), ...Object.keys(made)]);
  const differ = [...ids].filter((id) => JSON.stringify(known[id]) !== JSON.stringify(made[id]));
  console.error(`crates/agent/src/gateway/providers.json is not OpenCode's catalogue any more (${differ.join(", ")}); run \`make providers\``);
  process.exitCode = 1;
} else {
  console.log(`${entries.length} providers agree`);
}

function entry(models) {
  const { npm, url } = models[UNKNOWN].api;
  const differing = Object.entries(models)
    .filter(([name]) => name !== UNKNOWN)
    .map(([name, { api }]) => [
      name,
      {
        ...(api.id !== name && { id: api.id }),
        ...(api.npm !== npm && { adapter: api.npm }),
        ...(api.url !== url && { url: api.url }),
      },
    ])
    .filter(([, difference]) => Object.keys(difference).length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    adapter: npm,
    ...(url && { url }),
    ...(differing.length > 0 && { models: Object.fromEntries(differing) }),
  };
}

// What `GET /provider` says, by id, with these providers in the configuration.
async function catalogue(provider) {
  const scratch = mkdtempSync(join(tmpdir(), "opencode-catalogue-"));
  mkdirSync(join(scratch, "work"));
  const port = await freePort();
  const child = spawn(executable(), ["serve", "--pure", "--hostname", "127.0.0.1", "--port", String(port)], {
    cwd: join(scratch, "work"),
    stdio: "ignore",
    env: {
      HOME: scratch,
      PATH: process.env.PATH,
      OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider, share: "disabled", autoupdate: false }),
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_PROJECT_CONFIG: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      OPENCODE_PURE: "1",
    },
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    const base = `http://127.0.0.1:${port}`;
    await healthy(base, child);
    const { all } = await (await fetch(`${base}/provider`)).json();
    return Object.fromEntries(all.map((one) => [one.id, one]));
  } finally {
    child.kill("SIGKILL");
    await ended;
    rmSync(scratch, { recursive: true, force: true });
  }
}

// A request that connects just as the port opens is sometimes never answered, so each gets a short time.
async function healthy(base, child) {
  for (let tries = 0; tries < 240 && child.exitCode === null; tries += 1) {
    try {
      const answer = await fetch(`${base}/global/health`, { signal: AbortSignal.timeout(250) });
      if (answer.ok) return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
  throw new Error("OpenCode did not start");
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function executable() {
  const name = `opencode-${process.platform}-${process.arch}`;
  const found = [process.env.OPENCODE_BIN, join(root, "node_modules", name, "bin/opencode")].find(
    (path) => path && existsSync(path),
  );
  if (!found) throw new Error("OpenCode was not found; run `npm ci --ignore-scripts`");
  return found;
}
