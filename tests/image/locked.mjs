// Whether every package that the image takes from npm, for either platform, is there in package-lock.json with its hash.
// npm writes no hash for a platform that its registry does not have at that moment, and `npm ci` then takes what it gets.
import { readFileSync } from "node:fs";

const { packages } = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8"));
const names = ["opencode-ai", "@vscode/ripgrep"];
for (const arch of ["x64", "arm64"]) names.push(`opencode-linux-${arch}`, `@vscode/ripgrep-linux-${arch}`);

const bare = names.filter((name) => !packages[`node_modules/${name}`]?.integrity?.startsWith("sha512-"));
for (const name of bare) console.error(`package-lock.json has no hash of ${name}`);
if (bare.length > 0) {
  console.error("Write it anew: rm package-lock.json && npm install --package-lock-only --ignore-scripts");
  process.exit(1);
}
console.log(`${names.length} packages with their hashes`);
