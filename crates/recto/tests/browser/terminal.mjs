// A turn that is begun in the terminal moves in the page, which nobody has to load anew.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "Hello from the page.");
  await lastTurn(page);
  const session = page.url().split("/").at(-1);
  await stage.recto("chat", "--session", session, "-m", "Hello from the terminal.");
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 2);
  const turn = await lastTurn(page);
  assert.match(await turn.innerText(), /Hello from the terminal\./);
  assert.match(await turn.locator(".reply").innerText(), /terminal/);
  // Another session of the terminal comes up at the side.
  await stage.recto("chat", "--session", "elsewhere", "-m", "Something else.");
  await page.waitForFunction(() => /elsewhere/.test(document.querySelector("#sessions").textContent));
  await inOrder(stage, page, session);
  await takenBack(stage, page, session);
}

/** What is taken back in the terminal is struck out in the page, and the turn before it is the last again. */
async function takenBack(stage, page, session) {
  await stage.recto("chat", "--session", session, "-m", "/undo");
  await page.waitForSelector("article.taken-back .words");
  assert.match(await page.innerText("article.taken-back"), /Said second\./);
  await page.waitForSelector("article.turn:nth-last-of-type(2) .again");
}

/** A turn of the terminal that is heard of behind one of the page still stands before it. */
async function inOrder(stage, page, session) {
  const before = await page.locator("article.turn").count();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const next = 4; // two turns here, and one of the session elsewhere
  await page.route(new RegExp(`/turns/${next}$`), async (route) => {
    await held;
    await route.continue();
  });
  await stage.recto("chat", "--session", session, "-m", "Said first.");
  await say(page, "Said second.");
  release();
  await page.waitForFunction((count) => document.querySelectorAll("article.turn").length === count, before + 2);
  const order = await page.evaluate(() => [...document.querySelectorAll("article.turn")].map((turn) => Number(turn.dataset.turn)));
  assert.deepEqual(order, [1, 2, next, next + 1]);
}
