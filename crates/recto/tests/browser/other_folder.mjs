// A session that is about another folder can be read, and says before one types how it goes on. A path
// that leads nowhere says so.

import { join } from "node:path";
import { assert } from "./support.mjs";

export async function story(stage) {
  const folder = join(process.env.RECTO_HOME, "bridge-work");
  await stage.recto("--workspace", folder, "chat", "--session", "bridge", "-m", "Begun elsewhere.");
  for (const javaScriptEnabled of [true, false]) {
    const page = await stage.tab({ javaScriptEnabled });
    await stage.go(page, "/");
    assert.match(await page.innerText("article.turn"), /Begun elsewhere/);
    const told = await page.innerText(".closed");
    assert.match(told, /about another folder: .*bridge-work/);
    assert.match(told, /recto chat --session bridge/);
    assert.equal(await page.locator("#draft, .again").count(), 0, "nothing to type into");
    // The server's own items are none of its.
    assert.match(await page.innerText("#in-session"), /items are those of its own folder/);
    assert.equal(await page.locator("#in-session .item, #add").count(), 0);
    await stage.picture(page, "other-folder");
    if (javaScriptEnabled) await stage.accessible(page, "a session of another folder");
    await page.getByRole("link", { name: "New session here" }).click();
    await page.waitForSelector("#draft");
    await page.context().close();
  }
  const page = await stage.tab();
  // It moves here, too.
  await stage.go(page, "/");
  await stage.recto("chat", "--session", "bridge", "-m", "And on.");
  await page.waitForFunction(() => document.querySelectorAll("article.turn[data-state=ended]").length === 2);
  await nowhere(stage, page);
}

async function nowhere(stage, page) {
  for (const path of ["/nowhere", "/sessions/99", "/turns/99"]) {
    stage.expectRefusal(path);
    await stage.go(page, path);
    assert.equal(await page.innerText("h1"), "Not found", path);
    await stage.accessible(page, path);
  }
  await stage.picture(page, "not-found");
  await page.getByRole("link", { name: "To the conversations" }).click();
  await page.waitForSelector("article.turn");
}
