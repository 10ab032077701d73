// What happens in the session while the page is open: its own events as they come, and a look
// every other second at what other processes do. A tab that nobody sees does neither.

import { ask, conversation, fetchFragment, replaceInside } from "./dom.js";
import { addNotice, addText, article, beginReply, isNews, refreshTurn } from "./turns.js";

/** How often it is looked for what happens in other processes, in milliseconds. */
const LOOK_EVERY = 2000;

const state = {
  /** @type {EventSource | null} */
  source: null,
  /** The number of the last event that was heard. */
  last: 0,
  timer: 0,
};

/** Begins to follow the session, for as long as somebody sees the page. */
export function followSession() {
  const follow = () => (document.hidden ? stop() : start());
  document.addEventListener("visibilitychange", follow);
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", follow);
  follow();
}

function start() {
  if (state.source) return;
  state.source = new EventSource(`/sessions/${conversation.session}/stream?after=${state.last}`);
  state.source.onmessage = (message) => hear(JSON.parse(message.data));
  state.source.onopen = () => setOnline(true);
  state.source.onerror = () => setOnline(false);
  clearInterval(state.timer);
  state.timer = window.setInterval(look, LOOK_EVERY);
  look();
}

function stop() {
  state.source?.close();
  state.source = null;
  clearInterval(state.timer);
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
      refreshPart("sessions", sideAddress());
      refreshPanel();
      break;
  }
  refreshTurn(turn);
}

/** Looks whether something has changed that no event of this process tells. */
async function look() {
  try {
    const pulse = await (await ask(`/sessions/${conversation.session}/pulse`)).json();
    const side = document.getElementById("sessions");
    if (side && side.dataset.stamp !== pulse.side) {
      side.dataset.stamp = pulse.side;
      refreshPart("sessions", sideAddress());
    }
    for (const [turn, stands] of pulse.turns) {
      if (article(turn)?.dataset.state !== stands) refreshTurn(turn);
    }
    setOnline(true);
  } catch {
    setOnline(false);
  }
}

const sideAddress = () => `/sessions?current=${conversation.session}`;

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
