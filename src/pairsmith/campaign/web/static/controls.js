// Keys and clicks on the rating page: which of them answer, and which scroll, select, zoom or move.

import { find, findAll } from "./common.js";
import { longParts, somethingScrolls } from "./parts.js";
import { zoomAll } from "./picture.js";
import { setup } from "./words.js";

const DOUBLE_CLICK_MILLISECONDS = 300; // a second click within this time belongs to the first
const MAX_CLICK_PIXELS = 8; // a press that moves further than this is a drag

/**
 * What keys and clicks do.
 * @typedef {object} Actions
 * @property {(choice: Choice, strength?: Strength | null) => void} answer
 * @property {() => void} undo
 * @property {() => void} help
 */

/** @param {Actions} actions */
export function listen(actions) {
  document.addEventListener("focusin", keepFocusFromMouse);
  const keys = keysFor(actions);
  document.addEventListener("keydown", (event) => pressKey(event, keys));
  listenToClicks(actions);
}

// Keys

/**
 * @param {Actions} actions
 * @returns {Record<string, (event: KeyboardEvent) => void>}
 */
function keysFor({ answer, undo, help }) {
  /** @type {(side: Side) => (event: KeyboardEvent) => void} */
  const arrow = (side) => (event) => answer(side, setup.graded ? (event.shiftKey ? "much" : "slightly") : null);
  /** @type {Record<string, () => void>} */
  const numbers = setup.graded ? {
    1: () => answer("left", "much"),
    2: () => answer("left", "slightly"),
    3: () => answer("tie"),
    4: () => answer("right", "slightly"),
    5: () => answer("right", "much"),
  } : {};
  return {
    ...numbers,
    ArrowLeft: arrow("left"),
    ArrowRight: arrow("right"),
    ArrowDown: () => answer("tie"),
    t: () => answer("tie"),
    s: () => answer("skip"),
    u: undo,
    Backspace: undo,
    c: () => find("comment")?.focus(),
    "+": () => zoomAll(1.5),
    "=": () => zoomAll(1.5), // the same key without Shift
    "-": () => zoomAll(1 / 1.5),
    0: () => zoomAll(0),
    "?": help,
  };
}

// Somebody who reached a sound by Tab plays and seeks with the keys. Somebody who played it with the mouse wants to
// answer with the keys next, but while its controls have the focus, the browser does not pass keys on. So a click does
// not leave the focus on a sound, nor on a button, which would take Space.
let pressedTab = false;

/** @param {FocusEvent} event */
function keepFocusFromMouse(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const isClickedButton = target.closest("#pair, nav") && target.matches("button") && !target.matches(":focus-visible");
  if (isClickedButton || (target.matches("audio") && !pressedTab)) target.blur();
  pressedTab = false;
}

/** @type {(event: KeyboardEvent, keys: ReturnType<typeof keysFor>) => void} */
function pressKey(event, keys) {
  pressedTab = event.key === "Tab";
  const target = /** @type {HTMLElement} */ (event.target);
  if (find("instructions").open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches("input")) {
    if (event.key === "Enter" || event.key === "Escape") target.blur();
    return;
  }
  if (event.key.startsWith("Arrow") && target.closest("audio")) return; // it seeks
  if (scroll(event, target)) return;
  const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action || event.repeat) return;
  event.preventDefault();
  action(event);
}

/**
 * Scroll if the key is meant for it, and return whether it is. It scrolls the text that has the focus, else the text
 * under the mouse, else the items.
 * @type {(event: KeyboardEvent, target: HTMLElement) => boolean}
 */
function scroll(event, target) {
  /** @type {Record<string, number>} */
  const pagesByKey = { ArrowDown: 0, PageDown: 1, " ": event.shiftKey ? -1 : 1, ArrowUp: 0, PageUp: -1 };
  const pages = pagesByKey[event.key]; // 0: a few lines
  if (pages === undefined || !somethingScrolls()) return false;
  if (event.key === " " && target.closest("button, a, audio")) return false;
  const long = longParts();
  if (long.length === 0 || long.includes(target)) return true; // the browser scrolls
  const hovered = long.filter((parts) => parts.matches(":hover"));
  const items = long.filter((parts) => !parts.matches(".prompt")); // they are read after the prompt
  for (const parts of [hovered, items, long].find((some) => some.length) ?? []) {
    const by = pages === 0 ? (event.key === "ArrowDown" ? 60 : -60) : 0.9 * pages * parts.clientHeight;
    parts.scrollBy({ top: by });
  }
  event.preventDefault();
  return true;
}

// Clicks

let lastClickAt = -Infinity;
let isDoubleClick = false; // whether the current click came too soon after the last one
/**
 * Where the mouse or a finger went down, and whether text was selected then.
 * @type {{x: number, y: number, selecting: boolean} | null}
 */
let press = null;

const isTextSelected = () => String(window.getSelection()) !== "";

/** @param {Actions} actions */
function listenToClicks({ answer, undo, help }) {
  document.addEventListener("pointerdown", (event) => {
    press = { x: event.clientX, y: event.clientY, selecting: isTextSelected() };
  }, true);
  document.addEventListener("click", () => {
    const now = performance.now();
    isDoubleClick = now - lastClickAt < DOUBLE_CLICK_MILLISECONDS;
    lastClickAt = now;
  }, true);
  for (const button of findAll("[data-choice]")) {
    const choice = /** @type {Choice} */ (button.dataset.choice);
    const strength = /** @type {Strength | undefined} */ (button.dataset.strength);
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      if (!isDoubleClick) answer(choice, strength);
    });
  }
  for (const side of /** @type {const} */ (["left", "right"])) {
    find(side).addEventListener("click", (event) => {
      const dragged = press && Math.hypot(event.clientX - press.x, event.clientY - press.y) > MAX_CLICK_PIXELS;
      const selecting = isTextSelected() || press?.selecting; // the click that ends a selection does nothing else
      const onControl = /** @type {Element} */ (event.target).closest("audio, a");
      if (onControl || dragged || selecting || isDoubleClick || setup.graded) return;
      answer(side);
    });
  }
  find("undo").addEventListener("click", () => isDoubleClick || undo());
  find("help").addEventListener("click", help);
}
