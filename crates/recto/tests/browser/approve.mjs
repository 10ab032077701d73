// A tool asks: the question shows exactly what would be done, and each answer does what it says.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "Write it down, please.");
  await page.waitForSelector(".ask");
  assert.match(await page.innerText(".ask h3"), /write_file wants to write a file/);
  assert.match(await page.innerText(".ask .lines"), /\+two <b>lines<\/b>/);
  await page.waitForSelector("#sessions [aria-current] .mark");
  await stage.picture(page, "question");
  await stage.accessible(page, "a question");
  await page.getByRole("button", { name: "Deny" }).click();
  let turn = await lastTurn(page);
  assert.match(await turn.locator(".call summary").innerText(), /write_file.*denied/s);
  assert.equal(await page.locator(".ask").count(), 0);
  await say(page, "Then write it now.");
  await page.waitForSelector(".ask");
  // By the keyboard alone: the turn is focused, and `a` allows.
  await page.locator("article.turn").last().focus();
  await page.keyboard.press("a");
  turn = await lastTurn(page);
  assert.match(await turn.locator(".call summary").innerText(), /allowed/);
  await turn.locator(".call summary").click();
  assert.match(await turn.locator(".call pre").first().innerText(), /note\.txt/);
  await stage.picture(page, "allowed");
}
