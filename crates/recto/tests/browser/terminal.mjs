// A turn that is begun in the terminal moves in the page, which nobody has to load anew.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "Hello from the page.");
  await lastTurn(page);
  const session = page.url().split("/").at(-1);
  await stage.recto("chat", "--session", session, "-m", "Hello from the terminal.");
  await page.waitForFunction(() => document.querySelectorAll("article.turn").length === 2);
  const turn = await lastTurn(page);
  assert.match(await turn.innerText(), /Hello from the terminal\./);
  assert.match(await turn.locator(".reply").innerText(), /terminal/);
  // Another session of the terminal comes up at the side.
  await stage.recto("chat", "--session", "elsewhere", "-m", "Something else.");
  await page.waitForFunction(() => /elsewhere/.test(document.querySelector("#sessions").textContent));
}
