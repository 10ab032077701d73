// A page that is loaded in the middle of a reply shows all of it, and goes on; two tabs show the
// same; stopping in one stops in both.

import { assert, lastTurn, say } from "./support.mjs";

const words = (page) => page.locator(".reply.live").innerText();

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "Count slowly.");
  await page.waitForFunction(() => /three/.test(document.querySelector(".reply.live")?.textContent ?? ""));
  await stage.picture(page, "streaming");
  await page.reload();
  await page.waitForFunction(() => /one two three/.test(document.querySelector(".reply.live")?.textContent ?? ""));
  const second = await stage.watch(await page.context().newPage());
  await second.goto(page.url());
  await second.waitForFunction(() => /one two three four five six/.test(document.querySelector(".reply.live")?.textContent ?? ""));
  assert.match(await words(second), /^one two three/);
  // It is drawn as it comes.
  await page.waitForFunction(() => document.querySelector(".reply.live strong")?.textContent === "three");
  const turn = await lastTurn(page);
  const whole = await turn.locator(".reply").innerText();
  assert.equal(whole.split(/\s+/).filter((word) => word === "one").length, 1, whole);
  assert.match(whole, /forty$/);
  assert.equal(await (await lastTurn(second)).locator(".reply").innerText(), whole);
  // What is said in one tab is there in the other.
  await say(second, "Once more.");
  await page.waitForFunction(() => /two/.test(document.querySelector(".reply.live")?.textContent ?? ""));
  await page.locator("#scroll").focus();
  await page.keyboard.press("Escape");
  assert.match(await (await lastTurn(second)).innerText(), /stopped/);
  assert.match(await (await lastTurn(page)).innerText(), /stopped/);
}
