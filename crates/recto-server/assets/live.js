// What happens while the page is open: what changes in the list of sessions, in whichever process, and
// the events of the session that is shown. One stream brings both, since browsers open few connections
// to a server; a tab that nobody sees has none.

import { previewSoon, setUsualMode } from "./composer.js";
import { ServerProblem, ask, conversation, conversationQuery, fetchFragment, replaceInside } from "./dom.js";
import { showProblem } from "./forms.js";
import { addExchange, addNotice, addText, article, beginReply, isNews, openTurns, refreshLastTurn, refreshTurn } from "./turns.js";

/** How long to wait before a server that refused is asked again. */
const RETRY_AFTER = 3_000;

/** How long until it is looked again whether a model answers. */
const MODEL_AFTER = 5_000;

const state = {
  /** @type {EventSource | null} */
  stream: null,
  /** The number of the last event of the session that was heard. */
  last: 0,
  /** The list of sessions is about to be fetched. */
  timer: 0,
  /** Whoever looks at the page is let in no longer, or its session is gone: nothing more comes. */
  isOver: false,
};

/** Begins to follow what happens, for as long as somebody sees the page. */
export function followSessions() {
  const follow = () => (document.hidden ? stop() : start());
  document.addEventListener("visibilitychange", follow);
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", follow);
  follow();
  awaitModel();
}

function start() {
  if (state.stream || state.isOver) return;
  const shown = conversation.session ? `?session=${conversation.session}&after=${state.last}` : "";
  const stream = new EventSource(`/stream${shown}`);
  stream.onopen = () => setOnline(true);
  stream.onerror = async () => {
    setOnline(false);
    // A browser gives up for good where it is refused, such as by a server that is about to end.
    if (stream.readyState !== EventSource.CLOSED || state.stream !== stream) return;
    state.stream = null;
    if (await isLetIn()) window.setTimeout(() => document.hidden || start(), RETRY_AFTER);
    else tellLoggedOut();
  };
  stream.onmessage = (message) => handleTurnEvent(JSON.parse(message.data));
  stream.addEventListener("list", (message) => handleListEvent(JSON.parse(message.data)));
  state.stream = stream;
}

/** Whether the server still knows who looks at the page. A stream does not say why it was refused. */
async function isLetIn() {
  try {
    await ask("/completions");
  } catch (problem) {
    return !(problem instanceof ServerProblem && problem.needsLogin);
  }
  return true;
}

function tellLoggedOut() {
  state.isOver = true;
  setOnline(true);
  showProblem(new ServerProblem({ title: "You are logged out.", hint: "what you see is no longer kept up to date", status: 401 }));
}

function stop() {
  state.stream?.close();
  state.stream = null;
}

/**
 * A change in the list of sessions.
 * @param {{event: string, session?: number | {id: number}}} change
 */
function handleListEvent(change) {
  refreshSideSoon();
  const session = typeof change.session === "object" ? change.session.id : change.session;
  const isHere = change.event === "ready" || String(session) === conversation.session;
  if (!isHere || !conversation.session) return;
  compareTurns();
  if (change.event === "session") refreshPanel();
  if (change.event === "answered" || change.event === "asked") refreshOpenTurns();
}

/** A question of one of them was asked or answered. */
function refreshOpenTurns() {
  for (const turn of openTurns()) {
    if (turn instanceof HTMLElement && turn.dataset.turn) refreshTurn(Number(turn.dataset.turn));
  }
}

function refreshSideSoon() {
  clearTimeout(state.timer);
  state.timer = window.setTimeout(refreshSide, 200);
}

/** @param {boolean} online */
function setOnline(online) {
  document.body.classList.toggle("offline", !online);
  // It can be reached again, so it is no longer said that it can't, or that it ends.
  if (online) document.querySelector("#answers [data-unreachable]")?.remove();
}

/**
 * One event of the session.
 * @param {{turn?: number, seq: number, event: string, [field: string]: any}} event
 */
function handleTurnEvent(event) {
  state.last = Math.max(state.last, event.seq);
  const turn = event.turn;
  if (event.event === "taken_back" && event.taken_back) refreshTurn(event.taken_back).then(refreshLastTurn);
  if (event.event === "delivered") {
    refreshSideSoon();
    addExchange(event.message);
    return;
  }
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
    case "accepted":
      refreshSideSoon();
      break;
    case "asked":
      refreshSideSoon();
      beginReply(turn);
      break;
    case "requested":
    case "call":
      beginReply(turn);
      break;
    case "finished":
      refreshSideSoon();
      refreshPanel();
      break;
  }
  refreshTurn(turn).then(() => {
    // Behind one that was not sent, the one before it is the last again.
    if (event.event === "finished" && article(turn)?.querySelector(".unsent")) refreshLastTurn();
  });
}

