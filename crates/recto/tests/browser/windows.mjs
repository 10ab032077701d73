// Several windows of one browser: each has one stream, so that none keeps the others waiting; one that
// nobody sees has none, and catches up when it is seen again.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const first = await stage.tab();
  const open = countStreams(first.context());
  await stage.go(first, "/");
  await say(first, "Hello.");
  await first.waitForURL(/\/sessions\/\d+$/);
  await lastTurn(first);
  const windows = [first];
  while (windows.length < 5) {
    const page = stage.watch(await first.context().newPage());
    await page.goto(first.url());
    await page.waitForSelector("article.turn");
    windows.push(page);
  }
  await first.waitForTimeout(300);
  assert.equal(open(), 5, "one stream for each window");
  await say(windows.at(-1), "From the fifth.");
  for (const page of windows) {
    await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 2);
    assert.match(await (await lastTurn(page)).innerText(), /From the fifth/);
  }
  // A session of another program stands in all lists.
  await stage.recto("chat", "--session", "elsewhere", "-m", "Something else.");
  for (const page of windows) {
    await page.waitForFunction(() => /elsewhere/.test(document.querySelector("#sessions").textContent));
  }
  await unseen(stage, first, windows[1], open);
}

/** A tab in the background has no stream; in front again it shows what it has missed. */
async function unseen(stage, page, other, open) {
  await setHidden(page, true);
  await other.waitForTimeout(300);
  assert.equal(open(), 4, "an unseen tab listens to nothing");
  await say(other, "While you were away.");
  await lastTurn(other);
  const session = page.url().split("/").at(-1);
  for (const said of ["And in a terminal.", "And once more."]) {
    await stage.recto("chat", "--session", session, "-m", said);
  }
  assert.equal(await page.locator("article.turn").count(), 2);
  await setHidden(page, false);
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 5);
  assert.match(await (await lastTurn(page)).innerText(), /And once more/);
  const said = await page.locator("article.turn").allInnerTexts();
  assert.match(said[2], /While you were away/);
  assert.match(said[3], /And in a terminal/);
  assert.equal(open(), 5);
}

async function setHidden(page, hidden) {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
}

/** How many streams of events are open in a browser. */
function countStreams(context) {
  const streams = new Set();
  const ended = (request) => streams.delete(request);
  context.on("request", (request) => {
    if (request.resourceType() === "eventsource") streams.add(request);
  });
  context.on("requestfinished", ended);
  context.on("requestfailed", ended);
  return () => streams.size;
}
