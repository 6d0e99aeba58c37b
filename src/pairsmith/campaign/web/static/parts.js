// What is shown of a pair: texts, pictures and sounds on two sides, and what these sides are called.

import { find } from "./common.js";
import { pictureOf } from "./picture.js";
import { say } from "./words.js";

const SIDES = ["left", "right"];
const stacked = window.matchMedia("(max-width: 40rem) and (orientation: portrait)"); // as in campaign.css

export const nameOf = (side) => say(stacked.matches ? { left: "upper", right: "lower" }[side] : side);

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

function textOf(part) {
  const element = document.createElement("div");
  element.className = part.kind === "markdown" ? "text" : "text plain";
  if (part.kind === "markdown") element.innerHTML = part.html; // sanitised by the server
  else element.textContent = part.text;
  for (const link of element.querySelectorAll("a")) link.target = "_blank";
  return element;
}

// A file that cannot be loaded says so, and what to do: nobody can judge what they do not see or hear.
function sayIfNotLoaded(frame) {
  frame.querySelector("img, audio").addEventListener("error", () => {
    frame.className = "text";
    frame.textContent = say("not_loaded");
  });
  return frame;
}

const makers = {
  image: (part) => sayIfNotLoaded(pictureOf(part.url)),
  audio: (part) => sayIfNotLoaded(soundOf(part)),
};

// Elements are made when a pair arrives, so that its pictures load before it is shown. The same pair, with another
// question, keeps those of the one before it: what was zoomed, scrolled or played stays so.
export function withElements(pair, before) {
  const elementsOf = (parts) => parts.map((part) => (makers[part.kind] || textOf)(part));
  if (before && pair.left_id === before.left_id && pair.right_id === before.right_id) {
    return { ...pair, elements: before.elements, above: before.above };
  }
  return {
    ...pair,
    elements: SIDES.map((side) => elementsOf(pair[side])),
    above: pair.prompt ? elementsOf([pair.prompt]) : [],
  };
}

export function putOnScreen(pair) {
  putPrompt(pair ? pair.above : []);
  SIDES.forEach((side, at) => {
    const parts = find(side).querySelector(".parts");
    const elements = pair ? pair.elements[at] : [];
    if (elements.length === 0 || parts.firstChild !== elements[0]) {
      parts.replaceChildren(...elements);
      parts.scrollTop = 0;
    }
    find(side).hidden = pair === null;
  });
  nameSides();
  letLongPartsScroll();
}

// What both items answer, above them. A prompt that stays the same stays where it was scrolled to.
function putPrompt(elements) {
  const place = find("prompt").querySelector(".prompt");
  find("prompt").hidden = elements.length === 0;
  const same = elements.length > 0 && place.innerHTML === elements[0].outerHTML;
  if (same) return;
  place.replaceChildren(...elements);
  place.scrollTop = 0;
}

function nameSides() {
  for (const side of SIDES) {
    const name = nameOf(side);
    find(side).setAttribute("aria-label", name);
    for (const image of find(side).querySelectorAll("img")) image.alt = say("picture", { side: name });
    for (const sound of find(side).querySelectorAll("audio")) sound.setAttribute("aria-label", say("sound", { side: name }));
    for (const button of find(side).querySelectorAll("[data-choice]")) {
      const { strength } = button.dataset;
      if (strength) button.setAttribute("aria-label", `${name}: ${say(strength)}`);
      else button.querySelector("span").textContent = name;
    }
  }
}

export const longParts = () => [...document.querySelectorAll(".parts, .prompt")]
  .filter((parts) => parts.scrollHeight > parts.clientHeight + 1);

export const somethingScrolls = () => longParts().length > 0
  || document.documentElement.scrollHeight > window.innerHeight + 1;

// What is too long for its place can be reached by Tab, and scrolled by keys; then the arrow down is no tie.
function letLongPartsScroll() {
  const long = longParts();
  for (const parts of document.querySelectorAll(".parts, .prompt")) parts.tabIndex = long.includes(parts) ? 0 : -1;
  const key = document.querySelector("[data-choice=tie] kbd");
  if (key) key.textContent = somethingScrolls() ? "T" : "↓";
}

stacked.addEventListener("change", nameSides);
window.addEventListener("resize", letLongPartsScroll);
find("pair").addEventListener("load", letLongPartsScroll, true); // of pictures
