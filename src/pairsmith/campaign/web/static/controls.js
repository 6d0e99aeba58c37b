// Keys and clicks: which of them is an answer, and which one scrolls, selects, zooms or moves.

import { find } from "./common.js";
import { longParts, somethingScrolls } from "./parts.js";
import { zoomAll } from "./picture.js";
import { setup } from "./words.js";

const TWICE = 300; // milliseconds in which a second click belongs to the first
const FAR = 8; // pixels between press and release that make it no click

export function listen({ answer, undo, help }) {
  document.addEventListener("focusin", keepFocusFromMouse);
  document.addEventListener("keydown", (event) => press(event, keysFor(answer, undo, help)));
  listenToClicks(answer, undo, help);
}

// Keys

function keysFor(answer, undo, help) {
  const arrow = (side) => (event) => answer(side, setup.graded ? (event.shiftKey ? "much" : "slightly") : null);
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

// Who came to a sound by Tab plays and seeks it with the keys; who used the mouse answers with the keys next, of which
// the browser tells nothing while the controls of a sound have the focus. A button that was clicked would take Space.
let tabbed = false;

function keepFocusFromMouse(event) {
  const { target } = event;
  const clicked = target.closest("#pair, nav") && target.matches("button") && !target.matches(":focus-visible");
  if (clicked || (target.matches("audio") && !tabbed)) target.blur();
  tabbed = false;
}

function press(event, keys) {
  tabbed = event.key === "Tab";
  const { target } = event;
  if (find("instructions").open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches("input")) {
    if (event.key === "Enter" || event.key === "Escape") target.blur();
    return;
  }
  if (event.key.startsWith("Arrow") && target.closest("audio")) return; // it seeks
  if (scroll(event)) return;
  const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act || event.repeat) return;
  event.preventDefault();
  act(event);
}

// Whether this key scrolls: the text that has the focus, or the one under the mouse, or both.
function scroll(event) {
  const down = { ArrowDown: 0, PageDown: 1, " ": event.shiftKey ? -1 : 1, ArrowUp: 0, PageUp: -1 }[event.key];
  if (down === undefined || !somethingScrolls()) return false;
  if (event.key === " " && event.target.closest("button, a, audio")) return false;
  const long = longParts();
  if (long.length === 0 || long.includes(event.target)) return true; // the browser does it
  const hovered = long.filter((parts) => parts.matches(":hover"));
  const items = long.filter((parts) => !parts.matches(".prompt")); // which are read after the prompt
  for (const parts of [hovered, items, long].find((some) => some.length)) {
    const by = down === 0 ? (event.key === "ArrowDown" ? 60 : -60) : 0.9 * down * parts.clientHeight;
    parts.scrollBy({ top: by });
  }
  event.preventDefault();
  return true;
}

// Clicks

let clickedAt = -Infinity; // the last one
let second = false; // whether the one that is under way came too soon after it
let pressed = null; // where the mouse or a finger went down, and whether something was selected then

const selected = () => String(window.getSelection()) !== "";

function listenToClicks(answer, undo, help) {
  document.addEventListener("pointerdown", (event) => {
    pressed = { x: event.clientX, y: event.clientY, selected: selected() };
  }, true);
  document.addEventListener("click", () => {
    const now = performance.now();
    second = now - clickedAt < TWICE;
    clickedAt = now;
  }, true);
  for (const button of document.querySelectorAll("[data-choice]")) {
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      if (!second) answer(button.dataset.choice, button.dataset.strength ?? null);
    });
  }
  for (const side of ["left", "right"]) {
    find(side).addEventListener("click", (event) => {
      const dragged = pressed && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > FAR;
      const selecting = selected() || pressed?.selected; // the click that ends a selection does nothing else
      if (event.target.closest("audio, a") || dragged || selecting || second || setup.graded) return;
      answer(side);
    });
  }
  find("undo").addEventListener("click", () => second || undo());
  find("help").addEventListener("click", help);
}
