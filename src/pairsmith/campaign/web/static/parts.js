// The pair on the screen: texts, pictures and sounds on two sides below an optional prompt, and the names of the sides.

import { find, findAll, findFirst } from "./common.js";
import { pictureOf } from "./picture.js";
import { say } from "./words.js";

const SIDES = /** @type {const} */ (["left", "right"]);
const STACKED_NAMES = { left: "upper", right: "lower" };
const stacked = window.matchMedia("(max-width: 40rem) and (orientation: portrait)"); // as in campaign.css

/** @type {Part | null} */
let shownPrompt = null;

/** @param {Side} side */
export const nameOf = (side) => say(stacked.matches ? STACKED_NAMES[side] : side);

// Making elements

/** @param {Part} part */
function soundOf(part) {
  const element = document.createElement("audio");
  element.controls = true;
  element.preload = "auto";
  element.addEventListener("play", () => {
    for (const other of document.querySelectorAll("audio")) if (other !== element) other.pause();
  });
  element.src = part.url;
  const frame = document.createElement("div");
  frame.className = "sound";
  frame.append(element);
  return frame;
}

/** @param {Part} part */
function textOf(part) {
  const element = document.createElement("div");
  element.className = part.kind === "markdown" ? "text" : "text plain";
  if (part.kind === "markdown") element.innerHTML = part.html; // the server has sanitised it
  else element.textContent = part.text;
  for (const link of element.querySelectorAll("a")) link.target = "_blank";
  return element;
}

/**
 * Replace a file that cannot be loaded by a message: nobody can judge what they do not see or hear.
 * @param {HTMLElement} frame
 */
function replaceIfNotLoaded(frame) {
  findFirst("img, audio", frame).addEventListener("error", () => {
    frame.className = "text";
    frame.textContent = say("not_loaded");
  });
  return frame;
}

/** @param {Part} part */
function elementOf(part) {
  if (part.kind === "image") return replaceIfNotLoaded(pictureOf(part.url));
  if (part.kind === "audio") return replaceIfNotLoaded(soundOf(part));
  return textOf(part);
}

/**
 * Make the elements of a pair when it arrives, so that its pictures load before they are shown. If the previous pair
 * has the same items, with another question, its elements are kept: zoom, scrolling and playing go on.
 * @param {Pair} pair
 * @param {PreparedPair | null} previous
 * @returns {PreparedPair}
 */
export function prepare(pair, previous) {
  if (previous && pair.left_id === previous.left_id && pair.right_id === previous.right_id) {
    return { ...pair, elements: previous.elements };
  }
  const prompt = pair.prompt ? [elementOf(pair.prompt)] : [];
  return { ...pair, elements: { prompt, left: pair.left.map(elementOf), right: pair.right.map(elementOf) } };
}

// Putting them on the screen

/** @param {PreparedPair | null} pair */
export function putOnScreen(pair) {
  putPrompt(pair);
  for (const side of SIDES) {
    const parts = findFirst(".parts", find(side));
    const elements = pair ? pair.elements[side] : [];
    if (elements.length === 0 || parts.firstChild !== elements[0]) {
      parts.replaceChildren(...elements);
      parts.scrollTop = 0;
    }
    find(side).hidden = pair === null;
  }
  nameSides();
  makeLongPartsScroll();
}

/** @type {(one: Part | null, other: Part | null) => boolean} */
const haveSameContent = (one, other) => (
  one?.kind === other?.kind && one?.text === other?.text && one?.url === other?.url);

/**
 * Show the prompt. If the next pair has the same prompt, it stays where it was scrolled to.
 * @param {PreparedPair | null} pair
 */
function putPrompt(pair) {
  const prompt = pair?.prompt ?? null;
  if (haveSameContent(prompt, shownPrompt)) return;
  shownPrompt = prompt;
  const box = findFirst(".prompt", find("prompt"));
  find("prompt").hidden = prompt === null;
  box.replaceChildren(...(pair?.elements.prompt ?? []));
  box.scrollTop = 0;
}

function nameSides() {
  for (const side of SIDES) {
    const name = nameOf(side);
    const card = find(side);
    card.setAttribute("aria-label", name);
    for (const image of card.querySelectorAll("img")) image.alt = say("picture", { side: name });
    for (const sound of card.querySelectorAll("audio")) sound.setAttribute("aria-label", say("sound", { side: name }));
    for (const button of findAll("[data-choice]", card)) {
      const { strength } = button.dataset;
      if (strength) button.setAttribute("aria-label", `${name}: ${say(strength)}`);
      else findFirst("span", button).textContent = name;
    }
  }
}

// Scrolling

export const longParts = () => (
  findAll(".parts, .prompt").filter((parts) => parts.scrollHeight > parts.clientHeight + 1));

export const somethingScrolls = () => longParts().length > 0
  || document.documentElement.scrollHeight > window.innerHeight + 1;

// Text that is too long for its place can be reached by Tab and scrolled by keys. Then the down arrow is not a tie.
function makeLongPartsScroll() {
  const long = longParts();
  for (const parts of findAll(".parts, .prompt")) parts.tabIndex = long.includes(parts) ? 0 : -1;
  const key = document.querySelector("[data-choice=tie] kbd");
  if (key) key.textContent = somethingScrolls() ? "T" : "↓";
}

stacked.addEventListener("change", nameSides);
window.addEventListener("resize", makeLongPartsScroll);
find("pair").addEventListener("load", makeLongPartsScroll, true); // when a picture has loaded
