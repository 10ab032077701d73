// What a person does not mean does not happen: Esc leaves a field before it stops anything, and stops
// nothing that waits for a person; half a word adds no item; what was told of a turn stays.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await fieldsAreLeft(page);
  await questionsStay(stage, page);
  await itemsAreFound(stage, page);
  await noticesStay(stage, page);
  await endIsForgotten(stage, page);
}

const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.className);

/** How the last turn stands. */
const state = (page) => page.locator("article.turn").last().getAttribute("data-state");

async function fieldsAreLeft(page) {
  await say(page, "Count slowly.");
  await page.waitForFunction(() => /slow/.test(document.querySelector(".reply.live")?.textContent ?? ""));
  assert.match(await page.innerText("button.stop"), /Stop\s+Esc/);
  for (const field of ["#add", "#s-name"]) {
    await page.focus(field);
    await page.keyboard.type("half a wo");
    await page.keyboard.press("Escape");
    assert.equal(`#${await focused(page)}` === field, false, `${field} is left`);
    assert.equal(await page.inputValue(field), "", "with what was begun there");
    assert.equal(await state(page), "running");
  }
  await page.focus("#draft");
  await page.keyboard.press("Escape");
  assert.match(await (await lastTurn(page)).innerText(), /stopped/);
  assert.notEqual(await page.innerText("h1"), "half a wo");
}

async function questionsStay(stage, page) {
  await say(page, "Write it down.");
  await page.waitForSelector(".ask");
  assert.match(await page.innerText(".ask h3"), /write_file wants to create a file/);
  assert.doesNotMatch(await page.innerText("button.stop"), /Esc/);
  await page.focus("#draft");
  await page.keyboard.press("Escape");
  assert.match(await focused(page), /\bask\b/);
  await page.keyboard.press("Escape");
  assert.equal(await state(page), "waiting");
  await stage.picture(page, "asked");
  await page.keyboard.press("a");
  assert.match(await (await lastTurn(page)).innerText(), /allowed/);
}

async function itemsAreFound(stage, page) {
  await page.fill("#add", "zzz");
  await page.locator("#scroll").focus();
  await page.waitForTimeout(300);
  assert.equal(await page.locator(".field-problem").count(), 0, "half a word is not sent");
  stage.expectRefusal("/sessions/1/items");
  await page.fill("#add", "zzz");
  await page.press("#add", "Enter");
  await page.waitForSelector(".field-problem");
  await page.fill("#add", "TON");
  assert.equal(await page.locator(".field-problem").count(), 0, "another word is not what was wrong");
  await page.press("#add", "Enter");
  await page.waitForFunction(() => /tone/.test(document.querySelector("#in-session ul")?.textContent ?? ""));
}

async function noticesStay(stage, page) {
  await say(page, "Follow @rule:nothere, please ");
  const told = async () => (await lastTurn(page)).locator(".notices p").allInnerTexts();
  await page.waitForFunction(() => /nothere/.test([...document.querySelectorAll(".notices")].at(-1)?.textContent ?? ""));
  const notices = ["there is no rule nothere, so nothing was added to the session"];
  assert.deepEqual(await told(), notices);
  await stage.picture(page, "notices");
  await stage.accessible(page, "notices");
  await page.reload();
  assert.deepEqual(await told(), notices);
}

/** That a server ends is no longer so once one answers again. */
async function endIsForgotten(stage, page) {
  const problem = { title: "Recto is shutting down", code: "shutting_down", status: 503 };
  await page.route("**/messages", (route) => route.fulfill({ status: 503, json: problem }), { times: 1 });
  await page.fill("#draft", "Are you there?");
  await page.press("#draft", "Enter");
  await page.waitForSelector("#answers .error");
  assert.match(await page.innerText("#answers"), /shutting down/);
  await page.evaluate(() => ["pagehide", "pageshow"].forEach((name) => dispatchEvent(new Event(name))));
  await page.waitForFunction(() => !document.querySelector("#answers .error"));
  // The browser tells of the status, too.
  stage.faults = stage.faults.filter((fault) => !/status of 503/.test(fault));
}
