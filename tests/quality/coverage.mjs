// How much of the product the tests pass through, by lines: each module, the pure files, all. Standard input is the summary that
// `cargo llvm-cov report --json --summary-only` prints. Run by `make coverage`.
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { pureFiles, root } from "./map.mjs";

const pure = new Set(pureFiles());
const sums = new Map();
for (const { filename, summary } of JSON.parse(readFileSync(0, "utf8")).data[0].files) {
  const file = relative(root, filename);
  const [, crate, module] = /^(?:crates\/([a-z-]+)\/)?src\/([a-z_]+)/.exec(file) ?? [];
  if (!module) continue;
  const folder = crate ? `${crate}/${module}` : module;
  for (const name of [folder, pure.has(file) ? "(pure files)" : "(edges and drivers)", "(all)"]) {
    const sum = sums.get(name) ?? { covered: 0, count: 0 };
    sum.covered += summary.lines.covered;
    sum.count += summary.lines.count;
    sums.set(name, sum);
  }
}

const rank = (name) => ["(pure files)", "(edges and drivers)", "(all)"].indexOf(name);
const names = [...sums.keys()].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
for (const name of names) {
  const { covered, count } = sums.get(name);
  const share = `${((100 * covered) / count).toFixed(1)} %`;
  console.log(`${name.padEnd(20)}${share.padStart(8)}${`${covered} of ${count} lines`.padStart(24)}`);
}
