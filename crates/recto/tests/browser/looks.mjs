// Dark and light, wide and narrow: nothing is cut off, and axe-core finds no serious fault.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const first = await stage.tab();
  await stage.go(first, "/");
  await say(first, "Show me everything.");
  await lastTurn(first);
  await say(first, "And a file, please.");
  await first.waitForSelector(".ask");
  const address = first.url();
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 360]) {
      const page = await stage.tab({ colorScheme, viewport: { width, height: 860 } });
      await page.goto(address);
      await page.waitForSelector("article.turn .foot");
      const name = `${colorScheme} ${width}`;
      await stage.picture(page, `chat-${colorScheme}-${width}`);
      await stage.fits(page, name);
      await stage.accessible(page, name);
      if (width === 360) await drawers(stage, page, colorScheme);
      await page.context().close();
    }
  }
  await withoutScripts(stage, address);
}

/** On a phone, sessions and the panel are drawers. */
async function drawers(stage, page, colorScheme) {
  await page.getByRole("button", { name: "Sessions" }).click();
  await page.waitForSelector("#sessions:popover-open");
  await stage.picture(page, `sessions-${colorScheme}-360`);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "In this session" }).click();
  await page.waitForSelector("#in-session:popover-open");
  await stage.picture(page, `panel-${colorScheme}-360`);
  await stage.fits(page, `panel ${colorScheme}`);
  await page.keyboard.press("Escape");
}

/** Without scripts everything can be read, a question answered and a message sent. */
async function withoutScripts(stage, address) {
  const page = await stage.tab({ javaScriptEnabled: false });
  await page.goto(address);
  assert.match(await page.innerText("article.turn"), /Show me everything/);
  await page.getByRole("button", { name: "Allow once" }).click();
  await page.waitForLoadState();
  await page.fill("#draft", "Said by a form.");
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForLoadState();
  assert.match(await page.innerText("#turns"), /Said by a form\./);
  await page.fill("#draft", "/model");
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForLoadState();
  assert.match(await page.innerText("#answers"), /Models: m/);
  stage.expectRefusal(new URL(`${address}/messages`).pathname);
  await page.fill("#draft", "/nonsense");
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForLoadState();
  assert.match(await page.innerText("main"), /there is no command/);
}
