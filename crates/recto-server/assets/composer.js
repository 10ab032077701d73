// Where a message is written: Enter sends it, a draft is kept, and a bar shows what would be sent.

import { completeWhileTyping } from "./completion.js";
import { openDialog } from "./context.js";
import { ServerProblem, ask, conversation, element, parseFragment, withCode } from "./dom.js";
import { dropDraftsAtLogOut, loadDraft, newDelivery, storeDraft } from "./drafts.js";
import { clearAnswer, sendForm, showOutcome, showProblem } from "./forms.js";
import { openTurns } from "./turns.js";

/** How long one has to have stopped typing before it is looked what would be sent. */
const PREVIEW_AFTER = 400;

const state = {
  timer: 0,
  asked: 0,
  /** A message is under way. */
  isSending: false,
  /** What stands in the composer. */
  draft: loadDraft(),
};

/** @returns {HTMLFormElement | null} */
const form = () => document.querySelector("form.composer");

/** @returns {HTMLTextAreaElement | null} */
const field = () => document.querySelector("#draft");

/**
 * Makes the composer live.
 * @param {() => void} onCommand what follows a command: it may have changed what is in the session
 */
export function liveComposer(onCommand) {
  const [box, text] = [form(), field()];
  if (!box || !text) return;
  dropDraftsAtLogOut();
  if (!text.value) showDraft(text);
  focusAtFirst(text);
  const completion = completeWhileTyping(text);
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || completion.isOpen()) return;
    event.preventDefault();
    if (text.value.trim() && !text.readOnly) box.requestSubmit();
  });
  text.addEventListener("input", () => {
    // Other words are another message.
    keepDraft({ ...state.draft, text: text.value, delivery: "" });
    previewSoon();
  });
  box.addEventListener("change", previewSoon);
  box.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("#preview")) previewWhole(box, text.value);
  });
  document.getElementById("keep-last")?.addEventListener("click", (event) => {
    event.preventDefault();
    writeDraft(state.draft.before);
    previewSoon();
  });
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    completion.close();
    send(box, text, onCommand);
  });
  const turns = document.getElementById("turns");
  if (turns) new MutationObserver(endStaleEdit).observe(turns, { childList: true });
  endStaleEdit();
  previewSoon();
}

/**
 * What is typed on a page that was just opened is a message. Not where that brings a keyboard onto
 * the screen, nor where somebody came to see a certain place.
 * @param {HTMLTextAreaElement} text
 */
function focusAtFirst(text) {
  const isElsewhere = document.activeElement && document.activeElement !== document.body;
  if (isElsewhere || location.hash || !matchMedia("(pointer: fine)").matches) return;
  text.focus({ preventScroll: true });
  text.setSelectionRange(text.value.length, text.value.length);
}

/**
 * Puts a text into the composer, as a message of its own.
 * @param {string} text
 */
function writeDraft(text) {
  replaceDraft({ text, delivery: "", edits: "", before: "" });
}

/**
 * Puts a message that was never sent into the composer, above what is being written there.
 * @param {string} unsent
 */
export function addToDraft(unsent) {
  replaceDraft({ ...state.draft, text: [unsent, state.draft.text].filter(Boolean).join("\n\n"), delivery: "" });
}

/**
 * Puts the last message into the composer: what is sent then takes its place. What was being written
 * comes back behind it.
 * @param {{text: string, message: string}} last
 */
export function editLast(last) {
  const { text, edits, before } = state.draft;
  replaceDraft({ text: last.text, delivery: "", edits: last.message, before: edits ? before : text });
}

/**
 * Whether a message is the last one that stands, as far as the page shows.
 * @param {string} message
 */
function isLast(message) {
  const standing = [...document.querySelectorAll("#turns article.turn:not(.taken-back, :has(.unsent))")];
  const last = standing.at(-1);
  return last instanceof HTMLElement && last.dataset.said === message;
}

/** What is written in place of a message that is not the last one any more is a message of its own. */
function endStaleEdit() {
  const { edits } = state.draft;
  if (edits && !state.isSending && !isLast(edits)) endEdit();
}

/** What is being written stays where it is, and where it was begun. */
function endEdit() {
  const text = field();
  const ended = document.getElementById("edit-ended");
  if (!text || !ended) return;
  keepDraft({ ...state.draft, text: text.value, delivery: "", edits: "" });
  showDraft(text);
  ended.hidden = false;
  previewSoon();
}

/** @param {import("./drafts.js").Draft} draft */
function replaceDraft(draft) {
  const text = field();
  if (!text) return;
  keepDraft(draft);
  showDraft(text);
  text.focus();
  text.setSelectionRange(text.value.length, text.value.length);
}

/** @param {import("./drafts.js").Draft} draft */
function keepDraft(draft) {
  state.draft = draft;
  storeDraft(draft);
}

/** @param {HTMLTextAreaElement} text */
function showDraft(text) {
  text.value = state.draft.text;
  const line = document.getElementById("editing");
  const edits = line?.querySelector("input");
  if (!line || !edits) return;
  line.hidden = !state.draft.edits;
  edits.value = state.draft.edits;
  document.getElementById("edit-ended")?.setAttribute("hidden", "");
}

