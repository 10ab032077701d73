// View context: from a reply as a dialog, by keys, as a page of its own, and the diff.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "How do I stop half way?");
  const turn = await lastTurn(page);
  const button = turn.locator(".view-context button");
  const dialog = page.locator("dialog.view");
  await loading(stage, page, button);
  await button.click();
  await dialog.locator("h1").waitFor();
  assert.match(await dialog.innerText(), /005 • tone/);
  assert.match(await dialog.innerText(), /\[Always\]/);
  assert.match(await dialog.locator("details.l-message pre").innerText(), /How do I stop half way\?/);
  await stage.accessible(page, "the dialog");
  await stage.picture(page, "context-dialog");
  // The reasons stand on hover and on focus.
  await dialog.locator(".item .name", { hasText: "tone" }).hover();
  await page.waitForSelector("dialog [role=tooltip]:visible");
  assert.match(await dialog.locator("[role=tooltip]:visible").innerText(), /always included/);
  // Keys: all parts, then one layer.
  await page.keyboard.press("f");
  assert.equal(await dialog.locator("details.part:not([open])").count(), 0);
  await page.keyboard.press("f");
  await page.keyboard.press("1");
  assert(await dialog.locator("#v-system").evaluate((part) => part.open));
  // Verify stays in the dialog.
  await dialog.getByRole("button", { name: "Verify" }).click();
  await dialog.locator(".verdict").waitFor();
  assert.match(await dialog.innerText(), /rebuilt from the record: identical to the [\d,]+ bytes sent/);
  // Esc closes, and the focus is where it was.
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog.view").open);
  assert(await button.evaluate((own) => own === document.activeElement));
  // Back closes it, Forward opens it again, and where it is closed nothing is left to go back to.
  const chat = page.url();
  await button.click();
  await dialog.locator("h1").waitFor();
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector("dialog.view").open);
  assert.equal(page.url(), chat);
  await page.goForward();
  await page.waitForFunction(() => document.querySelector("dialog.view").open);
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.waitForFunction(() => !history.state?.dialog);
  await draft(stage, page);
  await neighbours(stage, page);
  await asPage(stage, page);
}

/** While the server has not answered, the dialog is there and says that it loads. */
async function loading(stage, page, button) {
  const dialog = page.locator("dialog.view");
  let answer;
  const asked = new Promise((resolve) => (answer = resolve));
  await page.route("**/turns/1?fragment=1", async (route) => {
    await asked;
    await route.continue();
  });
  await button.click();
  await dialog.locator("[aria-busy=true] .ghost").waitFor();
  assert.match(await dialog.textContent(), /Loading the context/);
  assert.equal(await dialog.locator("h1").count(), 0);
  await stage.accessible(page, "the dialog that loads");
  await stage.picture(page, "context-loading");
  answer();
  await dialog.locator("h1").waitFor();
  assert.equal(await dialog.locator("[aria-busy], .ghost").count(), 0);
  await page.unroute("**/turns/1?fragment=1");
  await page.keyboard.press("Escape");
}

/** What would be sent for a text that is still being written; nothing is sent by looking. */
async function draft(stage, page) {
  await page.fill("#draft", "Which tone do I take?");
  await page.locator("#preview").click();
  const dialog = page.locator("dialog.view");
  await dialog.getByRole("heading", { name: "What would be sent" }).waitFor();
  assert.match(await dialog.innerText(), /Exact text as it would be sent/);
  assert.match(await dialog.locator("details.l-message pre").innerText(), /Which tone do I take\?/);
  assert(await dialog.getByText("Open as a page").isHidden());
  await stage.accessible(page, "the dialog of a draft");
  await stage.picture(page, "context-draft");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog.view").open);
  assert.equal(await page.inputValue("#draft"), "Which tone do I take?");
  assert.equal(await page.locator("article.turn").count(), 1);
}

/** A second turn: the keys lead from one to the other inside the dialog. */
async function neighbours(stage, page) {
  await say(page, "And then?");
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 2);
  const turn = await lastTurn(page);
  await turn.locator(".view-context button").click();
  const title = page.locator("dialog.view h1");
  await page.waitForFunction(() => /turn 2/.test(document.querySelector("dialog.view h1")?.textContent ?? ""));
  await page.keyboard.press("[");
  await page.waitForFunction(() => /turn 1/.test(document.querySelector("dialog.view h1")?.textContent ?? ""));
  assert.match(await title.innerText(), /Context of turn 1/);
  await page.keyboard.press("Escape");
}

/** The same with its own address, with and without scripts; the file, the diff and a replay. */
async function asPage(stage, page) {
  for (const javaScriptEnabled of [true, false]) {
    const own = await stage.tab({ javaScriptEnabled });
    await stage.go(own, "/turns/2");
    assert.match(await own.innerText("main"), /Against turn 1/);
    await own.locator("details.l-items summary").first().click();
    await own.locator("details.l-items .from a").first().click();
    assert.match(await own.innerText("ol.file .hit"), /Be kind\./);
    await own.goBack();
    await own.getByRole("link", { name: "Against turn 1" }).click();
    assert.match(await own.innerText("main"), /agree\s+[\d,]+ bytes/);
    await own.context().close();
  }
  await stage.go(page, "/turns/2");
  await page.getByRole("button", { name: "Replay" }).click();
  await page.waitForURL(/replay$/);
  assert.match(await page.innerText("main"), /As recorded[\s\S]*Now/);
  await looks(stage, ["/turns/2", "/turns/2/diff"], "context");
}

/** Dark and light, wide and narrow. */
export async function looks(stage, paths, name) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 360]) {
      const page = await stage.tab({ colorScheme, viewport: { width, height: 860 } });
      for (const [at, path] of paths.entries()) {
        await stage.go(page, path);
        const where = `${path} ${colorScheme} ${width}`;
        await stage.fits(page, where);
        await stage.accessible(page, where);
        await stage.picture(page, `${name}-${at}-${colorScheme}-${width}`);
      }
      await page.context().close();
    }
  }
}
