// Names as long as programs write them: no page is wider than its window, whatever is unfolded.

import { assert, lastTurn, say } from "./support.mjs";

const NAME = "a_rather_long_rule_name_that_goes_on_and_on_and_never_breaks";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "When are the lamps trimmed?");
  await page.waitForURL(/\/sessions\/\d+$/);
  await lastTurn(page);
  await say(page, "And the wicks?");
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 2);
  await lastTurn(page);
  const session = new URL(page.url()).pathname;
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 860 });
    for (const path of ["/turns/2", "/turns/2/diff", `${session}/chart`, "/workspace?message=lamps", "/models", session]) {
      await stage.go(page, path);
      await unfold(page);
      await stage.fits(page, `${path} at ${width}`);
    }
    await stage.go(page, "/turns/2");
    await unfold(page);
    const refused = page.locator("details", { hasText: "Search did not take" }).locator("td", { hasText: NAME });
    assert((await refused.count()) > 0, "a long name stands among what search did not take");
    await stage.picture(page, `long-names-${width}`);
  }
  await lists(stage, page, session);
}

/** The list behind `@` keeps a long name's mode in sight, and says that there is more of the name. */
async function lists(stage, page, session) {
  await stage.go(page, session);
  await page.focus("#draft");
  await page.keyboard.type("@a_rather");
  const row = page.locator("#mentions li").first();
  await row.waitFor();
  const inside = await row.evaluate((row) => {
    const [name, badge] = [row.querySelector("code"), row.querySelector(".badge")];
    const edge = row.getBoundingClientRect().right;
    return badge.getBoundingClientRect().right <= edge && name.getBoundingClientRect().right <= badge.getBoundingClientRect().left;
  });
  assert(inside, "name and mode stand beside each other inside of the row");
  await stage.picture(page, "long-names-mention");
  await page.fill("#draft", "");
}

async function unfold(page) {
  await page.evaluate(() => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
  });
}