/**
 * @param {HTMLFormElement} box
 * @param {HTMLTextAreaElement} text
 * @param {() => void} onCommand
 */
async function send(box, text, onCommand) {
  // The message stays in its field until it has arrived: Enter would send it once more.
  if (state.isSending) return;
  if (isTooLong(box, text.value)) return showProblem(tooLongWords(box));
  state.isSending = true;
  const said = text.value;
  // One whose answer was lost is known by its id when it is sent again.
  keepDraft({ ...state.draft, text: said, delivery: state.draft.delivery || newDelivery() });
  const { before, delivery } = state.draft;
  const button = box.querySelector("button[type=submit]");
  button?.setAttribute("disabled", "");
  try {
    const outcome = await sendForm(box, null, { delivery });
    clearAnswer();
    // What was typed meanwhile stays.
    writeDraft(text.value === said ? before : text.value);
    if (outcome.edited) editLast(outcome.edited);
    showOutcome(outcome);
    if (said.startsWith("/")) onCommand();
    chooseUsualMode(box);
    scrollToEnd();
  } catch (problem) {
    showProblem(problem);
    if (problem instanceof ServerProblem && problem.code === "not_last") endEdit();
  }
  state.isSending = false;
  endStaleEdit();
  button?.removeAttribute("disabled");
  previewSoon();
}

/**
 * Whether a text is more than the server takes.
 * @param {HTMLFormElement} box
 * @param {string} text
 */
function isTooLong(box, text) {
  const most = Number(box.dataset.most);
  // No character takes more than nine bytes in a form.
  return text.length * 9 > most && new URLSearchParams({ text }).toString().length > most;
}

/** @param {HTMLFormElement} box */
function tooLongWords(box) {
  return `The message is too long: the server takes ${Number(box.dataset.most).toLocaleString("en")} bytes at once.`;
}

/** A mode that was chosen for one message holds for that one alone. @param {HTMLFormElement} box */
function chooseUsualMode(box) {
  for (const mode of box.querySelectorAll("input[name=mode]")) {
    if (mode instanceof HTMLInputElement) mode.checked = mode.defaultChecked;
  }
}

/**
 * Takes another mode for the usual one; a choice for the message that is written stays.
 * @param {string | undefined} usual
 */
export function setUsualMode(usual) {
  const box = form();
  if (!box || !usual) return;
  const modes = [...box.querySelectorAll("input[name=mode]")].filter((mode) => mode instanceof HTMLInputElement);
  const wasUsual = modes.some((mode) => mode.checked && mode.defaultChecked);
  const before = modes.find((mode) => mode.defaultChecked)?.value;
  if (before === usual) return;
  const chosen = modes.find((mode) => mode.checked)?.value;
  for (const mode of modes) {
    mode.defaultChecked = mode.value === usual;
    mode.checked = mode.value === (wasUsual ? usual : chosen);
  }
  previewSoon();
}

function scrollToEnd() {
  const scroll = document.getElementById("scroll");
  if (scroll) scroll.scrollTop = 0;
}

/** Looks what would be sent, once nothing was typed for a moment and while no turn runs. */
export function previewSoon() {
  clearTimeout(state.timer);
  state.timer = window.setTimeout(preview, PREVIEW_AFTER);
}

async function preview() {
  const [box, meter] = [form(), document.getElementById("meter")];
  const text = field()?.value ?? "";
  if (!box || !meter) return;
  const asked = ++state.asked;
  const shown = await drawMeter(box, text);
  if (asked === state.asked) meter.replaceChildren(...shown);
}

/**
 * What would be sent, or why nothing would.
 * @param {HTMLFormElement} box
 * @param {string} text
 * @returns {Promise<Element[]>}
 */
async function drawMeter(box, text) {
  if (isTooLong(box, text)) return obstacle(tooLongWords(box));
  if (!text.trim() || openTurns().length > 0) return [];
  try {
    const response = await askForPreview(box, text, "meter");
    return parseFragment(await response.text());
  } catch (problem) {
    // That the server can't be reached, or wants a log-in, is told elsewhere.
    if (!(problem instanceof ServerProblem) || problem.isUnreachable || problem.needsLogin) return [];
    const hint = problem.hint ? `. ${problem.hint}` : "";
    return obstacle(`It can't be sent as it is: ${problem.message}${hint}`);
  }
}

/** @param {string} words */
function obstacle(words) {
  const line = element("p", "wait", "");
  line.append(...withCode(words));
  return [line];
}

/**
 * Shows all that would be sent, as a dialog.
 * @param {HTMLFormElement} box
 * @param {string} text
 */
function previewWhole(box, text) {
  const itHasNoAddress = null;
  openDialog(itHasNoAddress, () => askForPreview(box, text, "page"));
}

/**
 * @param {HTMLFormElement} box
 * @param {string} text
 * @param {"meter" | "page"} shows
 */
function askForPreview(box, text, shows) {
  const fields = new FormData(box);
  const mode = fields.get("mode");
  const { session } = conversation;
  return ask(session ? `/sessions/${session}/preview` : "/preview", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text, mode, agent: fields.get("agent"), edits: state.draft.edits, shows }),
  });
}
