// The dashboard in a real browser, beside the running service of the demo: a pull request from opened to merged, watched without a
// reload; a retry pressed with the keyboard; text that would act; narrow and wide, light and dark, with and without script.
// node tests/browser/dashboard.mjs <demo> [folder for pictures]

import axe from "axe-core";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const BROWSERS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
/** The longest wait for something that happens. */
const PATIENCE = Number(process.env.PATIENCE ?? 180) * 1000;
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 360, height: 740 };
/** A picture above this size is taken again with fewer pixels. */
const MOST_BYTES = 300_000;

const PAGES = ["/ui", "/ui?state=merged", "/ui/pr/octo/shop/1", "/ui/pr/octo/shop/2", "/ui/nothing", "/ui/sign-in"];

const [demo, pictures] = process.argv.slice(2);
const executablePath = BROWSERS.find((path) => path && existsSync(path));
if (!executablePath) {
  console.log("The dashboard was not tried in a browser, because there is none: install Chromium (apt-get install -y chromium), or set CHROMIUM to its path.");
  process.exit(0);
}

const service = await started();
const browser = await chromium.launch({ executablePath, args: FLAGS, headless: true });
try {
  await whole();
  console.log("browser-test: all of it holds");
} catch (error) {
  console.error(service.errors());
  throw error;
} finally {
  await browser.close();
  service.kill();
}

async function whole() {
  const operator = await visitor({ viewport: WIDE });
  const page = operator.page;
  await told("a wrong token is refused in words", () => refused(page));
  await told("a token opens the list", () => enter(page, service.operate));
  await told("a pull request appears in the list by itself", () => appears(page));
  await told("an error and hostile words are shown as text", () => fails(page));
  await told("a retry is pressed with the keyboard", () => retries(page));
  await told("the page follows the life to its merge", () => merges(page));
  await told("every state of the list is told", () => lists(page));
  await told("whoever only reads needs no script and has no retry", () => reads());
  await told("every page is usable by everybody, at each width and in each colour", () => usable());
  if (pictures) await told("pictures are taken", () => photographs());
  await told("the service ends while pages are open", () => ends(page));
  assert.deepEqual(operator.faults, []);
}

async function told(what, act) {
  const begun = Date.now();
  await act();
  console.log(`  ${what}, ${((Date.now() - begun) / 1000).toFixed(1)} s`);
}

/** Starts the demo, and reads the addresses that it prints. */
async function started() {
  const environment = { ...process.env, SERVE: "dashboard", DEMO_QUICK: "1" };
  const child = spawn(demo, [], { env: environment, stdio: ["pipe", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (text) => { errors += text; });
  const ended = new Promise((done) => child.on("exit", done));
  const waiting = [];
  const lines = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    const next = waiting.shift();
    if (next) next(line); else lines.push(line);
  });
  const line = () => {
    const next = lines.length ? Promise.resolve(lines.shift()) : new Promise((done) => waiting.push(done));
    return Promise.race([next, ended.then((code) => { throw new Error(`the demo ended with ${code}: ${errors}`); })]);
  };
  const told = JSON.parse(await line());
  return {
    ...told,
    errors: () => errors,
    step: async (name) => { child.stdin.write(`${name}\n`); assert.equal(JSON.parse(await line()).done, name); },
    end: async () => { child.stdin.end(); return ended; },
    kill: () => child.kill("SIGTERM"),
  };
}

/** A visitor with cookies of its own, who notes everything that no page may do. */
async function visitor(settings) {
  const context = await browser.newContext(settings);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const faults = [];
  page.on("dialog", (dialog) => { faults.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("pageerror", (error) => faults.push(`an error: ${error.message}`));
  page.on("request", (request) => { if (!request.url().startsWith(service.url)) faults.push(`a request to ${request.url()}`); });
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) faults.push(message.text());
  });
  return { context, page, faults };
}

