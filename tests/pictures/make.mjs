// Renders the texts of the demo as GitHub and a terminal show them, and photographs them with a headless Chromium.
// node tests/pictures/make.mjs <folder with texts> <folder for pictures>

import { AnsiUp } from "ansi_up";
import hljs from "highlight.js/lib/common";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const WIDTH = 820;
/** A picture above this size is taken again with fewer pixels. */
const MOST_BYTES = 300_000;
const BROWSERS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

const [texts, pictures] = process.argv.slice(2);
const styles = readFileSync(createRequire(import.meta.url).resolve("github-markdown-css/github-markdown-light.css"), "utf8");
const read = (name) => readFileSync(join(texts, name), "utf8");
const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

/** Markdown as GitHub renders it: GFM, HTML let through, code in colours. Comments in HTML are not shown. */
function rendered(markdown) {
  const html = micromark(markdown, { allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml()] });
  return html.replace(/<pre><code class="language-(\w+)">([\s\S]*?)<\/code><\/pre>/g, (whole, language, code) => {
    if (!hljs.getLanguage(language)) return whole;
    const plain = code.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&amp;/g, "&");
    return `<pre><code>${hljs.highlight(plain, { language }).value}</code></pre>`;
  });
}

/** The last lines of the diff that end with the comment's line, as GitHub shows them above a thread. */
function diffLines({ diff, line, side }, most = 4) {
  const shown = [];
  let [before, after] = [0, 0];
  for (const text of diff.split("\n")) {
    const hunk = text.match(/^@@ -(\d+)(?:,\d+)? \+(\d+)/);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      shown.length = 0;
      continue;
    }
    const mark = text[0];
    if (!before && !after) continue;
    if (mark !== " " && mark !== "+" && mark !== "-") continue;
    const [old, now] = [mark === "+" ? "" : before++, mark === "-" ? "" : after++];
    shown.push({ mark, old, now, text: text.slice(1) });
    if (side === "LEFT" ? old === line : now === line) break;
  }
  return shown.slice(-most);
}

const diffRow = ({ mark, old, now, text }) => {
  const kind = { "+": "added", "-": "removed" }[mark] ?? "same";
  return `<tr class="${kind}"><td class="n">${old}</td><td class="n">${now}</td><td class="m">${mark.trim()}</td><td>${escape(text)}</td></tr>`;
};

const said = (user, body) => `
  <div class="said"><div class="avatar">O</div><div class="words">
    <div class="who"><b>${escape((user ?? "github-actions").replace("[bot]", ""))}</b> <span class="bot">bot</span> <span class="when">2 minutes ago</span></div>
    <div class="markdown-body">${rendered(body)}</div></div></div>`;

const thread = (comment) => `
  <div class="box"><div class="file">${escape(comment.path)}</div>
    <table class="diff">${diffLines(comment).map(diffRow).join("")}</table>
    ${said(comment.user, comment.body)}
    <div class="reply"><div>Reply…</div></div></div>`;

function terminal(text) {
  // What a line of progress draws is erased before the result is printed.
  const kept = text.split("\u001b[2K").at(-1).replace(/\r/g, "").trimEnd();
  const colours = new AnsiUp();
  colours.use_classes = true;
  return colours.ansi_to_html(kept);
}

