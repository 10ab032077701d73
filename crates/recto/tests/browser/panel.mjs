// What is in the session, at its side: by the keyboard alone, and in two tabs at once.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "Hello.");
  await page.waitForURL(/\/sessions\/\d+$/);
  await lastTurn(page);
  const other = stage.watch(await page.context().newPage());
  await other.goto(page.url());
  await other.waitForSelector("article.turn[data-state=ended]");
  await removeByKeyboard(page, other);
  await addAndMistype(stage, page, other);
  await archiveAndBack(stage, page);
}

/** Who takes one item out after the other stays where they are; the other tab has it without a turn. */
async function removeByKeyboard(page, other) {
  // Somebody in the other tab stands on an item that stays.
  await remove(other, "tone").focus();
  await remove(page, "lamps").focus();
  await page.keyboard.press("Enter");
  await isGone(page, "lamps");
  assert.equal(await focused(page), "Remove wicks from this session", "the next one");
  await page.keyboard.press("Enter");
  for (const tab of [page, other]) await isGone(tab, "wicks");
  assert.equal(await focused(other), "Remove tone from this session");
  for (let left = await page.locator("#in-session button[name=remove]").count(); left > 0; left -= 1) {
    const name = /^Remove (.*) from this session$/.exec(await focused(page))?.[1];
    assert(name, `the next one, or the one before it where there is none: ${await focused(page)}`);
    await page.keyboard.press("Enter");
    await isGone(page, name);
  }
  assert.equal(await focused(page), "add", "nothing is left to remove");
  assert.equal(await page.locator("article.turn").count(), 1);
}

/** What is added comes in the other tab, too; a name that nothing has is told below the field's ring. */
async function addAndMistype(stage, page, other) {
  await page.fill("#add", "rule:tone");
  await page.keyboard.press("Enter");
  for (const tab of [page, other]) await remove(tab, "tone").waitFor();
  stage.expectRefusal(`${new URL(page.url()).pathname}/items`);
  await page.fill("#add", "nothing-of-this-name");
  await page.keyboard.press("Enter");
  const problem = page.locator("#in-session .field-problem");
  await problem.waitFor();
  const [field, words] = [await page.locator("#add").boundingBox(), await problem.boundingBox()];
  const padding = await problem.evaluate((own) => parseFloat(getComputedStyle(own).paddingTop));
  assert(words.y + padding >= field.y + field.height + 4, "clear of the ring around the field");
  await page.fill("#add", "");
}

/** A session that is put away stays open, says so, and has the way back. */
async function archiveAndBack(stage, page) {
  const address = page.url();
  await page.getByRole("button", { name: "Archive this session" }).click();
  await page.getByText("This session is in the archive.").waitFor();
  assert.equal(page.url(), address);
  await stage.accessible(page, "a session in the archive");
  await stage.picture(page, "put-away");
  await page.getByRole("button", { name: "Take it out again" }).click();
  await page.waitForFunction(() => !document.querySelector(".put-away"));
  assert.equal(page.url(), address);
}

function focused(page) {
  return page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.id);
}

function remove(page, name) {
  return page.locator("#in-session").getByRole("button", { name: `Remove ${name} from this session` });
}

async function isGone(page, name) {
  await remove(page, name).waitFor({ state: "detached" });
}