async function refused(page) {
  await page.goto(service.url);
  await page.getByLabel("API token").fill("ghp_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("The service has no such token.").waitFor();
  assert.equal(await page.getByLabel("API token").inputValue(), "");
  await judged(page);
}

async function enter(page, token) {
  await page.getByLabel("API token").fill(token);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Pull requests" }).waitFor();
  await page.getByText("The service knows no pull request yet.").waitFor();
}

/** A mark in the page, which a reload would remove. */
function keep(page) {
  return page.evaluate(() => { window.kept = true; });
}

/** True if the page was not loaded again, and nothing in it has acted. */
function kept(page) {
  return page.evaluate(() => window.kept === true && window.acted === undefined);
}

async function appears(page) {
  await page.getByText("Live", { exact: true }).waitFor();
  await keep(page);
  await service.step("break");
  await service.step("open");
  await page.getByRole("link", { name: "octo/shop#1" }).waitFor();
  assert.ok(await kept(page));
  // The words for screen readers name the change.
  await page.waitForFunction(() => document.getElementById("said").textContent.startsWith("1 open: "));
}

async function fails(page) {
  // The way to the pull request by the keyboard alone.
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.locator("body").focus();
  for (let steps = 0; (await focused()) !== "octo/shop#1"; steps += 1) {
    assert.ok(steps < 40, "the link to the pull request takes no focus");
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "octo/shop#1" }).waitFor();
  await keep(page);
  await state(page, "Error");
  const text = await page.locator("main").textContent();
  assert.ok(text.includes("<script>window.acted=1</script>"), text);
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.ok(await kept(page));
  await judged(page);
}

async function retries(page) {
  await service.step("heal");
  await service.step("others");
  const button = page.getByRole("button", { name: "Retry" });
  await button.focus();
  const outline = await button.evaluate((one) => getComputedStyle(one).outlineStyle);
  assert.notEqual(outline, "none", "the focus is not visible");
  await page.keyboard.press("Enter");
  await page.getByText("The retry was ordered.").first().waitFor();
  await keep(page);
  await page.getByText("Retry, ordered by operator").waitFor();
}

async function merges(page) {
  await state(page, "Merged");
  assert.ok(await kept(page), "the page was loaded again");
  const timeline = await page.locator(".timeline").textContent();
  for (const words of ["Quality requested changes", "Author fixed it in", "Quality approved and called security", "Security approved"]) {
    assert.ok(timeline.includes(words), `${words} is not in ${timeline}`);
  }
  const picture = page.getByRole("img", { name: "States of a pull request" });
  assert.equal(await picture.locator(".now text").textContent(), "Merged");
  assert.equal(await page.getByRole("button", { name: "Retry" }).count(), 0);
  assert.match(await page.locator("#said").textContent(), /^Merged\./);
}

async function lists(page) {
  await page.goto(`${service.url}/ui`);
  for (const [name, words] of [["Pending", "It is a draft."], ["Fixing", "quality requests changes"], ["Pending", "The head is of a fork"]]) {
    await page.getByRole("table", { name }).getByText(words).waitFor();
  }
  const headers = await page.getByRole("table", { name: "Fixing" }).getByRole("columnheader").allTextContents();
  assert.deepEqual(headers, ["Pull request", "Waits for", "In this state for", "Cost"]);
  await page.getByRole("link", { name: "Merged" }).click();
  await page.getByRole("link", { name: "octo/shop#1" }).waitFor();
  assert.equal(await page.getByRole("navigation", { name: "States" }).locator("[aria-current]").textContent(), "Merged 1");
  // A branch whose name would act.
  await page.goto(`${service.url}/ui/pr/octo/shop/2`);
  await page.getByText("<img/src=x/onerror=window.acted=1>").first().waitFor();
  assert.equal(await page.evaluate(() => window.acted), undefined);
  await page.goto(`${service.url}/ui/pr/octo/other/1`);
  await page.getByRole("heading", { name: "Not found" }).waitFor();
}

