// Changes the pure files in a drawn sample of places, one at a time, and counts how often a unit test of their crate notices.
// Pure are the crates core and text; cargo-mutants makes the changes, in a copy of the tree.
// Run by `make mutants`, which hands over cargo-mutants' path.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pureFiles, root } from "./map.mjs";

// Unit tests that hold a property against many inputs.
const SLOW = ["a_long_discussion_is_told", "hostile_lengths_are_passed_over"];
const folder = join(root, "target/mutants");
const results = join(folder, "mutants.out");
const tool = process.argv[2];
const seed = number("SEED", 1);
const size = number("SAMPLE", 150);
const wanted = 80;

const pure = ["mutants", "--dir", root, "--no-config", ...pureFiles().flatMap((file) => ["--file", file])];
const all = list();
const sample = draw(all);
console.log(`${sample.length} of ${all.length} mutants of the pure files, drawn with seed ${seed}`);
const outcomes = tried(sample);
report(outcomes);

function number(name, otherwise) {
  const value = Number(process.env[name] || otherwise);
  if (!Number.isInteger(value) || value < 0) fail(`${name} is no number: ${process.env[name]}`);
  return value;
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}

function list() {
  const { status, stdout, stderr } = spawnSync(tool, [...pure, "--list", "--json"], { encoding: "utf8", maxBuffer: 1 << 28 });
  if (status !== 0) fail(`cargo-mutants cannot list: ${stderr}`);
  return JSON.parse(stdout);
}

// Those with the smallest hashes. A mutant is hashed without its line, so that a change of a file moves few of the others
// into the sample or out of it; the same change in the same function again is told apart by its number.
function draw(mutants) {
  const seen = new Map();
  const ranked = mutants.map(({ name, file }) => {
    const change = `${file} ${name.replace(/^\S+: /, "")}`;
    const again = seen.get(change) ?? 0;
    seen.set(change, again + 1);
    return { name, rank: createHash("sha256").update(`${seed} ${again} ${change}`).digest("hex") };
  });
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return ranked.slice(0, size).map(({ name }) => name);
}

// What is not in the sample is named as caught before, because cargo-mutants' filters by name let some mutants pass that they
// should not (its issue 632). First the quick tests try, which is most of the catch for a tenth of the time; `--iterate`
// then leaves what survived them to all unit tests.
function tried(names) {
  const others = all.map(({ name }) => name).filter((name) => !names.includes(name));
  rmSync(results, { recursive: true, force: true });
  mkdirSync(results, { recursive: true });
  writeFileSync(join(results, "previously_caught.txt"), `${others.join("\n")}\n`);
  const first = run(["--", "--", ...SLOW.flatMap((test) => ["--skip", test])]);
  if (first.missed + first.timeout === 0) return first;
  const second = run([]);
  return {
    caught: first.caught + second.caught,
    missed: second.missed,
    timeout: second.timeout,
    unviable: first.unviable + second.unviable,
    outcomes: second.outcomes,
  };
}

// The folder of the builds is one for all, so that each mutant is an incremental build, and therefore one mutant is tried
// after the other; what an earlier run left of this package there is of no use to another copy of the tree. A timeout counts
// as noticed, so it is long enough for a busy machine.
function run(tests) {
  const env = {
    ...process.env,
    CARGO_TARGET_DIR: join(folder, "build"),
    PROPTEST_RNG_SEED: process.env.PROPTEST_RNG_SEED || "1",
  };
  const options = { cwd: root, env, stdio: "inherit" };
  spawnSync("cargo", ["clean", "--quiet", "--profile", "mutants", "--workspace"], options);
  const asked = [...pure, "--iterate", "--output", folder, "--profile", "mutants", "--cargo-arg=--lib", "--colors", "never"];
  const patience = ["--timeout-multiplier", "10", "--minimum-test-timeout", "120"];
  spawnSync(tool, [...asked, ...patience, ...tests], options);
  const outcomes = join(results, "outcomes.json");
  if (!existsSync(outcomes)) fail("Nothing was tried.");
  return JSON.parse(readFileSync(outcomes, "utf8"));
}

function report({ caught, missed, timeout, unviable, outcomes }) {
  if (caught + missed + timeout + unviable !== sample.length) {
    fail("Not all of the sample was tried, or the tests fail without any change; target/mutants/mutants.out/log has more.");
  }
  const survivors = outcomes.filter(({ summary }) => summary === "MissedMutant").map(({ scenario }) => scenario.Mutant.name);
  const viable = caught + missed + timeout;
  const rate = (100 * (caught + timeout)) / viable;
  console.log(`caught ${caught}, missed ${missed}, timeout ${timeout}, unviable ${unviable}`);
  for (const name of survivors.sort()) console.log(`  survived: ${name}`);
  console.log(`${rate.toFixed(1)} % of ${viable} viable mutants were noticed; at least ${wanted} % are wanted`);
  if (!(rate >= wanted)) process.exit(1);
}
