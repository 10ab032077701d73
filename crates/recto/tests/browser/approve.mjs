// A tool asks: the question shows exactly what would be done, and each answer does what it says.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  await say(page, "Write it down, please.");
  await page.waitForSelector(".ask");
  assert.match(await page.innerText(".ask h3"), /write_file wants to create a file/);
  assert.match(await page.innerText(".ask .lines"), /\+two <b>lines<\/b>/);
  await page.waitForSelector("#sessions [aria-current] .mark");
  await page.waitForSelector("#pages .mark");
  const way = page.locator("#pages").getByRole("link", { name: /Approvals/ });
  assert.equal(await way.getAttribute("href"), "/sessions/1#turn-1");
  await stage.picture(page, "question");
  await stage.accessible(page, "a question");
  await page.getByRole("button", { name: "Deny" }).click();
  let turn = await lastTurn(page);
  assert.match(await turn.locator(".call summary").innerText(), /write_file.*denied/s);
  assert.equal(await page.locator(".ask").count(), 0);
  // What waits is no longer counted, wherever it was.
  await page.waitForFunction(() => document.querySelectorAll("#pages .mark, #sessions .mark").length === 0);
  await say(page, "Then write it now.");
  await page.waitForSelector(".ask");
  // By the keyboard alone: `a` allows, once the question was gone to. Typed elsewhere it does not.
  await page.locator("article.turn").last().focus();
  await page.keyboard.type("stop, wait");
  await page.waitForTimeout(300);
  assert.equal(await page.locator(".ask").count(), 1);
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  turn = await lastTurn(page);
  assert.match(await turn.locator(".call summary").innerText(), /allowed/);
  await turn.locator(".call summary").click();
  assert.match(await turn.locator(".call pre").first().innerText(), /note\.txt/);
  await page.waitForFunction(() => /2 turns/.test(document.querySelector("#session-facts").textContent));
  await stage.picture(page, "allowed");
  await sameTokens(stage, turn, page);
  await forThisSession(stage, page);
}

/** Under the reply stands what View context opens with, and what the chart draws: of the last request. */
async function sameTokens(stage, turn, page) {
  const foot = await turn.locator(".foot").innerText();
  const [, tokens, fresh, cached] = /([\d,]+) tokens: ([\d,]+) fresh, ([\d,]+)/.exec(foot);
  const [, seconds] = /first token ([\d.]+) s/.exec(foot);
  assert.match(foot, /2 requests/);
  await turn.locator(".view-context button").click();
  await page.locator("dialog.view .sum").waitFor();
  const sum = await page.locator("dialog.view .sum").innerText();
  assert(sum.startsWith(`${tokens} of `) && sum.includes(`${fresh} fresh`), `${tokens}, ${fresh}: ${sum}`);
  assert(sum.includes(`first token after ${seconds} s`), `${seconds}: ${sum}`);
  await page.keyboard.press("Escape");
  const chart = await stage.tab();
  await stage.go(chart, "/sessions/1/chart");
  await chart.getByText("As a table").click();
  const cells = await chart.locator("tr", { has: chart.locator("a[href='/turns/2']") }).locator("td").allInnerTexts();
  assert.deepEqual(cells.slice(0, 3), ["2", tokens, cached]);
  await chart.context().close();
}

/** What is allowed for the session is asked once, and not in another. */
async function forThisSession(stage, page) {
  await say(page, "Two more, please.");
  await page.waitForSelector(".ask");
  await page.locator("article.turn").last().focus();
  await page.keyboard.press("j");
  await page.keyboard.press("s");
  let turn = await lastTurn(page);
  assert.match(await turn.locator(".call summary").first().innerText(), /write_file.*allowed/s);
  // The second call of the same turn, and a call of the next one.
  assert.equal(await turn.locator(".call").count(), 2);
  await say(page, "And the last.");
  turn = await lastTurn(page);
  assert.equal(await turn.locator(".call").count(), 1);
  assert.equal(await page.locator(".ask").count(), 0);
  await stage.go(page, "/new");
  await say(page, "Here, too.");
  await page.waitForSelector(".ask");
  await page.getByRole("button", { name: "Deny" }).click();
  await lastTurn(page);
}
