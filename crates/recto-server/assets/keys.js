// The keys of the page. Single keys work outside of fields alone.

import { openTurns } from "./turns.js";

/** Listens to the keys. */
export function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape") return escape(event);
    if (isField(event.target) || document.querySelector("dialog[open]")) return;
    const act = KEYS[event.key] ?? answer(event.key);
    if (act && act() !== false) event.preventDefault();
  });
}

/** @type {Record<string, () => boolean | void>} */
const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  c: () => press(currentTurn()?.querySelector(".view-context button")),
  ".": goToPanel,
  "/": () => document.getElementById("draft")?.focus(),
  "?": () => document.getElementById("keys")?.togglePopover() !== undefined,
};

/** Where the panel is a drawer it is opened or closed; beside the conversation it is gone to. */
function goToPanel() {
  const panel = document.getElementById("in-session");
  if (!panel) return false;
  if (matchMedia("(max-width: 78rem)").matches && !panel.togglePopover()) return;
  // Fields that carry something are hidden, and take no focus.
  const first = panel.querySelector("input:enabled:not([type=hidden]), select:enabled, a[href]");
  if (!(first instanceof HTMLElement)) return false;
  return goTo(first);
}

/** @param {EventTarget | null} target */
function isField(target) {
  return target instanceof HTMLElement && target.matches("input:not([type=radio]), select, textarea");
}

/** The turn that has the focus, or else the last. */
function currentTurn() {
  const focused = document.activeElement?.closest("article.turn");
  return focused ?? [...document.querySelectorAll("article.turn")].at(-1) ?? null;
}

/** @param {number} by */
function step(by) {
  const turns = [...document.querySelectorAll("article.turn")];
  const focused = document.activeElement?.closest("article.turn");
  const at = focused ? turns.indexOf(focused) + by : firstOnScreen(turns);
  const next = turns[Math.max(0, Math.min(turns.length - 1, at))];
  const target = next?.querySelector(".ask") ?? next;
  if (target instanceof HTMLElement) goTo(target);
}

/** @param {HTMLElement} target */
function goTo(target) {
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "nearest" });
}

/**
 * The first turn whose beginning can be seen, or else the last.
 * @param {Element[]} turns
 */
function firstOnScreen(turns) {
  const view = document.getElementById("scroll")?.getBoundingClientRect();
  const isSeen = (/** @type {Element} */ turn) => {
    const { top } = turn.getBoundingClientRect();
    return view !== undefined && top >= view.top && top < view.bottom;
  };
  const at = turns.findIndex(isSeen);
  return at >= 0 ? at : turns.length - 1;
}

/**
 * The answer to the question that has the focus, by its key. Whoever types without looking where
 * must not allow anything.
 * @param {string} key
 */
function answer(key) {
  const question = document.activeElement?.closest(".ask");
  const button = question?.querySelector(`button[data-key="${CSS.escape(key)}"]`);
  return button ? () => press(button) : undefined;
}

/** @param {Element | null | undefined} button */
function press(button) {
  if (!(button instanceof HTMLElement)) return false;
  button.click();
  return true;
}

/**
 * Esc closes what is open by itself; where nothing is, it leaves a field, with what was begun there.
 * At the composer, and outside of fields, it stops the turn that runs; where none does, it leaves the
 * composer for what is asked, or so that single keys work. What waits for a person it does not stop.
 * @param {KeyboardEvent} event
 */
function escape(event) {
  if (event.isComposing || document.querySelector("dialog[open], :popover-open")) return;
  const field = isField(event.target) && event.target instanceof HTMLElement ? event.target : null;
  if (field && field.id !== "draft") {
    // What has not changed is not saved when it is left.
    if (field instanceof HTMLInputElement) field.value = field.defaultValue;
    // What was said of what stood there goes with it.
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.blur();
    return;
  }
  const inState = (/** @type {string[]} */ ...states) =>
    openTurns().filter((turn) => turn instanceof HTMLElement && states.includes(turn.dataset.state ?? ""));
  const stop = inState("running", "elsewhere").map((turn) => turn.querySelector("button.stop")).find(Boolean);
  const question = inState("waiting").map((turn) => turn.querySelector(".ask")).find(Boolean);
  if (stop && press(stop)) event.preventDefault();
  else if (field && question instanceof HTMLElement) goTo(question);
  else field?.blur();
}
