// Which files are pure: those of the two crates that the compiler keeps so, but for their tests.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

const TESTS = /(^|\/)(tests?|[a-z_]+_tests|fixture)(\/|\.rs$)/;

// Paths below the root. Prompts and JSON are pure, too, but nothing to count in.
export function pureFiles() {
  const files = ["crates/core/src", "crates/text/src"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((path) => `${folder}/${path}`),
  );
  return files.filter((file) => file.endsWith(".rs") && !TESTS.test(file)).sort();
}
