// The log-in: a wrong token, a good one, who one is, the way out; and a token that may only look.

import { assert, lastTurn, say } from "./support.mjs";

const token = async (stage, ...args) => /recto_[\w-]+/.exec(await stage.recto("token", "create", ...args))[0];

export async function story(stage) {
  const [own, reader] = [await token(stage, "phone"), await token(stage, "dashboard", "--read")];
  for (const colorScheme of ["light", "dark"]) {
    const page = await stage.tab({ colorScheme, viewport: { width: 360, height: 740 } });
    await stage.go(page, "/memories");
    await stage.fits(page, "the log-in");
    await stage.accessible(page, `the log-in, ${colorScheme}`);
    await stage.picture(page, `login-${colorScheme}-360`);
    await page.context().close();
  }
  const page = await stage.tab();
  await stage.go(page, "/memories");
  assert.match(page.url(), /\/login\?to=%2Fmemories$/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "token");
  stage.expectRefusal("/login");
  await logIn(page, "recto_wrong");
  assert.match(await page.innerText("[role=alert]"), /wrong, expired or revoked/);
  assert.equal(await page.getAttribute("#token", "aria-invalid"), "true");
  await stage.accessible(page, "a wrong token");
  await stage.picture(page, "login-wrong");
  await logIn(page, own);
  await page.waitForURL(/\/memories$/);
  assert.match(await page.innerText("header.top"), /logged in as phone/);
  await stage.go(page, "/");
  await say(page, "Hello from the phone.");
  await lastTurn(page);
  await stage.accessible(page, "somebody who is logged in");
  await stage.picture(page, "logged-in");
  await page.getByRole("button", { name: "Log out" }).click();
  await page.waitForURL(/\/login$/);
  await stage.go(page, "/");
  assert.match(page.url(), /\/login/, "nobody is logged in any more");
  await onlyLooks(stage, page, reader);
  await revoked(stage);
}

/** Whoever is let in no longer is told so, and their page asks for nothing more. */
async function revoked(stage) {
  const page = await stage.tab();
  await stage.go(page, "/login");
  await logIn(page, await token(stage, "tablet"));
  await page.waitForSelector("article.turn");
  await page.waitForFunction(() => !document.body.classList.contains("offline"));
  stage.expectRefusal("/sessions", "/stream", "/completions");
  await stage.recto("token", "revoke", "tablet");
  const told = page.locator("#answers .error");
  await told.waitFor();
  assert.match(await told.innerText(), /You are logged out\./);
  assert.equal(await page.evaluate(() => document.body.classList.contains("offline")), false, "it can be reached");
  let asked = 0;
  page.on("request", () => (asked += 1));
  await page.waitForTimeout(4_000);
  assert.equal(asked, 0, "nothing is asked for again and again");
  await stage.picture(page, "logged-out");
  await told.getByRole("link", { name: "Log in" }).click();
  await page.waitForURL(/\/login\?to=/);
}

/** Nobody types what can't be said: that is told before. */
async function onlyLooks(stage, page, reader) {
  await logIn(page, reader);
  await page.waitForSelector("article.turn");
  assert.match(await page.innerText("main"), /Your token may look, and say nothing/);
  for (const absent of ["#draft", "#add", ".again", "[name=remove]", "button:has-text('Archive')"]) {
    assert.equal(await page.locator(absent).count(), 0, absent);
  }
  await stage.accessible(page, "somebody who only looks");
  await page.getByRole("button", { name: "View context" }).click();
  await page.locator("dialog.view h1").waitFor();
}

async function logIn(page, secret) {
  await page.fill("#token", secret);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForLoadState();
}
