// Parts of pages: fetched from the server, which alone draws them, and put into place.

/** An answer of the server that says what went wrong. */
export class ServerProblem extends Error {
  /** @param {{title?: string, hint?: string, status?: number, code?: string, remedy?: {words?: string}}} told */
  constructor(told) {
    super(told.title ?? "The server can't be reached.");
    /** What programs tell problems apart by. */
    this.code = told.code;
    /** Whether nothing answered, or a server that is about to end: it is over when one answers again. */
    this.isUnreachable = told.title === undefined || told.code === "shutting_down";
    const { hint, remedy } = told;
    /** @type {string | undefined} */
    this.hint = hint && remedy?.words ? `${hint} (${remedy.words})` : (hint ?? remedy?.words);
    /** Whether somebody has to log in first. */
    this.needsLogin = told.status === 401;
  }
}

/**
 * The elements of a fragment of HTML. Scripts in it never run.
 * @param {string} html
 * @returns {Element[]}
 */
export function parseFragment(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return [...parsed.body.children].map((element) => document.importNode(element, true));
}

/**
 * Asks the server, and says what went wrong where it does not answer.
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
export async function ask(path, options) {
  const response = await fetch(path, options).catch(() => {
    throw new ServerProblem({});
  });
  if (response.ok) return response;
  const told = await response.json().catch(() => ({ title: `The server answered ${response.status}.` }));
  throw new ServerProblem(told);
}

/**
 * A part of a page, as the server draws it.
 * @param {string} path
 * @returns {Promise<Element[]>}
 */
export async function fetchFragment(path) {
  return parseFragment(await (await ask(path)).text());
}

/** What can't be seen, or turns the order of what stands around it; not what joins others. */
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/gu;

/**
 * An element with a class and a text in it, in which nothing hides.
 * @param {string} tag
 * @param {string} className
 * @param {string} text
 */
export function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text.replace(UNSEEN, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`);
  return made;
}

/**
 * A text of Recto's own, in which what stands between backticks is what a machine reads.
 * @param {string} text
 * @returns {(string | HTMLElement)[]}
 */
export function withCode(text) {
  const parts = text.split("`");
  // One that is left over is a character like any other.
  if (parts.length % 2 === 0) parts.push(parts.splice(-2).join("`"));
  return parts.map((part, at) => (at % 2 === 1 ? element("code", "", part) : part));
}

/**
 * A problem as a block of the page.
 * @param {unknown} problem
 */
export function problemBlock(problem) {
  const block = element("div", "block error", "");
  block.setAttribute("role", "alert");
  const title = element("h3", "", "");
  title.append(...withCode(problem instanceof Error ? problem.message : String(problem)));
  block.append(title);
  if (problem instanceof ServerProblem && problem.isUnreachable) block.dataset.unreachable = "";
  if (problem instanceof ServerProblem && problem.hint) {
    const hint = element("p", "", "");
    hint.append(element("b", "", "Hint:"), " ", ...withCode(problem.hint));
    block.append(hint);
  }
  if (problem instanceof ServerProblem && problem.needsLogin) {
    const login = element("a", "", "Log in");
    login.setAttribute("href", `/login?to=${encodeURIComponent(location.pathname)}`);
    const way = element("p", "", "");
    way.append(login);
    block.append(way);
  }
  return block;
}

/**
 * Puts new children into an element, and the focus back to where it was: to what stands there for
 * what had it, or to the next of its kind where that is gone.
 * @param {Element} target
 * @param {Element} source
 */
export function replaceInside(target, source) {
  const active = document.activeElement;
  const candidates = active && target.contains(active) ? nearestFirst(target, active) : [];
  target.replaceChildren(...source.childNodes);
  if (candidates.length === 0) return;
  const fresh = new Map(controls(target).map((control) => [identity(control), control]));
  // What is read meanwhile stays in sight.
  candidates.map((name) => fresh.get(name)).find(Boolean)?.focus({ preventScroll: true });
}

/** What can have the focus. @param {Element} root @returns {HTMLElement[]} */
function controls(root) {
  return [...root.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")].filter(
    (control) => control instanceof HTMLElement,
  );
}

/** What a control is known by, also when it is drawn anew. @param {Element} control */
function identity(control) {
  const { id, tagName } = control;
  return id || ["name", "value", "href"].map((name) => control.getAttribute(name)).concat(tagName).join("|");
}

/**
 * The controls of an element, as they are known: the one that has the focus, then those of its name,
 * those behind it first, and then all others, the nearest in front of it first.
 * @param {Element} root
 * @param {Element} active
 */
function nearestFirst(root, active) {
  const all = controls(root);
  const at = all.findIndex((control) => control === active);
  if (at < 0) return [];
  const before = all.slice(0, at).reverse();
  const ordered = [...all.slice(at), ...before];
  const name = active.getAttribute("name");
  const isLike = (/** @type {Element} */ control) => name !== null && control.getAttribute("name") === name;
  return [active, ...ordered.filter(isLike), ...before, ...ordered].map(identity);
}

/** The conversation that the page shows; nothing where it shows none yet. */
export const conversation = {
  /** @type {string | undefined} */
  session: document.querySelector("main")?.dataset.session,
  /** The agent that it is with, where there are several. @type {string | undefined} */
  agent: document.querySelector("main")?.dataset.agent,
};

/**
 * What says in an address which conversation is meant.
 * @param {string} name what the session is called there
 */
export function conversationQuery(name) {
  const { session, agent } = conversation;
  return new URLSearchParams({ ...(session && { [name]: session }), ...(agent && { agent }) });
}
