// The page of items: a switch holds in the next turn; what would fit; a rule that is added and
// removed; memories.

import { assert, lastTurn, say } from "./support.mjs";
import { looks } from "./view_context.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "Hello.");
  await lastTurn(page);
  await addAndRemove(page);
  const own = await stage.tab();
  await stage.go(own, "/workspace");
  const row = own.locator("tr", { hasText: "lamps" });
  await row.getByRole("button", { name: "Always" }).click();
  await own.waitForURL(/#i-/);
  assert.equal(await row.getByRole("button", { name: "Always" }).getAttribute("aria-pressed"), "true");
  await backToDefault(own);
  // In another session: from this one a person has removed it.
  await stage.go(page, "/new");
  await say(page, "And now?");
  await page.waitForURL(/\/sessions\/\d+$/);
  await lastTurn(page);
  await stage.go(page, "/turns/last");
  assert.match(await page.locator('.item[data-item="lamps"]').innerText(), /\[Always\]/);
  await search(stage, own);
  await memories(stage, own);
  await looks(stage, ["/workspace?message=trim+the+wicks", "/memories", "/models"], "workspace");
}

/** What was set by itself says so, and can be taken back: a tool's mode, and that of all of a server's. */
async function backToDefault(page) {
  const pressed = (row, mode) => row.getByRole("button", { name: mode, exact: true }).getAttribute("aria-pressed");
  const tool = page.locator("tr:not(.server)", { has: page.locator('input[name=server][value="me"]') }).first();
  const rows = { "the server": page.locator("tr.server", { hasText: "me." }), "one of its tools": tool };
  for (const [which, row] of Object.entries(rows)) {
    assert.equal(await row.getByText("set in the config").count(), 0, which);
    await row.getByRole("button", { name: "Manual", exact: true }).click();
    await row.getByText("set in the config").waitFor();
    assert.equal(await pressed(row, "Manual"), "true", which);
    await row.getByRole("button", { name: "back to default" }).click();
    await row.getByText("set in the config").waitFor({ state: "detached" });
    assert.equal(await pressed(row, "Always"), "true", which);
  }
  const rule = page.locator("tr", { hasText: "tone" });
  assert.equal(await rule.getByText("set in the config").count(), 0, "what its own file says");
}

/** A rule that somebody puts into the session is on the next page, and gone from the one after. */
async function addAndRemove(page) {
  await say(page, "/add lamps");
  await page.waitForFunction(() => /lamps/.test(document.querySelector("#answers")?.textContent ?? ""));
  await say(page, "With it.");
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 2);
  await lastTurn(page);
  const shown = async () => {
    const turn = await lastTurn(page);
    await turn.locator(".view-context button").click();
    await page.locator("dialog.view h1").waitFor();
    const count = await page.locator('dialog .item[data-item="lamps"]').count();
    const text = count ? await page.locator('dialog .item[data-item="lamps"]').innerText() : "";
    await page.keyboard.press("Escape");
    // The step back in the history that comes with it would end a visit that begins meanwhile.
    await page.waitForFunction(() => !history.state?.dialog);
    return text;
  };
  assert.match(await shown(), /\[Manual\]/);
  const answered = await page.locator("#answers").textContent();
  await say(page, "/remove lamps");
  await page.waitForFunction((before) => {
    const now = document.querySelector("#answers")?.textContent ?? "";
    return /lamps/.test(now) && now !== before;
  }, answered);
  await say(page, "Without it.");
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 3);
  await lastTurn(page);
  assert.equal(await shown(), "");
  await page.goto(page.url());
}

async function search(stage, page) {
  await stage.go(page, "/workspace");
  await page.fill("#fit", "trim the wicks");
  await page.press("#fit", "Enter");
  await page.waitForSelector(".fit tbody tr");
  assert.match(await page.innerText(".fit"), /lamps/);
}

async function memories(stage, page) {
  await stage.go(page, "/memories");
  await page.fill("#new-memory", "<b>Mara</b> keeps bees");
  await page.getByLabel("Important").first().check();
  await page.getByRole("button", { name: "Remember" }).click();
  const memory = page.locator(".memory", { hasText: "keeps bees" });
  assert.match(await memory.innerText(), /<b>Mara<\/b> keeps bees/);
  assert.match(await memory.innerText(), /important/);
  await memory.getByText("Edit").click();
  await memory.getByLabel("Text").fill("Mara keeps goats");
  await memory.getByRole("button", { name: "Save" }).click();
  const edited = page.locator(".memory", { hasText: "keeps goats" });
  await edited.first().getByRole("button", { name: "Forget" }).click();
  await page.getByText("1 forgotten").waitFor();
  // The address leads to it, and browsers unfold what holds that place.
  await page.locator("#forgotten").evaluate((fold) => (fold.open = true));
  await page.getByRole("button", { name: "Restore" }).click();
  await page.waitForFunction(() => !document.querySelector("#forgotten"));
  assert.match(await page.innerText("ul.memories"), /Mara keeps goats/);
}
