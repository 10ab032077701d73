// What happens while the page is open: the session's own events as they come, and what changes in the
// list of sessions, in whichever process. A tab that nobody sees listens to neither.

import { ask, conversation, fetchFragment, replaceInside } from "./dom.js";
import { addNotice, addText, article, beginReply, isNews, refreshTurn } from "./turns.js";

const state = {
  /** The session's own events. @type {EventSource | null} */
  events: null,
  /** What changes in the list of sessions. @type {EventSource | null} */
  feed: null,
  /** The number of the last event that was heard. */
  last: 0,
  /** The list of sessions is about to be fetched. */
  timer: 0,
};

/** Begins to follow what happens, for as long as somebody sees the page. */
export function followSessions() {
  const follow = () => (document.hidden ? stop() : start());
  document.addEventListener("visibilitychange", follow);
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", follow);
  follow();
}

function start() {
  if (state.feed) return;
  state.feed = new EventSource("/api/events");
  state.feed.onmessage = (message) => hearOfSessions(JSON.parse(message.data));
  state.feed.onopen = () => setOnline(true);
  state.feed.onerror = () => setOnline(false);
  if (!conversation.session) return;
  state.events = new EventSource(`/sessions/${conversation.session}/stream?after=${state.last}`);
  state.events.onmessage = (message) => hear(JSON.parse(message.data));
}

function stop() {
  for (const source of [state.events, state.feed]) source?.close();
  state.events = state.feed = null;
}

/**
 * A change in the list of sessions.
 * @param {{event: string, session?: number | {id: number}}} change
 */
function hearOfSessions(change) {
  clearTimeout(state.timer);
  state.timer = window.setTimeout(refreshSide, 200);
  const session = typeof change.session === "object" ? change.session.id : change.session;
  const isHere = change.event === "ready" || String(session) === conversation.session;
  if (isHere && conversation.session) compareTurns();
}

/** @param {boolean} online */
function setOnline(online) {
  document.body.classList.toggle("offline", !online);
}

/**
 * One event of the session.
 * @param {{turn?: number, seq: number, event: string, [field: string]: any}} event
 */
function hear(event) {
  state.last = Math.max(state.last, event.seq);
  const turn = event.turn;
  if (event.event === "taken_back" && event.taken_back) refreshTurn(event.taken_back);
  if (!turn || !isNews(turn)) return;
  switch (event.event) {
    case "text":
    case "thinking":
      if (!article(turn)) refreshTurn(turn);
      return addText(turn, event.event, event.text);
    case "notice":
      return addNotice(turn, event.text);
    case "retrying":
      return addNotice(turn, `${event.error}: asked again in ${(event.after_ms / 1000).toFixed(1)} s`);
    case "snapshot":
      beginReply(turn, { text: event.text, thinking: event.thinking });
      break;
    case "requested":
    case "call":
    case "asked":
      beginReply(turn);
      break;
    case "finished":
      refreshPanel();
      break;
  }
  refreshTurn(turn);
}

/** Fetches the turns that stand otherwise than the page shows: another process may run them. */
async function compareTurns() {
  try {
    const pulse = await (await ask(`/sessions/${conversation.session}/pulse`)).json();
    for (const [turn, stands] of pulse.turns) {
      if (article(turn)?.dataset.state !== stands) refreshTurn(turn);
    }
  } catch {
    // The next change, or the server's coming back, brings it.
  }
}

function refreshSide() {
  const current = conversation.session ? `?current=${conversation.session}` : "";
  return refreshPart("sessions", `/sessions${current}`);
}

/** Fetches the panel of the session anew, unless somebody is about to change something in it. */
export function refreshPanel() {
  const panel = document.getElementById("in-session");
  const active = document.activeElement;
  const isBusy = active instanceof HTMLInputElement && panel?.contains(active) && active.value !== "";
  if (!isBusy) return refreshPart("in-session", `/sessions/${conversation.session}/panel`);
}

/**
 * @param {string} id
 * @param {string} address
 */
async function refreshPart(id, address) {
  const shown = document.getElementById(id);
  if (!shown) return;
  try {
    const [fresh] = await fetchFragment(address);
    if (fresh) replaceInside(shown, fresh);
  } catch {
    // What is there is shown until the server answers again.
  }
}
