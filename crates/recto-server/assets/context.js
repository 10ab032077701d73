// View context: the page of a turn, and the same as a dialog over the chat.
// The page works without this module: links and forms lead to whole pages.

import { ServerProblem } from "./dom.js";

const state = {
  /** @type {HTMLDialogElement | null} the dialog, once it was needed */
  dialog: null,
  /** @type {Element | null} what had the focus before the dialog opened */
  opener: null,
  /** counts what was asked for, so that a late answer does not overwrite a newer one */
  asked: 0,
};

/**
 * Opens the context of a turn over the page.
 * @param {string} address the address of the turn's page
 */
async function openContext(address) {
  const url = new URL(address, location.href);
  const place = url.pathname + url.search;
  url.searchParams.set("fragment", "1");
  await openDialog(place, () => fetch(url, { headers: { accept: "text/html" } }));
}

/**
 * Opens the dialog with what the server answers.
 * @param {string | null} place the address at which the same is a page of its own
 * @param {() => Promise<Response>} request
 */
export async function openDialog(place, request) {
  const dialog = state.dialog ?? makeDialog();
  if (!dialog.open) {
    state.opener = document.activeElement;
    dialog.showModal();
    // Back closes it, as if it were a page.
    if (!isInHistory()) history.pushState({ dialog: true, place }, "");
  }
  if (isInHistory()) history.replaceState({ dialog: true, place }, "");
  await load(dialog, place, request);
}

/** Whether the browser stands at the entry of its history that the dialog has. */
function isInHistory() {
  return Boolean(history.state?.dialog);
}

/** Back closes the dialog, and Forward opens it again; a draft that was looked at has no address. */
function followHistory() {
  const { dialog } = state;
  if (!isInHistory()) dialog?.close();
  else if (history.state.place && !dialog?.open) openContext(history.state.place);
}

