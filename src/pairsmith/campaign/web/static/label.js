// The label page. The pair on the screen is `current`; `upcoming` is loaded while it is looked at. An answer moves on at
// once and is sent in the background, in order, again and again until the server has it.

import { ask, counted, find, pause } from "./common.js";

const buttons = [...document.querySelectorAll("[data-choice]")];
const ties = buttons.some((button) => button.dataset.choice === "tie");
const said = { left: "Left", right: "Right", tie: "Tie", skip: "Skipped" };

let current = null;
let upcoming = null;
let shownAt = 0; // when the current pair came to the screen
let pairNumber = 0; // of the current pair, since the page was loaded
let undoable = null; // the lease whose answer can be taken back
const unsent = new Set(); // leases whose answers the server does not have yet: they must not be shown again
let sending = Promise.resolve(); // all that is to be sent, one after the other
let fetching = false;

// Progress and messages

function tell(text, bad = false) {
  find("status").textContent = text;
  find("status").classList.toggle("bad", bad);
}

// Requests run beside each other. Each takes a ticket when it is sent: what one says that was sent before the last one
// told is not news any more.
let lastTicket = 0;
let newestTold = 0;

const ticketFor = () => ++lastTicket;

function tellProgress(progress, ticket) {
  if (ticket < newestTold) return;
  newestTold = ticket;
  undoable = progress.undo;
  find("undo").disabled = undoable === null;
  find("bar").max = Math.max(1, progress.answers + progress.wanted);
  find("bar").value = progress.answers;
  const all = counted(progress.answers + progress.wanted, "answer");
  find("count").textContent = `${progress.answers} of ${all} · ${progress.yours} by you`;
}

// Showing a pair

function imageOf(part, side) {
  const element = document.createElement("img");
  element.alt = `${side} picture`;
  element.draggable = false;
  element.src = part.url;
  return element;
}

function soundOf(part, side) {
  const element = document.createElement("audio");
  element.controls = true;
  element.preload = "auto";
  element.setAttribute("aria-label", `${side} sound`);
  element.addEventListener("play", () => {
    for (const other of document.querySelectorAll("audio")) if (other !== element) other.pause();
  });
  element.src = part.url;
  return element;
}

function textOf(part) {
  const element = document.createElement("div");
  element.className = part.kind === "markdown" ? "text" : "text plain";
  if (part.kind === "markdown") element.innerHTML = part.html; // sanitised by the server
  else element.textContent = part.text;
  for (const link of element.querySelectorAll("a")) link.target = "_blank";
  return element;
}

function elementsOf(parts, side) {
  const kinds = { image: imageOf, audio: soundOf };
  return parts.map((part) => (kinds[part.kind] || textOf)(part, side));
}

// Elements are made when a pair arrives, so that its pictures load before it is shown.
function withElements(pair) {
  return pair && { ...pair, elements: [elementsOf(pair.left, "Left"), elementsOf(pair.right, "Right")] };
}

function show(pair) {
  current = pair;
  shownAt = performance.now();
  find("pair").classList.toggle("none", pair === null);
  find("pair").dataset.lease = pair ? pair.lease : "";
  find("empty").hidden = true;
  ["left", "right"].forEach((side, at) => {
    find(side).querySelector(".parts").replaceChildren(...(pair ? pair.elements[at] : []));
    find(side).querySelector(".parts").scrollTop = 0;
    find(side).hidden = pair === null;
  });
  letLongPartsScroll();
  for (const button of buttons) button.disabled = pair === null;
  if (pair) pairNumber += 1;
}

// What is too long for its place can be reached by Tab, and scrolled by keys.
function letLongPartsScroll() {
  for (const parts of document.querySelectorAll(".parts")) {
    parts.tabIndex = parts.scrollHeight > parts.clientHeight ? 0 : -1;
  }
}

// Asking and answering

