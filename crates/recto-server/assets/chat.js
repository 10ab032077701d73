// The chat page: everything is there without this; with it, it is live.

import { liveComposer, previewSoon, writeDraft } from "./composer.js";
import { fetchFragment } from "./dom.js";
import { catchForms } from "./forms.js";
import { listenToKeys } from "./keys.js";
import { followSessions, refreshPanel } from "./live.js";

document.documentElement.classList.add("live");
liveComposer();
listenToKeys();
catchForms((form, outcome) => {
  if (outcome.draft) writeDraft(outcome.draft);
  if (form.closest("#in-session")) {
    const add = form.querySelector("input[name=add]");
    if (add instanceof HTMLInputElement) add.value = "";
    refreshPanel();
  }
  previewSoon();
});
saveSettingsOnChange();
loadEarlier();
followSessions();

/** A setting holds as soon as it is chosen. */
function saveSettingsOnChange() {
  document.addEventListener("change", (event) => {
    const field = event.target;
    if (!(field instanceof HTMLElement)) return;
    const form = field.closest("#in-session form.form");
    if (form instanceof HTMLFormElement) form.requestSubmit();
    const add = field.closest("#in-session input[name=add]");
    if (add instanceof HTMLInputElement && add.value && add.form) add.form.requestSubmit();
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
