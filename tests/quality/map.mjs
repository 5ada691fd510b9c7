// Which files are pure, by the code map of ARCHITECTURE.md, which a test holds against the code.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

// Rows whose second cell is P. Prompts and JSON are pure, too, but nothing to count in.
export function pureFiles() {
  const map = readFileSync(join(root, "ARCHITECTURE.md"), "utf8").split("\n## Code map\n")[1]?.split("\n## ")[0] ?? "";
  const files = [...map.matchAll(/^\| `(src\/[^`]+\.rs)` \| P \|/gm)].map((row) => row[1]);
  if (files.length === 0) throw new Error("ARCHITECTURE.md has no pure files in its code map");
  return files;
}
