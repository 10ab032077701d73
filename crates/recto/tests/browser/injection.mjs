// What people, models, tools and names say stays text, wherever it stands.

import { assert, lastTurn, say } from "./support.mjs";

const ATTACK = `<img src=x onerror="alert(1)"><script>alert(2)</script>`;

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, ATTACK);
  const turn = await lastTurn(page);
  assert(await turn.locator(".said").innerText().then((said) => said.includes(ATTACK)));
  assert(await turn.locator(".reply").innerText().then((said) => said.includes("<script>alert(3)</script>")));
  assert.equal(await turn.locator(".reply a[href^=javascript]").count(), 0);
  // Everything again as the server draws it at once.
  await page.reload();
  await lastTurn(page);
  await say(page, "Read the file.");
  await lastTurn(page);
  assert.match(await page.locator(".call").last().textContent(), /<script>alert\(4\)<\/script>/);
  // The name of a session, at the side and above the conversation.
  await page.fill("#s-name", "<b onmouseover=alert(5)>x</b>");
  await page.press("#s-name", "Enter");
  await page.waitForFunction(() => document.querySelector("h1").textContent.includes("<b") || document.querySelector("#answers .error"));
  // The name of a rule, in the panel and while one types.
  assert.match(await page.locator("#in-session").textContent(), /<i>rule<\/i>/);
  await page.fill("#draft", "");
  await page.locator("#draft").pressSequentially("@rule:");
  await page.waitForSelector("#mentions li");
  assert.match(await page.innerText("#mentions"), /<i>rule<\/i>/);
  const found = await page.evaluate(() => document.querySelectorAll("main img, main script, aside i, main b[onmouseover]").length);
  assert.equal(found, 0, "no element was made of a text");
  await fileNames(stage, page);
}

/** A file whose own name is markup: over the conversation, as a page, among the items, and itself. */
async function fileNames(stage, page) {
  const name = `<img src=x onerror=alert(6)> "q" 'p'`;
  const made = () => page.evaluate(() => document.querySelectorAll("img, script:not([src])").length);
  await page.locator("article.turn").first().locator(".view-context button").click();
  await page.locator("dialog.view .item .name", { hasText: name }).waitFor();
  assert.equal(await made(), 0, "the dialog");
  for (const path of ["/turns/1", "/workspace"]) {
    await stage.go(page, path);
    assert((await page.innerText("main")).includes(name), path);
    assert.equal(await made(), 0, path);
  }
  await page.getByRole("link", { name }).first().click();
  await page.locator("ol.file").waitFor();
  assert((await page.innerText("main")).includes(`${name}.md`));
  assert.equal(await made(), 0, "the file");
}
