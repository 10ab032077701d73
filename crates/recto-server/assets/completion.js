// The lists that open while one types: what can be mentioned behind `@`, and commands behind `/`.

import { ask, conversationQuery, element } from "./dom.js";

/**
 * Something that can be typed.
 * @typedef {{insert: string, label: string, include?: string, about: string}} CompletionEntry
 */

/** How many are shown. */
const MOST_SHOWN = 8;

/** What is being named: which list it is of, where it begins, and as far as it is typed. */
const NAMED = /(?:^|[\s(])(@[^\s@]*)$/;
const COMMAND = /^(\/[a-z]*)$/;

/**
 * Lists what can be typed while it is typed.
 * @param {HTMLTextAreaElement} field
 */
export function completeWhileTyping(field) {
  const list = document.getElementById("mentions");
  if (!list) return { isOpen: () => false, close: () => {} };
  const state = {
    /** @type {Promise<{items: CompletionEntry[], commands: CompletionEntry[]}> | null} */
    known: null,
    /** @type {CompletionEntry[]} */
    shown: [],
    chosen: 0,
    typed: "",
    /** Counts looks and closes, so that a late answer opens nothing that nobody waits for. */
    asked: 0,
  };
  const close = () => {
    state.asked += 1;
    list.hidden = true;
    // What there is may have changed until the next one is named.
    state.known = null;
    state.shown = [];
    field.removeAttribute("aria-activedescendant");
  };
  const choose = (/** @type {number} */ at) => {
    state.chosen = (at + state.shown.length) % state.shown.length;
    [...list.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === state.chosen)));
    field.setAttribute("aria-activedescendant", `mention-${state.chosen}`);
    list.children[state.chosen]?.scrollIntoView({ block: "nearest" });
  };
  const take = (/** @type {number} */ at) => {
    const entry = state.shown[at];
    if (!entry) return;
    const end = field.selectionStart;
    field.setRangeText(entry.insert, end - state.typed.length, end, "end");
    close();
    field.focus();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const open = (/** @type {CompletionEntry[]} */ entries) => {
    state.shown = entries.slice(0, MOST_SHOWN);
    list.replaceChildren(...state.shown.map((entry, at) => row(entry, at, () => take(at))));
    list.hidden = state.shown.length === 0;
    if (!list.hidden) choose(0);
  };
  const look = async () => {
    if (!beingTyped(field)) return close();
    const asked = (state.asked += 1);
    state.known ??= load();
    const known = await state.known.catch(() => null);
    if (asked !== state.asked) return;
    if (!known) {
      // The next letter asks again.
      state.known = null;
      return close();
    }
    const { items, commands } = known;
    // Meanwhile the cursor may have moved.
    const typed = beingTyped(field);
    if (!typed) return close();
    state.typed = typed;
    open(matching(typed.startsWith("@") ? items : commands, typed));
  };
  field.addEventListener("input", look);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    // What is typed in full needs nothing more than to be sent.
    if (event.key === "Enter" && state.shown[state.chosen]?.insert.trim() === state.typed) return close();
    if (step) choose(state.chosen + step);
    else if (event.key === "Enter" || event.key === "Tab") take(state.chosen);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
  return { isOpen: () => !list.hidden, close };
}

/**
 * What is being named where the cursor stands.
 * @param {HTMLTextAreaElement} field
 */
function beingTyped(field) {
  const before = field.value.slice(0, field.selectionStart);
  return (NAMED.exec(before) ?? COMMAND.exec(before))?.[1];
}

async function load() {
  return (await ask(`/completions?${conversationQuery("session")}`)).json();
}

/**
 * Entries that have what is typed in them, those first that begin with it.
 * @param {CompletionEntry[]} entries
 * @param {string} typed
 */
function matching(entries, typed) {
  const sought = typed.slice(1).toLowerCase();
  const place = (/** @type {CompletionEntry} */ entry) => entry.label.slice(1).toLowerCase().indexOf(sought);
  const found = entries.filter((entry) => place(entry) >= 0);
  return found.sort((a, b) => Math.sign(place(a)) - Math.sign(place(b)));
}

/**
 * @param {CompletionEntry} entry
 * @param {number} at
 * @param {() => void} take
 */
function row(entry, at, take) {
  const made = element("li", "", "");
  made.id = `mention-${at}`;
  made.setAttribute("role", "option");
  made.append(element("code", "", entry.label));
  if (entry.include) {
    const word = entry.include[0].toUpperCase() + entry.include.slice(1);
    made.append(element("span", `badge ${entry.include}`, `[${word}]`));
  }
  made.append(element("span", "q cut", entry.about));
  made.addEventListener("mousedown", (event) => {
    event.preventDefault();
    take();
  });
  return made;
}