/** Fetches the turns that stand otherwise than the page shows, and those that it has missed. */
async function compareTurns() {
  try {
    const { turns, has_more, exchange } = await (await ask(`/sessions/${conversation.session}/states`)).json();
    const isShown = (/** @type {{turn: number}} */ { turn }) => article(turn);
    // So much was missed that the page is read anew; what is being written is kept. Where none of the
    // newest turns stands on a page, reading it anew would bring none either.
    const isFarBehind = has_more && turns.length > 0 && !turns.some(isShown);
    if (isFarBehind && document.querySelector("article.turn[data-turn]")) return location.reload();
    let isTakenBack = false;
    const stale = turns.filter((/** @type {{turn: number, state: string, taken_back: boolean}} */ { turn, state, taken_back }) => {
      const shown = article(turn);
      if (!shown) return isNews(turn);
      const differs = shown.classList.contains("taken-back") !== taken_back;
      isTakenBack ||= differs;
      return differs || shown.dataset.state !== state;
    });
    await Promise.all(stale.map((/** @type {{turn: number}} */ { turn }) => refreshTurn(turn)));
    if (isTakenBack) refreshLastTurn();
    if (exchange) addExchange(exchange);
  } catch (problem) {
    if (problem instanceof ServerProblem && problem.code === "no_such_session") tellGone();
    // Else the next change, or the server's coming back, brings it.
  }
}

/** The session that is shown was deleted, here or elsewhere: nothing more can be done in it. */
function tellGone() {
  stop();
  state.isOver = true;
  // What was being written stays, to be copied.
  document.getElementById("draft")?.setAttribute("readonly", "");
  const useless = "form.composer :is(button, input), #turns form button, #in-session :is(button, input, select)";
  for (const control of document.querySelectorAll(useless)) control.setAttribute("disabled", "");
  showProblem(new ServerProblem({ title: "This session was deleted: what you see here is all that is left of it.", hint: "what you were writing stays in its field, to be copied", status: 404 }));
}

/** A first page that says that no model answers looks for one. */
function awaitModel() {
  const welcome = document.querySelector(".welcome:has(.no-model)");
  if (!welcome) return;
  window.setTimeout(async () => {
    const fresh = document.hidden ? null : await fetchWelcome();
    if (!fresh || fresh.querySelector(".no-model")) return awaitModel();
    welcome.replaceWith(fresh);
    previewSoon();
  }, MODEL_AFTER);
}

/** @returns {Promise<Element | null>} */
async function fetchWelcome() {
  try {
    const page = await fetchFragment(`/new?${conversationQuery("session")}`);
    return page.map((part) => part.querySelector(".welcome")).find(Boolean) ?? null;
  } catch {
    return null;
  }
}

/** Fetches what stands around the conversation: the sessions, what waits, the facts of this one. */
async function refreshSide() {
  try {
    for (const fresh of await fetchFragment(`/sessions?${conversationQuery("current")}`)) {
      const shown = document.getElementById(fresh.id);
      if (shown) replaceInside(shown, fresh);
      if (fresh.id === "session-title") document.title = `${shown?.textContent} · Recto`;
    }
  } catch {
    // What is there is shown until the server answers again.
  }
}

/** Fetches the panel of the session anew, unless somebody is about to change something in it. */
export async function refreshPanel() {
  const panel = document.getElementById("in-session");
  const isBusy = () => {
    const active = document.activeElement;
    const isTyping = active instanceof HTMLInputElement && panel?.contains(active) && active.value !== active.defaultValue;
    return isTyping || panel?.querySelector(".field-problem");
  };
  if (!panel || isBusy()) return;
  try {
    const [fresh] = await fetchFragment(`/sessions/${conversation.session}/panel`);
    // Somebody may have begun meanwhile.
    if (!(fresh instanceof HTMLElement) || isBusy()) return;
    replaceInside(panel, fresh);
    setUsualMode(fresh.dataset.mode);
  } catch {
    // What is there is shown until the server answers again.
  }
}
