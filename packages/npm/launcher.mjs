#!/usr/bin/env node
// Starts the program of this platform's package, as the command `opencode-reviewer`. Nothing is downloaded and no install script has
// run: npm has chosen the package by its platform. OpenCode and ripgrep are packages as well; the program is told where they are.
import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";

const PROGRAM = "opencode-reviewer";
const ARCHITECTURES = ["x64", "arm64"];
const IMAGE = "Use the container image instead: the documentation has the line, under \"On your machine\".";
const require = createRequire(import.meta.url);

/** Ends with the code of a program that could not begin. */
function fail(sentence) {
  console.error(`error: ${sentence}`);
  process.exit(2);
}

/** The program for this machine. */
function program() {
  const { platform, arch } = process;
  if (platform !== "linux" || !ARCHITECTURES.includes(arch)) {
    fail(`${PROGRAM} needs Linux on x64 or arm64, because its sandbox is the Linux kernel's; this is ${platform} on ${arch}. ${IMAGE}`);
  }
  if (!process.report?.getReport().header.glibcVersionRuntime) {
    fail(`${PROGRAM} needs glibc, and this system has another C library. ${IMAGE}`);
  }
  const name = `${PROGRAM}-linux-${arch}`;
  try {
    return join(dirname(require.resolve(`${name}/package.json`)), "bin", PROGRAM);
  } catch {
    fail(`the package ${name} is missing; npm leaves it out with --omit=optional. Install ${PROGRAM} again without this flag.`);
  }
}

/** The folder whose node_modules holds a package, wherever the package manager has put it. */
function root(file) {
  let folder = dirname(realpathSync(file));
  while (basename(folder) !== "node_modules" && dirname(folder) !== folder) folder = dirname(folder);
  return dirname(folder);
}

/** Folders in which the program finds OpenCode and ripgrep. */
function roots() {
  const files = ["opencode-ai/package.json", "@vscode/ripgrep"].flatMap((name) => {
    try {
      return [require.resolve(name)];
    } catch {
      // Then the program looks on the PATH, and says what is missing.
      return [];
    }
  });
  return [...new Set(files.map(root))];
}

const environment = { ...process.env, OPENCODE_REVIEWER_ROOTS: roots().join(delimiter) };
const child = spawn(program(), process.argv.slice(2), { stdio: "inherit", env: environment });
// A terminal tells both of them; whoever signals this process alone means the program.
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on("error", (error) => fail(`${child.spawnfile} cannot be started: ${error.message}`));
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
