// Messages that are being written and were not sent yet, kept in the browser: those of each person and
// of each session apart.

import { conversation } from "./dom.js";

/**
 * A message that is being written.
 * @typedef {object} Draft
 * @property {string} text
 * @property {string} delivery what it is known by once it was sent; nothing until then
 * @property {string} edits the number of the message that it is to be sent in place of, if of any
 * @property {string} before what stood in the composer before the last message was put there
 */

const PREFIX = "recto-draft-";

/** @type {Draft} */
const EMPTY = { text: "", delivery: "", edits: "", before: "" };

/** Whose drafts these are: others may use the same browser. */
function ownPrefix() {
  const composer = document.querySelector("form.composer");
  return `${PREFIX}${composer instanceof HTMLElement ? composer.dataset.person : ""}-`;
}

const draftKey = () => ownPrefix() + (conversation.session ?? "new");

/** @returns {Draft} */
export function loadDraft() {
  try {
    const draft = { ...EMPTY, ...JSON.parse(localStorage.getItem(draftKey()) ?? "{}") };
    // Before a draft named the message, it said whether it was the last one.
    return { ...draft, edits: typeof draft.edits === "string" ? draft.edits : "" };
  } catch {
    // It was written by another version.
    return EMPTY;
  }
}

/** @param {Draft} draft */
export function storeDraft(draft) {
  try {
    if (draft.text || draft.edits) localStorage.setItem(draftKey(), JSON.stringify(draft));
    else localStorage.removeItem(draftKey());
  } catch {
    // There is no room for it in the browser: it stands in its field alone.
  }
}

/** Whoever logs out leaves nothing behind. */
export function dropDraftsAtLogOut() {
  document.addEventListener("submit", (event) => {
    if (!(event.target instanceof Element) || !event.target.matches(".log-out")) return;
    const own = Object.keys(localStorage).filter((key) => key.startsWith(ownPrefix()));
    for (const key of own) localStorage.removeItem(key);
  });
}

/** The id of a message: a number that no other one has, also on pages without encryption. */
export function newDelivery() {
  const [random] = crypto.getRandomValues(new Uint32Array(1));
  return `${Date.now()}${String(random % 1_000_000).padStart(6, "0")}`;
}
