// Messages that wait: each Stop is about its own turn, a mode is what the panel says, and of two
// questions each is answered by itself.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  // A command begins no session, and is answered where it was typed.
  await page.fill("#draft", "/help");
  await page.press("#draft", "Enter");
  await page.waitForSelector("#answers dl");
  stage.expectRefusal("/sessions");
  await page.fill("#draft", "/model m");
  await page.press("#draft", "Enter");
  await page.waitForSelector("#answers .error");
  assert.match(await page.innerText("#answers"), /is about a session, and none has begun yet/);
  assert.match(await page.innerText("#sessions"), /No session yet/);
  await waitingMessages(stage, page);
  await usualMode(page);
  await twoQuestions(page);
  await archive(page);
}

async function waitingMessages(stage, page) {
  await say(page, "First.");
  await page.waitForFunction(() => /slow/.test(document.querySelector(".reply.live")?.textContent ?? ""));
  await page.waitForFunction(() => /writing/.test(document.querySelector(".stands")?.textContent ?? ""));
  await say(page, "Second.");
  await say(page, "Third.");
  await page.locator("article.turn").nth(2).getByRole("button", { name: "Don't send" }).click();
  await page.waitForFunction(() => /will not be sent/.test(document.querySelector("#turn-3 .stands")?.textContent ?? ""));
  await stage.picture(page, "queue");
  // The first still writes, and the second still waits.
  assert.deepEqual(await states(page), ["running", "queued", "queued"]);
  await page.locator("#turn-1 button.stop").click();
  await lastTurn(page);
  assert.match(await page.innerText("#turn-1"), /\nstopped\n/);
  assert.equal(await page.locator("#turn-1 .block.error").count(), 0, "who stops a turn is told of no failure");
  assert.match(await page.innerText("#turn-2 .reply"), /The second reply\./);
  assert.match(await page.innerText("#turn-3"), /stopped before it was sent/);
  await page.locator("#turn-2").getByRole("button", { name: "Take back" }).waitFor();
  // What was not sent stands there after a reload, too, and can be written anew.
  await page.reload();
  await page.locator("#turn-3").getByRole("button", { name: "Edit" }).click();
  await page.waitForFunction(() => document.querySelector("#draft").value === "Third.");
  await page.locator("#turn-2").getByRole("button", { name: "Take back" }).waitFor();
}

/** How the turns of the page stand. */
function states(page) {
  return page.evaluate(() => [...document.querySelectorAll("article.turn")].map((turn) => turn.dataset.state));
}

async function usualMode(page) {
  await page.fill("#draft", "What would be sent?");
  await page.waitForSelector("#meter svg");
  assert.doesNotMatch(await page.innerText("#meter"), /asked for by the person/);
  await page.selectOption("#s-context_mode", "minimal");
  await page.waitForSelector("input[name=mode][value=minimal]:checked");
  await page.waitForFunction(() => /sent as minimal/.test(document.querySelector("#meter").textContent));
  await page.selectOption("#s-context_mode", "default");
  await page.waitForSelector("input[name=mode][value=full]:checked");
  await page.fill("#draft", "");
}

async function twoQuestions(page) {
  await say(page, "Write both.");
  await page.waitForFunction(() => document.querySelectorAll(".ask").length === 2);
  // What would turn the order of a name is written out, in the card and in the line of the call.
  assert(!(await page.content()).includes("\u202e"));
  assert.match(await page.innerText(".calls"), /a\\u\{202e\}\.txt/);
  await page.locator(".ask").first().getByRole("button", { name: "Deny" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".ask").length === 1);
  // The one that is left is answered by its key where it has the focus, and nowhere else.
  await page.locator("#scroll").focus();
  await page.keyboard.press("d");
  assert.equal(await page.locator(".ask").count(), 1);
  await page.locator(".ask").focus();
  await page.keyboard.press("d");
  await lastTurn(page);
  await page.keyboard.press("?");
  await page.waitForSelector("#keys:popover-open");
  await page.keyboard.press("Escape");
}

async function archive(page) {
  const address = page.url();
  await page.getByRole("button", { name: "Archive this session" }).click();
  await page.getByText("This session is in the archive.").waitFor();
  await page.getByRole("link", { name: "Archive", exact: true }).click();
  await page.getByRole("button", { name: "Take out of the archive" }).click();
  await page.waitForURL(address);
}
