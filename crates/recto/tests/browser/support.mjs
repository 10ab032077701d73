// What every story needs: a browser, a page that is watched, and words for what should be there.
//
// A story is a module that exports `story(stage)`. It is run by `run.mjs`, which the tests in
// `tests/it/browser.rs` start beside a real `recto serve`.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

const folder = process.env.RECTO_TEST_BROWSER;
assert(folder, "RECTO_TEST_BROWSER names the folder with the browser for tests");
const require = createRequire(join(folder, "node_modules", "x.js"));
const { chromium } = require("playwright-core");
const axeSource = require.resolve("axe-core");

/** How long anything may take to appear. */
const PATIENCE = 15_000;

/** A browser and the server that it talks to, for one story. */
export class Stage {
  constructor(browser) {
    this.browser = browser;
    this.url = process.env.RECTO_URL;
    /** What went wrong in any page. @type {string[]} */
    this.faults = [];
    /** Addresses outside of the server that a page asked for. @type {string[]} */
    this.outside = [];
    /** Paths of which a story means requests to be refused. @type {Set<string>} */
    this.refusals = new Set();
  }

  static async open() {
    const browser = await chromium.launch({
      executablePath: join(folder, "chromium"),
      args: ["--no-sandbox"],
    });
    return new Stage(browser);
  }

  /**
   * A tab of its own browser window, which is watched for errors.
   * @param {object} [options] of Playwright: `viewport`, `colorScheme`, `javaScriptEnabled`, …
   */
  async tab(options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
    return this.watch(await context.newPage());
  }

  watch(page) {
    page.setDefaultTimeout(PATIENCE);
    page.on("console", (message) => {
      const { url } = message.location();
      if (/responded with a status of 4\d\d/.test(message.text()) && this.refusals.has(new URL(url).pathname)) return;
      if (message.type() === "error") this.faults.push(`console: ${message.text()} ${url}`);
    });
    page.on("pageerror", (error) => this.faults.push(`script: ${error.stack ?? error}`));
    page.on("dialog", (dialog) => {
      this.faults.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on("request", (request) => {
      const address = request.url();
      if (!address.startsWith(this.url) && !address.startsWith("data:")) this.outside.push(address);
    });
    return page;
  }

  /**
   * Says that from now on the server may refuse requests to these paths, whatever their query: the
   * person is told, and Chromium says it in the console, too. Any other refusal is a fault.
   * @param {string[]} paths
   */
  expectRefusal(...paths) {
    for (const path of paths) this.refusals.add(path);
  }

  /** The server's page at a path. */
  async go(page, path) {
    await page.goto(new URL(path, this.url).href);
  }

  /** Runs the command itself, and gives what it printed. */
  async recto(...args) {
    const child = spawn(process.env.RECTO_BIN, ["--home", process.env.RECTO_HOME, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (out += data));
    const code = await new Promise((resolve) => child.on("close", resolve));
    assert.equal(code, 0, out);
    return out;
  }

  /** Keeps a picture of the page, where a folder for them is named. */
  async picture(page, name) {
    const pictures = process.env.RECTO_TEST_PICTURES;
    if (!pictures) return;
    await mkdir(pictures, { recursive: true });
    await page.screenshot({ path: join(pictures, `${name}.png`) });
  }

  /** Fails where axe-core finds a serious fault of access. */
  async accessible(page, where) {
    await page.evaluate(await axeText());
    const { violations } = await page.evaluate(() => window.axe.run());
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    const told = serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join("\n    ")}`);
    assert.deepEqual(told, [], `faults of access: ${where}`);
  }

  /** Fails where the page is wider than the window. */
  async fits(page, where) {
    const [inner, scroll] = await page.evaluate(() => [window.innerWidth, document.documentElement.scrollWidth]);
    assert(scroll <= inner, `${where}: ${scroll} px in a window of ${inner}`);
  }

  async close() {
    await this.browser.close();
    assert.deepEqual(this.faults, [], "no page may have an error");
    assert.deepEqual(this.outside, [], "no page may ask for anything elsewhere");
  }
}

async function axeText() {
  const { readFile } = await import("node:fs/promises");
  return readFile(axeSource, "utf8");
}

/** Says something in the composer of a page, and waits until it stands in the conversation. */
export async function say(page, text) {
  const before = await page.locator("article.turn").count();
  await page.fill("#draft", text);
  await page.press("#draft", "Enter");
  if (text.startsWith("/")) return;
  await page.waitForFunction((before) => document.querySelectorAll("article.turn").length > before, before);
  // The composer is ready for the next one.
  await page.waitForFunction(() => document.querySelector("#draft").value === "");
}

/** Waits for the last turn to have ended, and gives its article. */
export async function lastTurn(page) {
  const turn = page.locator("article.turn").last();
  await page.waitForFunction(() => {
    const turns = [...document.querySelectorAll("article.turn")];
    return turns.length > 0 && turns.every((turn) => turn.dataset.state === "ended");
  });
  return turn;
}

export { assert };
