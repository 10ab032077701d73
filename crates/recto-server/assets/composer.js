// Where a message is written: Enter sends it, a draft is kept, and a bar shows what would be sent.

import { completeWhileTyping } from "./completion.js";
import { openDialog } from "./context.js";
import { ask, conversation, parseFragment } from "./dom.js";
import { clearAnswer, isUsualMode, sendForm, showOutcome, showProblem } from "./forms.js";
import { openTurns } from "./turns.js";

/** How long one has to have stopped typing before it is looked what would be sent. */
const PREVIEW_AFTER = 400;

const state = { timer: 0, asked: 0 };

/** @returns {HTMLFormElement | null} */
const form = () => document.querySelector("form.composer");

/** @returns {HTMLTextAreaElement | null} */
const field = () => document.querySelector("#draft");

const draftKey = () => `recto-draft-${conversation.session ?? "new"}`;

/**
 * Makes the composer live.
 * @param {() => void} onCommand what follows a command: it may have changed what is in the session
 */
export function liveComposer(onCommand) {
  const [box, text] = [form(), field()];
  if (!box || !text) return;
  if (!text.value) text.value = localStorage.getItem(draftKey()) ?? "";
  focusAtFirst(text);
  const completion = completeWhileTyping(text);
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || completion.isOpen()) return;
    event.preventDefault();
    if (text.value.trim()) box.requestSubmit();
  });
  text.addEventListener("input", () => {
    keepDraft(text.value);
    previewSoon();
  });
  box.addEventListener("change", previewSoon);
  box.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("#preview")) previewWhole(box, text.value);
  });
  document.getElementById("keep-last")?.addEventListener("click", (event) => {
    event.preventDefault();
    setEditing(false);
    writeDraft("");
  });
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    send(box, text, onCommand);
  });
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
 * Puts a text into the composer, to be changed and sent.
 * @param {string} draft
 */
export function writeDraft(draft) {
  const text = field();
  if (!text) return;
  text.value = draft;
  keepDraft(draft);
  text.focus();
  text.setSelectionRange(draft.length, draft.length);
}

/**
 * Puts the last message into the composer: what is sent then takes its place.
 * @param {string} said
 */
export function editLast(said) {
  writeDraft(said);
  setEditing(true);
}

/** @param {boolean} isEditing */
function setEditing(isEditing) {
  const line = document.getElementById("editing");
  const field = line?.querySelector("input");
  if (!line || !field) return;
  line.hidden = !isEditing;
  field.value = isEditing ? "last" : "";
}

/** @param {string} draft */
function keepDraft(draft) {
  if (draft) localStorage.setItem(draftKey(), draft);
  else localStorage.removeItem(draftKey());
}

/**
 * @param {HTMLFormElement} box
 * @param {HTMLTextAreaElement} text
 * @param {() => void} onCommand
 */
async function send(box, text, onCommand) {
  const said = text.value;
  const button = box.querySelector("button[type=submit]");
  button?.setAttribute("disabled", "");
  try {
    const outcome = await sendForm(box, null);
    clearAnswer();
    setEditing(false);
    // What was typed meanwhile stays.
    writeDraft(text.value === said ? "" : text.value);
    if (outcome.edited) editLast(outcome.edited);
    showOutcome(outcome);
    if (said.startsWith("/")) onCommand();
    chooseUsualMode(box);
    scrollToEnd();
  } catch (problem) {
    showProblem(problem);
  }
  button?.removeAttribute("disabled");
  previewSoon();
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
  if (!text.trim() || text.startsWith("/") || openTurns().length > 0) {
    meter.replaceChildren();
    return;
  }
  const asked = ++state.asked;
  try {
    const response = await askForPreview(box, text, "meter");
    const fresh = parseFragment(await response.text());
    if (asked === state.asked) meter.replaceChildren(...fresh);
  } catch {
    if (asked === state.asked) meter.replaceChildren();
  }
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
  const mode = isUsualMode(box, "mode") ? null : fields.get("mode");
  const { session } = conversation;
  return ask(session ? `/sessions/${session}/preview` : "/preview", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text, mode, agent: fields.get("agent"), shows }),
  });
}
