// The chat page: everything is there without this; with it, it is live.

import { addToDraft, editLast, liveComposer, previewSoon } from "./composer.js";
import { fetchFragment } from "./dom.js";
import { catchForms } from "./forms.js";
import { listenToKeys } from "./keys.js";
import { followSessions, refreshPanel } from "./live.js";
import { countSeconds, refreshTurn } from "./turns.js";

document.documentElement.classList.add("live");
liveComposer(refreshPanel);
listenToKeys();
catchForms((form, outcome) => {
  if (outcome?.edited) editLast(outcome.edited);
  if (outcome?.draft) addToDraft(outcome.draft);
  // What was answered or stopped stands otherwise now, also where somebody else was quicker.
  const turn = form.closest("article.turn");
  if (turn instanceof HTMLElement && turn.dataset.turn) refreshTurn(Number(turn.dataset.turn));
  // What was refused is not what holds.
  if (!outcome && form.matches("#in-session form[action$='/settings']")) form.reset();
  if (outcome && form.closest("#in-session")) {
    const add = form.querySelector("input[name=add]");
    if (add instanceof HTMLInputElement) add.value = "";
    for (const field of form.querySelectorAll("[data-changed]")) field.removeAttribute("data-changed");
    refreshPanel();
  }
  previewSoon();
});
countSeconds();
saveSettingsOnChange();
findAddedItem();
loadEarlier();
followSessions();

/** A setting holds as soon as it is chosen. */
function saveSettingsOnChange() {
  document.addEventListener("change", (event) => {
    const field = event.target;
    if (!(field instanceof HTMLElement)) return;
    const form = field.closest("#in-session form.form");
    if (form instanceof HTMLFormElement) {
      for (const other of form.querySelectorAll("[data-changed]")) other.removeAttribute("data-changed");
      field.dataset.changed = "";
      form.requestSubmit();
    }
    // One that was picked from the list. Half a word is left as it is.
    const add = addField(field);
    if (add && addable(add).includes(add.value)) add.form?.requestSubmit();
  });
}

/**
 * The field of the panel that adds an item, where this is it.
 * @param {EventTarget | null} target
 */
function addField(target) {
  return target instanceof HTMLInputElement && target.matches("#in-session input[name=add]") ? target : null;
}

/** The names that can be added. @param {HTMLInputElement} add */
function addable(add) {
  return [...(add.list?.options ?? [])].map((option) => option.value);
}

/** Enter takes the only item that has in its name what was typed. */
function findAddedItem() {
  document.addEventListener("keydown", (event) => {
    const add = addField(event.target);
    const sought = add?.value.trim().toLowerCase();
    if (!add || !sought || event.key !== "Enter" || event.isComposing) return;
    const found = addable(add).filter((name) => name.toLowerCase().includes(sought));
    if (found.length === 1) add.value = found[0];
  });
}

/** Earlier messages come when one scrolls up to where they would be. */
function loadEarlier() {
  const turns = document.getElementById("turns");
  const scroll = document.getElementById("scroll");
  if (!turns || !scroll) return;
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) load(entry.target);
  }, { root: scroll, rootMargin: "200px" });
  const load = async (/** @type {Element} */ link) => {
    observer.unobserve(link);
    const address = link.querySelector("a")?.href;
    if (!address) return;
    try {
      const earlier = await fetchFragment(`${address}&fragment=1`);
      link.replaceWith(...earlier);
      watch();
    } catch {
      observer.observe(link);
    }
  };
  const watch = () => {
    const link = turns.querySelector(".older");
    if (link) observer.observe(link);
  };
  turns.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest(".older") : null;
    if (!link) return;
    event.preventDefault();
    load(link);
  });
  watch();
}
