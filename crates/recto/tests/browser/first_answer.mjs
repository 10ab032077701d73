// First visit to first answer: an empty page, a message, its reply, and the same after a reload.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  let bytes = 0;
  page.on("requestfinished", async (request) => {
    bytes += (await request.sizes()).responseBodySize;
  });
  await stage.go(page, "/");
  await page.waitForLoadState("networkidle");
  assert(bytes > 0 && bytes < 100_000, `the first page takes ${bytes} bytes`);
  assert.match(await page.innerText(".welcome"), /View context/);
  await stage.picture(page, "welcome");
  await say(page, "How do I make tea?");
  await page.waitForURL(/\/sessions\/\d+$/);
  const turn = await lastTurn(page);
  assert.equal(await turn.locator(".reply li").count(), 2);
  assert.equal(await turn.locator(".reply strong").innerText(), "boil");
  assert.match(await turn.locator(".foot").innerText(), /tokens: .* fresh, .* cached/);
  const shown = await turn.innerText();
  await page.reload();
  assert.equal(await (await lastTurn(page)).innerText(), shown);
  assert.match(await page.innerText("#sessions"), /How do I make tea\?/);
  await stage.picture(page, "first-answer");
  // Without the page of the session: the newest one is there at the door.
  await stage.go(page, "/");
  assert.equal(await (await lastTurn(page)).innerText(), shown);
  await secondThoughts(stage, page);
}

/** The last exchange can be edited, sent again and taken back; a command answers in place. */
async function secondThoughts(stage, page) {
  await page.getByRole("button", { name: "Edit" }).click();
  await page.waitForFunction(() => document.querySelector("#draft").value === "How do I make tea?");
  assert(await page.isVisible("#editing"), "it says that the last message is replaced");
  await say(page, "How do I make coffee?");
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 2);
  await lastTurn(page);
  await page.waitForSelector("article.taken-back .words");
  assert.match(await page.innerText("article.taken-back"), /said otherwise, see turn 2/);
  await stage.accessible(page, "a turn that was taken back");
  await page.getByRole("button", { name: "Take back" }).click();
  await page.waitForFunction(() => document.querySelectorAll("article.taken-back").length === 2);
  await say(page, "/help");
  await page.waitForSelector("#answers dl");
  stage.expectRefusal("/sessions/1/messages");
  await say(page, "/nonsense");
  await page.waitForSelector("#answers .block.error");
  assert.match(await page.innerText("#answers"), /there is no command \/nonsense/);
}
