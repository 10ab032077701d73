// The turns of the conversation: fetched anew when they have gone on, and the text of a reply while
// it comes.

import { conversation, element, fetchFragment } from "./dom.js";

/** What is known of turns beyond what the server has drawn. */
const state = {
  /** The reply that is coming. */
  live: { turn: 0, text: "", thinking: "" },
  /** What was told of each turn. @type {Map<number, string[]>} */
  notices: new Map(),
  /** Turns that are being fetched, and whether once more. @type {Map<number, boolean>} */
  fetching: new Map(),
  painted: false,
};

/** @param {number} turn */
export function article(turn) {
  const found = document.getElementById(`turn-${turn}`);
  return found instanceof HTMLElement ? found : null;
}

/** The turns that have not ended. */
export function openTurns() {
  return [...document.querySelectorAll("article.turn:not([data-state=ended])")];
}

/**
 * Whether an event of a turn is news: not of one whose end is shown, nor of one before all that
 * the page shows.
 * @param {number} turn
 */
export function isNews(turn) {
  const shown = article(turn);
  if (shown) return shown.dataset.state !== "ended";
  const last = [...document.querySelectorAll("article.turn[data-turn]")].at(-1);
  return !(last instanceof HTMLElement) || Number(last.dataset.turn) < turn;
}

/**
 * Begins the text of a reply anew.
 * @param {number} turn
 * @param {{text?: string, thinking?: string}} [known]
 */
export function beginReply(turn, known) {
  state.live = { turn, text: known?.text ?? "", thinking: known?.thinking ?? "" };
  paintSoon();
}

/**
 * @param {number} turn
 * @param {"text" | "thinking"} kind
 * @param {string} text
 */
export function addText(turn, kind, text) {
  if (state.live.turn !== turn) state.live = { turn, text: "", thinking: "" };
  state.live[kind] += text;
  paintSoon();
}

/**
 * Tells something of a turn.
 * @param {number} turn
 * @param {string} text
 */
export function addNotice(turn, text) {
  const told = state.notices.get(turn) ?? [];
  if (told.includes(text)) return;
  state.notices.set(turn, [...told, text]);
  showNotices(turn);
}

/**
 * Fetches a turn, and puts it where it belongs. Calls while one is under way become one more.
 * @param {number} turn
 */
export async function refreshTurn(turn) {
  if (state.fetching.has(turn)) {
    state.fetching.set(turn, true);
    return;
  }
  state.fetching.set(turn, false);
  try {
    const [fresh] = await fetchFragment(`/sessions/${conversation.session}/turns/${turn}`);
    if (fresh instanceof HTMLElement) place(turn, fresh);
  } catch {
    // The next event or the next look at the server brings it.
  }
  const again = state.fetching.get(turn);
  state.fetching.delete(turn);
  if (again) await refreshTurn(turn);
}

/**
 * @param {number} turn
 * @param {HTMLElement} fresh
 */
function place(turn, fresh) {
  const shown = article(turn);
  if (shown) {
    keepFolds(shown, fresh);
    const hadFocus = shown.contains(document.activeElement);
    shown.replaceWith(fresh);
    if (hadFocus) fresh.focus();
  } else {
    document.getElementById("answers")?.before(fresh);
    document.querySelector(".welcome")?.remove();
  }
  for (const again of document.querySelectorAll(".again")) {
    if (again.closest("article") !== fresh && turn >= Number(again.closest("article")?.dataset.turn)) again.remove();
  }
  showNotices(turn);
  paintSoon();
  if (fresh.dataset.state === "ended") sayReply(fresh);
}

/**
 * What a person has unfolded stays so.
 * @param {HTMLElement} shown
 * @param {HTMLElement} fresh
 */
function keepFolds(shown, fresh) {
  const before = [...shown.querySelectorAll("details")];
  const after = [...fresh.querySelectorAll("details")];
  before.forEach((fold, at) => {
    const same = after[at];
    if (same && same.className === fold.className) same.open = fold.open;
  });
}

/** Those who listen to the page hear a reply once it is whole. @param {HTMLElement} ended */
function sayReply(ended) {
  const spoken = document.getElementById("spoken");
  const replies = [...ended.querySelectorAll(".reply, .block.error")];
  if (spoken) spoken.textContent = replies.at(-1)?.textContent ?? "";
}

/** @param {number} turn */
function showNotices(turn) {
  const place = article(turn)?.querySelector(".notices");
  place?.replaceChildren(...(state.notices.get(turn) ?? []).map((text) => element("p", "q", text)));
}

function paintSoon() {
  if (state.painted) return;
  state.painted = true;
  requestAnimationFrame(() => {
    state.painted = false;
    paint();
  });
}

/** Shows what has come of the reply. It is text until it is whole. */
function paint() {
  const shown = article(state.live.turn);
  const words = shown?.querySelector(".reply.live > p");
  if (!shown || !words) return;
  if (words.textContent !== state.live.text) words.textContent = state.live.text;
  const thinking = shown.querySelector("details.thinking");
  if (thinking instanceof HTMLElement && state.live.thinking) {
    thinking.hidden = false;
    const thought = thinking.querySelector("pre");
    if (thought) thought.textContent = state.live.thinking;
  }
}
