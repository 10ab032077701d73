// Forms that stay on the page: sent as the browser would, and what comes of it is shown.

import { ask, parseFragment, problemBlock } from "./dom.js";

/**
 * What the server says came of a form.
 * @typedef {{go?: string, answer?: string, draft?: string}} FormOutcome
 */

/**
 * Sends a form.
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} button
 * @returns {Promise<FormOutcome>}
 */
export async function sendForm(form, button) {
  const data = new FormData(form, button);
  const body = new URLSearchParams();
  for (const [name, value] of data) if (typeof value === "string") body.append(name, value);
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
 * Sends all forms that say so without leaving the page.
 * @param {(form: HTMLFormElement, outcome: FormOutcome) => void} done
 */
export function catchForms(done) {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !("live" in form.dataset)) return;
    event.preventDefault();
    const button = event.submitter;
    // What a disabled button would send is left out, so it is read before.
    const sent = sendForm(form, button);
    button?.setAttribute("disabled", "");
    try {
      const outcome = await sent;
      clearAnswer();
      showOutcome(outcome);
      done(form, outcome);
    } catch (problem) {
      showProblem(problem);
    }
    button?.removeAttribute("disabled");
  });
}
