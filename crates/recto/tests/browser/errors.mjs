// A model that can't answer: the page says what happened and what to do, and tries again when told.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "Are you there?");
  let turn = await lastTurn(page);
  assert.match(await turn.locator(".block.error h3").innerText(), /401|key|refused/i);
  assert.match(await turn.locator(".block.error").innerText(), /Hint:/);
  await stage.picture(page, "error");
  await stage.accessible(page, "an error");
  await turn.getByRole("button", { name: "Try again" }).click();
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 2);
  turn = await lastTurn(page);
  assert.equal(await turn.locator(".reply").innerText(), "Here I am.");
  // A page of what is not there says so, in the same words as everything else.
  stage.expectRefusal("/sessions/99");
  await stage.go(page, "/sessions/99");
  assert.match(await page.innerText("main"), /99/);
  assert(await page.getByRole("link", { name: "To the conversations" }).isVisible());
}
