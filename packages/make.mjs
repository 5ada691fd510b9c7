// Makes what is installed: the npm packages, and for each platform a tarball with its checksum.
// node packages/make.mjs --out FOLDER TARGET=PROGRAM…
//
//     FOLDER/npm/opencode-reviewer              the command, with the platform packages as optional dependencies
//     FOLDER/npm/opencode-reviewer-linux-x64    the program for one platform
//     FOLDER/opencode-reviewer-1.2.3-x86_64-unknown-linux-gnu.tar.gz, FOLDER/SHA256SUMS
//
// A package has no scripts: everything is inside, and npm chooses by platform. GITHUB_REPOSITORY names the repository in the packages,
// where their provenance is looked for.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const NAME = "opencode-reviewer";
/** Platforms by cargo's name: npm's architecture. */
const PLATFORMS = { "x86_64-unknown-linux-gnu": "x64", "aarch64-unknown-linux-gnu": "arm64" };
const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const read = (path) => readFileSync(join(root, path), "utf8");

/** What is wrong with the call, in one sentence. */
function refuse(sentence) {
  console.error(`error: ${sentence}`);
  process.exit(2);
}

/** The folder and the programs that were given. */
function given([flag, out, ...pairs]) {
  const usage = `usage: node packages/make.mjs --out FOLDER TARGET=PROGRAM…; targets: ${Object.keys(PLATFORMS).join(", ")}`;
  if (flag !== "--out" || !out || pairs.length === 0) refuse(usage);
  const programs = pairs.map((pair) => {
    const at = pair.indexOf("=");
    const target = pair.slice(0, at);
    if (!(target in PLATFORMS)) refuse(`"${pair}" names no platform; ${usage}`);
    return { target, program: resolve(pair.slice(at + 1)) };
  });
  return { out: resolve(out), programs };
}

const { out, programs } = given(process.argv.slice(2));
const version = read("Cargo.toml").match(/^version = "(.*)"$/m)[1];
const description = read("Cargo.toml").match(/^description = "(.*)"$/m)[1];
const pins = JSON.parse(read("package.json")).dependencies;
const repository = { type: "git", url: `git+https://github.com/${process.env.GITHUB_REPOSITORY ?? `org/${NAME}`}.git` };

/** The part of a manifest that all packages have. */
const common = (name) => ({ name, version, description, license: "MIT", repository, publishConfig: { access: "public" } });

/** Writes a package: its manifest, the licence, a page, and one executable. */
function write(manifest, page, executable, from) {
  const folder = join(out, "npm", manifest.name);
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(folder, "README.md"), page);
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  const target = join(folder, "bin", executable);
  copyFileSync(from, target);
  chmodSync(target, 0o755);
}

/** The package of one platform. */
function platform({ target, program }) {
  const cpu = PLATFORMS[target];
  const name = `${NAME}-linux-${cpu}`;
  const manifest = { ...common(name), os: ["linux"], cpu: [cpu], libc: ["glibc"], preferUnplugged: true };
  write(manifest, `# ${name}\n\nThe program of ${NAME} for Linux on ${cpu}.\n`, NAME, program);
}

/** The package that people install. */
function main() {
  const platforms = programs.map(({ target }) => [`${NAME}-linux-${PLATFORMS[target]}`, version]);
  const manifest = {
    ...common(NAME),
    type: "module",
    bin: { [NAME]: `bin/${NAME}.mjs` },
    engines: { node: ">=18" },
    dependencies: pins,
    optionalDependencies: Object.fromEntries(platforms),
  };
  write(manifest, read("packages/npm/README.md"), `${NAME}.mjs`, join(root, "packages/npm/launcher.mjs"));
}

/** The tarball of one platform: the same bytes from the same program, whenever it is made. Returns its path. */
function tarball({ target, program }) {
  const name = `${NAME}-${version}-${target}`;
  const folder = join(out, name);
  mkdirSync(folder, { recursive: true });
  for (const page of ["LICENSE", "README.md"]) copyFileSync(join(root, page), join(folder, page));
  copyFileSync(program, join(folder, NAME));
  chmodSync(join(folder, NAME), 0o755);
  const file = join(out, `${name}.tar.gz`);
  const same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--mode=go=rX,u+rw"];
  execFileSync("tar", ["--create", `--file=${file}`, "--use-compress-program=gzip --no-name", ...same, `--directory=${out}`, name]);
  rmSync(folder, { recursive: true });
  return file;
}

mkdirSync(out, { recursive: true });
main();
programs.forEach(platform);
const sums = programs.map(tarball).map((file) => {
  const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
  return `${sum}  ${basename(file)}\n`;
});
writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
console.log(`${NAME} ${version}: npm packages and tarballs of ${programs.map(({ target }) => target).join(", ")} in ${out}`);