async function fetchPairs() {
  if (fetching) return;
  fetching = true;
  try {
    while (current === null || upcoming === null) {
      await sending;
      const holding = [current, upcoming].filter(Boolean).map((pair) => pair.lease).concat([...unsent]);
      const ticket = ticketFor();
      const found = await ask("/api/next", { holding });
      tellProgress(found.progress, ticket);
      if (found.pair === null) {
        if (current !== null) return;
        show(null);
        find("empty").hidden = false;
        await pause(2000);
      } else if (current === null) {
        show(withElements(found.pair));
      } else {
        upcoming = withElements(found.pair);
      }
    }
  } catch (error) {
    tell(`Cannot get the next pair: ${error.message}`, true);
    if (!error.refused) setTimeout(fetchPairs, 2000);
  } finally {
    fetching = false;
  }
}

function answer(choice) {
  if (current === null || (choice === "tie" && !ties)) return;
  const given = { lease: current.lease, choice, seconds: (performance.now() - shownAt) / 1000 };
  unsent.add(given.lease);
  sending = sending.then(() => deliver(given));
  tell(upcoming ? `${said[choice]}. Pair ${pairNumber + 1}.` : `${said[choice]}.`);
  show(upcoming);
  upcoming = null;
  sending.then(fetchPairs);
}

async function deliver(given) {
  for (let wait = 500; ; wait = Math.min(2 * wait, 8000)) {
    const ticket = ticketFor();
    try {
      tellProgress((await ask("/api/answer", given)).progress, ticket);
      break;
    } catch (error) {
      if (error.refused) {
        tell(`Not counted: ${error.message}.`, true);
        break;
      }
      tell("Your last answer is not saved yet; trying again. Keep this page open.", true);
      await pause(wait);
    }
  }
  unsent.delete(given.lease);
  if (unsent.size === 0 && find("status").textContent.startsWith("Your last answer is not saved")) tell("Saved.");
}

function undo() {
  sending = sending.then(async () => {
    if (undoable === null) return;
    const ticket = ticketFor();
    try {
      const found = await ask("/api/undo", { lease: undoable });
      tellProgress(found.progress, ticket);
      if (current !== null) upcoming = current;
      show(withElements(found.pair));
      tell("Taken back. Answer this pair again.");
    } catch (error) {
      tell(`Nothing taken back: ${error.message}.`, true);
    }
  });
}

// Keys, clicks and leaving

const help = () => find("instructions").showModal();
const keys = {
  ArrowLeft: () => answer("left"),
  ArrowRight: () => answer("right"),
  ArrowDown: () => answer("tie"),
  t: () => answer("tie"),
  s: () => answer("skip"),
  u: undo,
  Backspace: undo,
  "?": help,
};

// Who came to a sound or a long text by Tab plays, seeks and scrolls it with the keys; who used the mouse answers with
// the keys next, of which the browser tells nothing while the controls of a sound have the focus.
let tabbed = false;

function keepFocusFromMouse(event) {
  if (event.target.matches("audio, .parts") && !tabbed) event.target.blur();
  tabbed = false;
}

function press(event) {
  tabbed = event.key === "Tab";
  const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  const seeking = event.key.startsWith("Arrow") && event.target.closest("audio");
  const scrolling = event.key === "ArrowDown" && event.target.matches(".parts");
  const busy = find("instructions").open || seeking || scrolling;
  if (!act || busy || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowDown" && !ties) return; // it scrolls
  event.preventDefault();
  act();
}

function listenToClicks() {
  for (const button of buttons) {
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      answer(button.dataset.choice);
    });
  }
  for (const side of ["left", "right"]) {
    find(side).addEventListener("click", (event) => {
      const selecting = String(window.getSelection()) !== "";
      if (!event.target.closest("audio, a") && !selecting) answer(side);
    });
  }
  find("undo").addEventListener("click", undo);
  find("help").addEventListener("click", help);
}

document.addEventListener("focusin", keepFocusFromMouse);
document.addEventListener("keydown", press);
listenToClicks();
window.addEventListener("resize", letLongPartsScroll);
find("pair").addEventListener("load", letLongPartsScroll, true); // of pictures
window.addEventListener("beforeunload", (event) => {
  if (unsent.size > 0) event.preventDefault();
});
fetchPairs();