/** @returns {HTMLDialogElement} */
function makeDialog() {
  const dialog = document.createElement("dialog");
  dialog.className = "view";
  const bar = document.createElement("div");
  bar.className = "shut";
  const place = document.createElement("a");
  place.className = "grow q";
  place.textContent = "Open as a page";
  const close = document.createElement("button");
  close.type = "button";
  close.className = "btn plain";
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  bar.append(place, close);
  const content = document.createElement("div");
  content.className = "page";
  content.tabIndex = -1;
  dialog.append(bar, content);
  dialog.addEventListener("close", () => {
    state.asked += 1;
    if (isInHistory()) history.back();
    if (state.opener instanceof HTMLElement) state.opener.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  state.dialog = dialog;
  return dialog;
}

/**
 * Fills the dialog.
 * @param {HTMLDialogElement} dialog
 * @param {string | null} place
 * @param {() => Promise<Response>} request
 */
async function load(dialog, place, request) {
  const [bar, content] = dialog.children;
  if (!(content instanceof HTMLElement)) return;
  const asked = (state.asked += 1);
  const link = bar.querySelector("a");
  link?.setAttribute("href", place ?? "");
  link?.toggleAttribute("hidden", place === null);
  showGhost(content);
  try {
    const answer = await request();
    const text = await answer.text();
    if (asked !== state.asked) return;
    // Our own server's markup, in which all that others wrote is escaped; scripts in it don't run.
    const parsed = new DOMParser().parseFromString(text, "text/html");
    const main = answer.ok ? parsed.body : (parsed.querySelector("main") ?? parsed.body);
    content.replaceChildren(...main.childNodes);
  } catch (error) {
    if (asked !== state.asked) return;
    const { message, hint } = error instanceof ServerProblem ? error : new ServerProblem({});
    content.replaceChildren(problem(message, hint ?? "Is the server still running?"));
  }
  content.removeAttribute("aria-busy");
  const title = content.querySelector("h1");
  if (title) dialog.setAttribute("aria-labelledby", (title.id ||= "v-title"));
  prepare(content);
  content.focus({ preventScroll: true });
  dialog.scrollTop = 0;
}

/** @param {HTMLElement} content */
function showGhost(content) {
  content.setAttribute("aria-busy", "true");
  const ghost = document.createElement("div");
  ghost.className = "ghost";
  for (let line = 0; line < 9; line += 1) ghost.append(document.createElement("i"));
  const words = document.createElement("p");
  words.className = "vh";
  words.textContent = "Loading the context";
  content.replaceChildren(words, ghost);
}

/** @param {string} what @param {string} hint */
function problem(what, hint) {
  const block = document.createElement("div");
  block.className = "block error";
  const title = document.createElement("h3");
  title.textContent = what;
  const words = document.createElement("p");
  words.textContent = hint;
  block.append(title, words);
  return block;
}

/**
 * Shows what only a script can do.
 * @param {ParentNode} root
 */
function prepare(root) {
  for (const button of root.querySelectorAll("[data-unfold], [data-copy]")) {
    button.removeAttribute("hidden");
  }
  openTarget(root);
}

/**
 * Opens the part that the address leads to.
 * @param {ParentNode} root
 */
function openTarget(root) {
  const id = readHash();
  const target = id ? root.querySelector(`#${CSS.escape(id)}`) : null;
  if (target instanceof HTMLDetailsElement) target.open = true;
}

/** The part that the address names; one that can't be read names none. */
function readHash() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

/** @param {ParentNode} root */
function unfoldAll(root) {
  const parts = [...root.querySelectorAll("details.part")];
  const open = parts.some((part) => !part.hasAttribute("open"));
  for (const part of parts) part.toggleAttribute("open", open);
}

/** @param {HTMLElement} button */
async function copyBody(button) {
  const words = button.firstChild;
  const before = words?.textContent ?? "";
  try {
    const answer = await fetch(button.dataset.copy ?? "");
    if (!answer.ok) throw new Error(answer.statusText);
    await navigator.clipboard.writeText(await answer.text());
    if (words) words.textContent = "Copied ";
  } catch {
    if (words) words.textContent = "Not copied ";
  }
  setTimeout(() => words && (words.textContent = before), 1500);
}

/** The element that keys are for: the dialog while it is open, or the page. */
function scope() {
  if (state.dialog?.open) return state.dialog;
  return document.querySelector("main.page[data-context], main.page:has(.sent)");
}

/** @param {Element} root @param {string} digit */
function openLayer(root, digit) {
  const layers = [...root.querySelectorAll(".layers > li")];
  const link = layers[(Number(digit) + 9) % 10]?.querySelector("a");
  const part = link && root.querySelector(link.getAttribute("href") ?? "");
  if (!(part instanceof HTMLDetailsElement)) return;
  part.open = true;
  part.scrollIntoView({ block: "start" });
  part.querySelector("summary")?.focus();
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const field = event.target instanceof Element && event.target.closest("input, textarea, select");
  if (field || event.ctrlKey || event.metaKey || event.altKey) return;
  const root = scope();
  if (!root) return;
  if (event.key === "f") unfoldAll(root);
  else if (event.key === "y") /** @type {HTMLElement | null} */ (root.querySelector("[data-copy]"))?.click();
  else if (event.key === "[") follow(root.querySelector('a[rel="prev"]'));
  else if (event.key === "]") follow(root.querySelector('a[rel="next"]'));
  else if (/^[0-9]$/.test(event.key)) openLayer(root, event.key);
  else return;
  event.preventDefault();
}

/** @param {Element | null} link */
function follow(link) {
  if (link instanceof HTMLElement) link.click();
}

/** @param {MouseEvent} event */
function onClick(event) {
  if (!(event.target instanceof Element) || event.button !== 0) return;
  const root = scope();
  const unfold = event.target.closest("[data-unfold]");
  const copy = event.target.closest("[data-copy]");
  if (unfold && root) unfoldAll(root);
  if (copy instanceof HTMLElement) copyBody(copy);
  const link = event.target.closest("a[href]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const href = link.getAttribute("href") ?? "";
  if (href.startsWith("#")) {
    const part = root?.querySelector(`#${CSS.escape(href.slice(1))}`);
    if (part instanceof HTMLDetailsElement) part.open = true;
    if (part && state.dialog?.contains(link)) {
      // The address is that of the page below.
      event.preventDefault();
      part.scrollIntoView({ block: "start" });
    }
    return;
  }
  const inside = state.dialog?.open && state.dialog.contains(link);
  const isTurn = /^\/turns\/\d+(\?|$)/.test(href);
  if (inside && isTurn && link.closest(".page")) {
    event.preventDefault();
    openContext(href);
  }
}

/** @param {SubmitEvent} event */
function onSubmit(event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement)) return;
  const opens = form.matches("form.view-context");
  const inside = state.dialog?.contains(form) && form.matches("[data-into-dialog]");
  if (!opens && !inside) return;
  event.preventDefault();
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form, event.submitter)) fields.set(name, String(value));
  const query = fields.toString();
  openContext(form.getAttribute("action") + (query ? `?${query}` : ""));
}

document.addEventListener("keydown", onKey);
document.addEventListener("click", onClick);
document.addEventListener("submit", onSubmit);
addEventListener("hashchange", () => openTarget(document));
addEventListener("popstate", followHistory);
prepare(document);
followHistory();
