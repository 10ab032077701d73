// An edit replaces the message that was edited, and no other: where that is not the last one any more,
// what was typed is a message of its own.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "First.");
  await page.waitForURL(/\/sessions\/\d+$/);
  await lastTurn(page);
  // An edit that is one no longer is refused until the page knows; and at last the session is gone.
  const gone = ["preview", "states", "panel", "messages", "turns/1", "turns/2", "turns/3", "turns/4"];
  stage.expectRefusal("/stream", ...gone.map((path) => `/sessions/1/${path}`));
  await olderDraft(stage, page.url());
  await otherTab(stage, page);
  await takenBack(page);
  await deleted(stage, page);
}

/** A draft that was kept before drafts named the message that they replace is a message like any other. */
async function olderDraft(stage, address) {
  const page = await stage.tab();
  await page.goto(address);
  await page.evaluate(() => {
    const { person } = document.querySelector("form.composer").dataset;
    const draft = { text: "Half a word", delivery: "", edits: false, before: "" };
    localStorage.setItem(`recto-draft-${person}-${location.pathname.split("/").at(-1)}`, JSON.stringify(draft));
  });
  await page.reload();
  await page.waitForSelector("#meter svg");
  assert.equal(await page.inputValue("#draft"), "Half a word");
  await page.context().close();
}

/** Puts the last message into the composer, to be changed. */
async function edit(page, said) {
  await page.locator("article.turn").last().getByRole("button", { name: "Edit" }).click();
  await page.waitForFunction((said) => document.querySelector("#draft").value === said, said);
  assert(await page.isVisible("#editing"));
}

/** The edit has ended, and what was typed is there. */
async function ended(page, typed) {
  await page.waitForSelector("#edit-ended:visible");
  assert(await page.isHidden("#editing"));
  assert.equal(await page.inputValue("#draft"), typed);
  await page.press("#draft", "Enter");
  await page.waitForFunction(() => document.querySelector("#draft").value === "");
  assert(await page.isHidden("#edit-ended"));
}

/** Another tab says something meanwhile. */
async function otherTab(stage, page) {
  await edit(page, "First.");
  await page.fill("#draft", "First, in other words.");
  const other = stage.watch(await page.context().newPage());
  await other.goto(page.url());
  // Drafts are the browser's: this one is not sent from here.
  await stage.recto("chat", "--session", page.url().split("/").at(-1), "-m", "From elsewhere.");
  await ended(page, "First, in other words.");
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 3);
  await lastTurn(page);
  assert.equal(await page.locator("article.taken-back").count(), 0, "nothing was replaced");
  await other.close();
}

/** The message that is edited is taken back. */
async function takenBack(page) {
  await edit(page, "First, in other words.");
  await page.fill("#draft", "Third.");
  await page.getByRole("button", { name: "Take back" }).click();
  await ended(page, "Third.");
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 4);
  await lastTurn(page);
  assert.equal(await page.locator("article.taken-back").count(), 1, "the one that was taken back, alone");
}

/** In a session that is gone nothing can be done any more; what was typed stays. */
async function deleted(stage, page) {
  await page.fill("#draft", "Half a thou");
  await stage.recto("sessions", "delete", page.url().split("/").at(-1), "--yes");
  await page.waitForFunction(() => /was deleted/.test(document.querySelector("#answers").textContent));
  assert(await page.locator(".send").isDisabled());
  assert.equal(await page.locator("#turns form button:enabled").count(), 0);
  assert.equal(await page.inputValue("#draft"), "Half a thou");
}
