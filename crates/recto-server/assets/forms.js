// Forms that stay on the page: sent as the browser would, and what comes of it is shown.

import { ask, element, parseFragment, problemBlock, withCode } from "./dom.js";

/**
 * What the server says came of a form.
 * @typedef {{go?: string, answer?: string, edited?: {text: string, message: string}, draft?: string}} FormOutcome
 */

/**
 * Sends a form.
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} button
 * @param {Record<string, string>} [more] fields that it does not have itself
 * @returns {Promise<FormOutcome>}
 */
export async function sendForm(form, button, more) {
  const data = new FormData(form, button);
  const body = new URLSearchParams(more);
  for (const [name, value] of data) {
    if (typeof value === "string") body.append(name, value);
  }
  const response = await ask(form.action, { method: "POST", body, headers: { "x-recto-live": "1" } });
  return response.json();
}

/**
 * Shows what came of a form: another page, or what a command has answered.
 * @param {FormOutcome} outcome
 */
export function showOutcome(outcome) {
  if (outcome.go) {
    location.assign(outcome.go);
    return;
  }
  if (outcome.answer) showAnswer(parseFragment(outcome.answer));
}

/** @param {unknown} problem */
export function showProblem(problem) {
  showAnswer([problemBlock(problem)]);
}

/** @param {Element[]} elements */
function showAnswer(elements) {
  const place = document.getElementById("answers");
  place?.replaceChildren(...elements);
  place?.scrollIntoView({ block: "nearest" });
}

/** Takes away what was answered before. */
export function clearAnswer() {
  document.getElementById("answers")?.replaceChildren();
}

/**
 * Says what is wrong beside the field that it is about.
 * @param {HTMLElement} field
 * @param {unknown} problem
 */
function showFieldProblem(field, problem) {
  const told = problem instanceof Error ? problem.message : String(problem);
  const words = element("p", "field-problem", "");
  words.setAttribute("role", "alert");
  words.append(...withCode(told));
  field.after(words);
}

/** What is said of a field is about what stood in it: not about what is typed then. */
function dropProblemsOnInput() {
  document.addEventListener("input", ({ target }) => {
    const form = target instanceof Element ? target.closest("form") : null;
    for (const old of form?.querySelectorAll(".field-problem") ?? []) old.remove();
  });
}

/** The forms that are being sent. @type {WeakSet<HTMLFormElement>} */
const underWay = new WeakSet();

/**
 * Sends all forms that say so without leaving the page, each once at a time.
 * @param {(form: HTMLFormElement, outcome: FormOutcome | null) => void} done told of those that failed, too
 */
export function catchForms(done) {
  dropProblemsOnInput();
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !("live" in form.dataset)) return;
    event.preventDefault();
    // Enter in a field says both that it has changed and that the form is to be sent.
    if (underWay.has(form)) return;
    underWay.add(form);
    for (const old of form.querySelectorAll(".field-problem")) old.remove();
    const button = event.submitter;
    // It keeps the focus, which a disabled one would lose.
    button?.setAttribute("aria-disabled", "true");
    try {
      const outcome = await sendForm(form, button);
      clearAnswer();
      showOutcome(outcome);
      done(form, outcome);
    } catch (problem) {
      const field = form.querySelector("[data-changed], input[name=add]");
      if (field instanceof HTMLElement) showFieldProblem(field, problem);
      else showProblem(problem);
      done(form, null);
    }
    underWay.delete(form);
    button?.removeAttribute("aria-disabled");
  });
}