async function reads() {
  const { context, page, faults } = await visitor({ viewport: NARROW, javaScriptEnabled: false });
  await page.goto(`${service.url}/ui/pr/octo/shop/2`);
  await page.getByLabel("API token").fill(service.read);
  await page.getByRole("button", { name: "Sign in" }).click();
  // The page that was asked for.
  await page.getByRole("heading", { level: 1, name: "octo/shop#2" }).waitFor();
  await page.getByText("Reload the page for news.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Retry" }).count(), 0);
  await page.getByText("What moves it on").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto(`${service.url}/ui`);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
}

async function usable() {
  for (const [viewport, colorScheme] of [[WIDE, "light"], [WIDE, "dark"], [NARROW, "light"], [NARROW, "dark"]]) {
    const { context, page, faults } = await visitor({ viewport, colorScheme });
    await page.goto(`${service.url}/ui`);
    await signIn(page, service.operate);
    for (const path of PAGES) {
      await page.goto(service.url + path);
      for (const details of await page.locator("details").all()) await details.evaluate((one) => { one.open = true; });
      await judged(page);
    }
    await page.goto(`${service.url}/ui/pr/octo/shop/1`);
    const [figure, now] = await page.evaluate(() => ["figure", "figure .now"].map((one) => {
      const { left, right } = document.querySelector(one).getBoundingClientRect();
      return { left, right };
    }));
    assert.ok(figure.left <= now.left && now.right <= figure.right, "the state of now is out of view in the diagram");
    assert.deepEqual(faults, []);
    await context.close();
  }
}

async function signIn(page, token) {
  await page.getByLabel("API token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Pull requests" }).waitFor();
}

async function ends(page) {
  await page.goto(`${service.url}/ui`);
  await page.getByText("Live", { exact: true }).waitFor();
  assert.equal(await service.end(), 0, service.errors());
  await page.getByText("The connection is lost.").waitFor();
}

/** Waits until the page says this state, whatever it does meanwhile. */
async function state(page, words) {
  await page.waitForFunction((words) => document.querySelector("h1 .badge")?.textContent === words, words, { timeout: PATIENCE });
}

/** What holds of every page: axe finds nothing, and nothing is wider than the window. */
async function judged(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => window.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  }));
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html).join(" | ")}`);
  assert.deepEqual(found, [], page.url());
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `${page.url()} is ${content} pixels wide in a window of ${window}`);
}

async function photographs() {
  mkdirSync(pictures, { recursive: true });
  // One that has failed, and one at work.
  const { context, page } = await visitor({ viewport: WIDE });
  await page.goto(`${service.url}/ui`);
  await signIn(page, service.operate);
  await service.step("refuse");
  await service.step("another");
  await page.getByRole("table", { name: "Error" }).waitFor();
  await service.step("heal");
  await service.step("slow");
  await service.step("another");
  await page.getByRole("table", { name: "Reviewing" }).waitFor();
  await context.close();
  const shots = [
    ["dashboard-list", "/ui", { width: 1440, height: 760 }, "light"],
    ["dashboard-pull", "/ui/pr/octo/shop/1", { width: 1440, height: 1000 }, "dark"],
    ["dashboard-narrow", "/ui/pr/octo/shop/5", { width: 360, height: 900 }, "light"],
  ];
  for (const [name, path, viewport, colorScheme] of shots) {
    for (const deviceScaleFactor of [2, 1.5, 1]) {
      const { context, page } = await visitor({ viewport, colorScheme, deviceScaleFactor });
      await page.goto(`${service.url}/ui`);
      await signIn(page, service.operate);
      await page.goto(service.url + path);
      await page.getByText("Live", { exact: true }).waitFor();
      const file = join(pictures, `${name}.png`);
      await page.screenshot({ path: file });
      await context.close();
      if (statSync(file).size <= MOST_BYTES) break;
    }
  }
  await service.step("fast");
}
