// The keyboard alone, the panel, and what can be named while one types.

import { assert, lastTurn, say } from "./support.mjs";

export async function story(stage) {
  const page = await stage.tab();
  await stage.go(page, "/");
  // What is typed at once is a message. Tab leads back past everything to the link over it all, which
  // leads to the conversation.
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.className);
  assert.equal(await focused(), "draft");
  const visited = [];
  for (let step = 0; step < 40 && visited.at(-1) !== "skip"; step += 1) {
    await page.keyboard.press("Shift+Tab");
    visited.push(await focused());
  }
  assert.equal(visited.at(-1), "skip", visited.join(", "));
  // A single key, outside of fields, leads to the composer again; Esc leaves it.
  await page.keyboard.press("/");
  assert.equal(await focused(), "draft");
  await page.keyboard.press("Escape");
  assert.notEqual(await focused(), "draft");
  await page.keyboard.press("/");
  await page.keyboard.type("First");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("message");
  await page.keyboard.press("Enter");
  await page.waitForURL(/sessions/);
  assert.match(await (await lastTurn(page)).locator(".words").innerText(), /First\nmessage/);
  await say(page, "Second");
  await lastTurn(page);
  await page.locator("#scroll").focus();
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  assert.equal(await page.evaluate(() => document.activeElement.id), "turn-1");
  // View context is that of the turn that one stands on, and leads back there.
  await page.keyboard.press("c");
  await page.locator("dialog.view h1", { hasText: "Context of turn 1" }).waitFor();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog.view").open);
  assert.equal(await page.evaluate(() => document.activeElement.id), "turn-1");
  await mentions(page);
  await panel(stage, page);
  await enterTwice(page);
  await editAndDraft(stage, page);
}

/** Enter that is pressed again while the message is under way sends it once. */
async function enterTwice(page) {
  await page.route("**/messages", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    await route.continue();
  });
  const before = await page.locator("article.turn").count();
  await page.fill("#draft", "Once.");
  await page.press("#draft", "Enter");
  await page.waitForTimeout(100);
  await page.press("#draft", "Enter");
  await page.waitForFunction(() => document.querySelector("#draft").value === "");
  await page.waitForFunction((before) => document.querySelectorAll("article.turn").length > before, before);
  await lastTurn(page);
  await page.waitForTimeout(500);
  assert.equal(await page.locator("article.turn").count(), before + 1);
  await page.unroute("**/messages");
}

/** Edit keeps what was being written, and is still an edit on the page that is loaded anew. */
async function editAndDraft(stage, page) {
  await page.fill("#draft", "Half a thou");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.waitForFunction(() => document.querySelector("#draft").value === "Once.");
  await page.reload();
  assert.equal(await page.inputValue("#draft"), "Once.");
  assert(await page.isVisible("#editing"), "it still says that the last message is replaced");
  await page.getByRole("link", { name: "Keep the last one" }).click();
  assert.equal(await page.inputValue("#draft"), "Half a thou");
  assert(await page.isHidden("#editing"));
  await stage.accessible(page, "a message that was edited");
  // A text that is more than the server takes stays whole, and that it can't be sent is said at once.
  const long = "long ".repeat(250_000);
  await page.evaluate((long) => {
    const draft = document.querySelector("#draft");
    draft.value = long;
    draft.dispatchEvent(new Event("input", { bubbles: true }));
  }, long);
  await page.waitForFunction(() => /too long/.test(document.querySelector("#meter").textContent));
  assert.equal((await page.inputValue("#draft")).length, long.length);
  await page.fill("#draft", "");
}

async function mentions(page) {
  await page.focus("#draft");
  await page.keyboard.type("Be @ton");
  await page.waitForSelector("#mentions li");
  assert.match(await page.innerText("#mentions li"), /@rule:tone.*\[Manual\].*How to sound/s);
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue("#draft"), "Be @rule:tone ");
  await page.keyboard.type("kind");
  await page.waitForSelector("#meter svg");
  assert.match(await page.innerText("#meter"), /Would be sent as full/);
  // A draft outlives the page.
  await page.reload();
  assert.equal(await page.inputValue("#draft"), "Be @rule:tone kind");
  await page.press("#draft", "Enter");
  await lastTurn(page);
  await page.waitForFunction(() => /tone/.test(document.querySelector("#in-session .kind")?.textContent ?? ""));
  await page.fill("#draft", "");
  await page.keyboard.type("/mo");
  await page.waitForSelector("#mentions li");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Tab");
  assert.equal(await page.inputValue("#draft"), "/mode ");
  await page.fill("#draft", "");
  await lateList(page);
}

/** A list that comes while the message is under way is not opened over the conversation. */
async function lateList(page) {
  const [entered, listed] = [gate(), gate()];
  await page.route("**/completions*", (route) => entered.isOpen.then(() => route.continue()));
  await page.route("**/messages", (route) => listed.isOpen.then(() => route.continue()));
  await page.fill("#draft", "Look at @ton");
  await page.press("#draft", "Enter");
  const answered = page.waitForResponse(/completions/);
  entered.open();
  await answered;
  await page.waitForTimeout(200);
  listed.open();
  await page.waitForFunction(() => document.querySelector("#draft").value === "");
  await lastTurn(page);
  assert.equal(await page.locator("#mentions li:visible").count(), 0);
  await page.unroute("**/completions*");
  await page.unroute("**/messages");
}

/** Something that is waited for until it is opened. */
function gate() {
  let open;
  const isOpen = new Promise((resolve) => (open = resolve));
  return { open, isOpen };
}

async function panel(stage, page) {
  // Where the panel stands beside the conversation, its key leads into it.
  await page.locator("#scroll").focus();
  await page.keyboard.press(".");
  assert.equal(await page.evaluate(() => document.activeElement.id), "add");
  assert.equal(await page.locator("#in-session:popover-open").count(), 0);
  // Where it is a drawer, it is opened, too.
  await page.setViewportSize({ width: 900, height: 860 });
  await page.locator("#scroll").focus();
  await page.keyboard.press(".");
  assert.equal(await page.evaluate(() => document.activeElement.id), "add");
  assert.equal(await page.locator("#in-session:popover-open").count(), 1);
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 1280, height: 860 });
  const kinds = page.locator("#in-session");
  await kinds.getByRole("button", { name: "Remove tone from this session" }).click();
  await page.waitForFunction(() => !/tone/.test(document.querySelector("#in-session ul")?.textContent ?? ""));
  await page.fill("#add", "rule:tone");
  await page.press("#add", "Enter");
  await page.waitForFunction(() => /tone/.test(document.querySelector("#in-session ul")?.textContent ?? ""));
  // A command does the same.
  await say(page, "/remove rule:tone");
  await page.waitForFunction(() => !/tone/.test(document.querySelector("#in-session ul")?.textContent ?? ""));
  await page.selectOption("#s-context_mode", "minimal");
  await page.waitForTimeout(300);
  await page.reload();
  assert.equal(await page.inputValue("#s-context_mode"), "minimal");
  assert(await page.isChecked("input[name=mode][value=minimal]"));
  stage.expectRefusal("/sessions/1/settings");
  await page.fill("#s-temperature", "9");
  await page.press("#s-temperature", "Enter");
  await page.waitForSelector("#in-session .field-problem");
  assert.match(await page.innerText("#in-session .field-problem"), /from 0 to 2/);
  assert.equal(await page.locator(".field-problem").count(), 1, "beside the field, once");
  await page.fill("#s-name", "kindness");
  await page.press("#s-name", "Enter");
  await page.waitForFunction(() => document.querySelector("h1").textContent === "kindness");
}