const PAGE = `
  body { margin: 0; background: #fff; font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; color: #1f2328; }
  #page { width: ${WIDTH}px; box-sizing: border-box; padding: 16px; }
  .markdown-body { font-size: 14px; font-family: inherit; }
  .markdown-body details { margin-bottom: 8px; }
  .markdown-body hr { height: 1px; margin: 16px 0; }
  .markdown-body pre { font-size: 12px; padding: 12px; }
  .box { border: 1px solid #d1d9e0; border-radius: 6px; margin-bottom: 16px; overflow: hidden; }
  .box:last-child { margin-bottom: 0; }
  .file { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 12px; font: 12px monospace; }
  .diff { width: 100%; table-layout: fixed; border-collapse: collapse; font: 12px/20px monospace; border-bottom: 1px solid #d1d9e0; }
  .diff td { white-space: pre; padding: 0 8px; } .diff .n { box-sizing: border-box; width: 40px; text-align: right; color: #59636e; } .diff .m { box-sizing: border-box; width: 20px; padding-right: 0; }
  .diff .added { background: #dafbe1; } .diff .removed { background: #ffebe9; }
  .said { display: flex; gap: 12px; padding: 12px 16px; }
  .avatar { flex: none; width: 28px; height: 28px; border-radius: 50%; background: #1f2328; color: #fff; text-align: center; line-height: 28px; font-size: 13px; }
  .words { flex: 1; min-width: 0; } .who { margin-bottom: 4px; }
  .bot { border: 1px solid #d1d9e0; border-radius: 10px; padding: 0 6px; font-size: 12px; color: #59636e; } .when { color: #59636e; }
  .reply { background: #f6f8fa; border-top: 1px solid #d1d9e0; padding: 8px 16px; }
  .reply div { background: #fff; border: 1px solid #d1d9e0; border-radius: 6px; padding: 4px 10px; color: #59636e; font-size: 13px; }
  .title { display: flex; gap: 8px; align-items: center; padding: 12px 16px; border-bottom: 1px solid #d1d9e0; background: #f6f8fa; }
  .red { color: #d1242f; } .green { color: #1a7f37; }
  .inside { padding: 16px; }
  .hljs-keyword, .hljs-built_in { color: #cf222e; } .hljs-string { color: #0a3069; } .hljs-title { color: #6639ba; } .hljs-number { color: #0550ae; } .hljs-comment { color: #59636e; }
  .terminal { background: #1f2428; color: #d1d5da; border-radius: 6px; padding: 14px 16px; font: 12px/1.5 "DejaVu Sans Mono", monospace; white-space: pre-wrap; }
  .ansi-red-fg, .ansi-bright-red-fg { color: #f97583; } .ansi-green-fg, .ansi-bright-green-fg { color: #85e89d; } .ansi-yellow-fg, .ansi-bright-yellow-fg { color: #ffab70; }
  .ansi-cyan-fg, .ansi-bright-cyan-fg { color: #79b8ff; } .ansi-blue-fg { color: #79b8ff; } .prompt { color: #85e89d; }
`;

const { comments, reviews, checks } = JSON.parse(read("posted.json"));
// The gravest first, by their dots; then by place.
const grave = ({ body }) => ["🔴", "🟠", "🟡"].findIndex((dot) => body.startsWith(dot));
comments.sort((one, other) => grave(one) - grave(other) || one.path.localeCompare(other.path) || one.line - other.line);
const check = checks.at(-1);
const failed = check.conclusion === "failure";
const pages = {
  // One that blocks and one that does not: the first and the last.
  comments: [comments.at(0), comments.at(-1)].map(thread).join(""),
  review: `<div class="box">${reviews.map(({ user, body }) => said(user, body)).join("")}</div>`,
  check: `<div class="box"><div class="title"><span class="${failed ? "red" : "green"}">${failed ? "✕" : "✓"}</span>
    <b>OpenCode review</b> <span class="when">${escape(check.title ?? "")}</span></div>
    <div class="inside markdown-body">${rendered(check.summary ?? "")}</div></div>`,
  summary: `<div class="box"><div class="title"><b>review summary</b></div><div class="inside markdown-body">${rendered(read("summary.md"))}</div></div>`,
  terminal: `<div class="terminal"><span class="prompt">$</span> opencode-reviewer local --model standin/scripted --base-url http://127.0.0.1:4002/v1\n${terminal(read("terminal.txt"))}</div>`,
};

const executablePath = BROWSERS.find((path) => path && existsSync(path));
if (!executablePath) {
  console.error("No pictures without a browser: install Chromium (apt-get install -y chromium), or set CHROMIUM to its path.");
  process.exit(1);
}
mkdirSync(pictures, { recursive: true });
const browser = await chromium.launch({ executablePath, args: FLAGS, headless: true });
for (const [name, html] of Object.entries(pages)) {
  const path = join(pictures, `${name}.png`);
  await photograph(path, async (page) => {
    await page.setContent(`<!doctype html><meta charset="utf-8"><style>${styles}${PAGE}</style><div id="page">${html}</div>`);
    await page.locator("#page").screenshot({ path });
  });
}
// The page of the report as it is, with its own style, down to where the first findings end.
const report = join(pictures, "report.png");
await photograph(report, async (page) => {
  await page.setViewportSize({ width: WIDTH, height: 1200 });
  await page.goto(pathToFileURL(resolve(texts, "report.html")).href);
  await page.screenshot({ path: report });
});
await browser.close();

/** Takes a picture, with fewer pixels where it is too large. */
async function photograph(path, take) {
  for (const deviceScaleFactor of [2, 1.5, 1]) {
    const page = await browser.newPage({ viewport: { width: WIDTH, height: 600 }, deviceScaleFactor });
    await take(page);
    await page.close();
    if (statSync(path).size <= MOST_BYTES) break;
  }
  console.log(`${basename(path)}, ${Math.round(statSync(path).size / 1000)} kB`);
}
