// The turns of the conversation: fetched anew when they have gone on, and the text of a reply while
// it comes, which the server draws as it does all others.

import { ask, conversation, element, fetchFragment, parseFragment, withCode } from "./dom.js";

/** The least time from one drawing of a reply that comes to the next. */
const DRAW_EVERY = 120;

/** The longest text that is drawn while it comes; a longer one stands there as it is. */
const MOST_DRAWN = 200_000;

/** What is known of turns beyond what the server has drawn. */
const state = {
  /** The reply that is coming: its text, and the same as it was last drawn. */
  live: { turn: 0, text: "", thinking: "", drawn: "", html: "" },
  /** A drawing is under way. */
  isDrawing: false,
  /** Where which drawing is shown. @type {{place: Element | null, html: string}} */
  shown: { place: null, html: "" },
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
  const first = document.querySelector("article.turn[data-turn]");
  return !(first instanceof HTMLElement) || Number(first.dataset.turn) < turn;
}

/**
 * Begins the text of a reply anew.
 * @param {number} turn
 * @param {{text?: string, thinking?: string}} [known]
 */
export function beginReply(turn, known) {
  state.live = newReply(turn);
  Object.assign(state.live, known);
  paintSoon();
}

/**
 * @param {number} turn
 * @param {"text" | "thinking"} kind
 * @param {string} text
 */
export function addText(turn, kind, text) {
  if (state.live.turn !== turn) state.live = newReply(turn);
  state.live[kind] += text;
  paintSoon();
}

/** @param {number} turn */
function newReply(turn) {
  return { turn, text: "", thinking: "", drawn: "", html: "" };
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
 * Fetches what was put into the session from elsewhere, such as the answer of a schedule, unless it is shown.
 * @param {number} message the first message of it
 */
export async function addExchange(message) {
  if (document.getElementById(`message-${message}`)) return;
  try {
    const [fresh] = await fetchFragment(`/sessions/${conversation.session}/exchanges/${message}`);
    if (!(fresh instanceof HTMLElement) || document.getElementById(fresh.id)) return;
    document.getElementById("answers")?.before(fresh);
    document.querySelector(".welcome")?.remove();
    sayReply(fresh);
  } catch {
    // The next look at the server brings it.
  }
}

/** Fetches the last turn that stands: it can be said anew now. */
export async function refreshLastTurn() {
  const said = "article.turn[data-turn]:not(.taken-back, :has(.unsent))";
  const standing = [...document.querySelectorAll(said)].at(-1);
  if (standing instanceof HTMLElement) await refreshTurn(Number(standing.dataset.turn));
}

/** Shows for how long a turn runs, every second. */
export function countSeconds() {
  const show = () => {
    for (const place of document.querySelectorAll(".elapsed")) {
      if (!(place instanceof HTMLElement)) continue;
      const seconds = Math.floor((Date.now() - Number(place.dataset.since)) / 1000);
      place.textContent = seconds > 0 ? `${seconds} s` : "";
    }
  };
  window.setInterval(show, 1_000);
  show();
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
    // Turns come in the order of their numbers, in whichever order they were heard of.
    const later = [...document.querySelectorAll("article.turn[data-turn]")].find(
      (other) => other instanceof HTMLElement && Number(other.dataset.turn) > turn,
    );
    (later ?? document.getElementById("answers"))?.before(fresh);
    document.querySelector(".welcome")?.remove();
  }
  const isLast = fresh.dataset.state !== "ended" || fresh.querySelector(".again:not(.unsent)");
  for (const again of isLast ? document.querySelectorAll(".again:not(.unsent)") : []) {
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

/** Adds what was told of a turn to what its record says of it, in the same words. @param {number} turn */
function showNotices(turn) {
  const place = article(turn)?.querySelector(".notices");
  if (!place) return;
  for (const text of state.notices.get(turn) ?? []) {
    const line = element("p", "q", text);
    line.replaceChildren(...withCode(line.textContent ?? ""));
    const isShown = [...place.children].some((shown) => (shown.querySelector(".told") ?? shown).textContent === line.textContent);
    if (!isShown) place.append(line);
  }
}

function paintSoon() {
  if (state.painted) return;
  state.painted = true;
  requestAnimationFrame(() => {
    state.painted = false;
    paint();
  });
}

/** Shows what has come of the reply. */
function paint() {
  const shown = article(state.live.turn);
  const place = shown?.querySelector(".reply.live");
  if (!shown || !place) return;
  showReply(place);
  const stands = shown.querySelector(".stands");
  if (stands && state.live.text && shown.querySelector(".elapsed")) stands.textContent = "writing";
  if (state.live.text !== state.live.drawn) draw();
  const thinking = shown.querySelector("details.thinking");
  if (thinking instanceof HTMLElement && state.live.thinking) {
    thinking.hidden = false;
    const thought = thinking.querySelector("pre");
    if (thought) thought.textContent = element("p", "", state.live.thinking).textContent;
  }
}

/** Puts the last drawing into place; text that has none yet stands there as it is. @param {Element} place */
function showReply(place) {
  const { text, html } = state.live;
  if (!html) {
    place.replaceChildren(element("p", "", text));
  } else if (state.shown.place !== place || state.shown.html !== html) {
    place.replaceChildren(...parseFragment(html));
  }
  state.shown = { place, html };
}

/** Has the server draw what has come, one drawing after the other. */
async function draw() {
  if (state.isDrawing) return;
  state.isDrawing = true;
  const { live } = state;
  const { text } = live;
  try {
    const headers = { "content-type": "application/json" };
    if (text.length > MOST_DRAWN) live.html = "";
    else live.html = await (await ask("/drawn", { method: "POST", headers, body: JSON.stringify({ text }) })).text();
  } catch {
    // It stands there as it was; the whole reply is drawn with its turn.
  }
  live.drawn = text;
  paintSoon();
  window.setTimeout(() => {
    state.isDrawing = false;
    if (state.live.text !== state.live.drawn) paintSoon();
  }, DRAW_EVERY);
}
