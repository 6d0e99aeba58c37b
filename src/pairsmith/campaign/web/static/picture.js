// A picture that buttons, wheel, keys or two fingers zoom and that dragging moves. None of this is an answer.

import { findAll } from "./common.js";
import { say } from "./words.js";

const MAX_ZOOM = 8;
const ZOOM_STEP = 1.5;
const MIN_DRAG = 5; // pixels; a trembling hand moves less at a time

/** The zoom function of each frame. @type {WeakMap<Element, Zoom>} */
const zooms = new WeakMap();

/** Zoom all pictures by a factor; 0 shows them whole. @param {number} factor */
export function zoomAll(factor) {
  for (const frame of findAll(".picture")) zooms.get(frame)?.(factor);
}

/** @type {(text: string, key: string, onClick: () => void) => HTMLButtonElement} */
function button(text, key, onClick) {
  const element = document.createElement("button");
  element.type = "button";
  element.tabIndex = -1; // the same can be done with keys
  element.textContent = text;
  element.title = say(key);
  element.setAttribute("aria-label", say(key));
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    onClick();
  });
  return element;
}

/** @param {string} url */
export function pictureOf(url) {
  const frame = document.createElement("div");
  frame.className = "picture";
  const image = document.createElement("img");
  image.draggable = false;
  image.addEventListener("load", () => {
    frame.style.setProperty("--ratio", String((image.naturalWidth || 1) / (image.naturalHeight || 1)));
  });
  image.src = url;
  const zoom = makeZoom(frame, image);
  zooms.set(frame, zoom);
  const buttons = document.createElement("div");
  buttons.className = "zoom";
  buttons.append(
    button("+", "zoom_in", () => zoom(ZOOM_STEP)),
    button("−", "zoom_out", () => zoom(1 / ZOOM_STEP)),
    button("⤢", "zoom_reset", () => zoom(0)),
  );
  frame.append(image, buttons);
  followPointers(frame, zoom);
  return frame;
}

/**
 * Return zoom(factor, at, by): it scales around the point `at` of the frame, then moves the picture by `by`, and
 * returns whether the scale has changed.
 * @type {(frame: HTMLElement, image: HTMLElement) => Zoom}
 */
function makeZoom(frame, image) {
  let [scale, left, top] = [1, 0, 0];
  return (factor, at = [frame.clientWidth / 2, frame.clientHeight / 2], by = [0, 0]) => {
    const before = scale;
    scale = Math.min(MAX_ZOOM, Math.max(1, scale * factor));
    /** @type {(position: number, size: number) => number} */
    const clamp = (position, size) => Math.min(0, Math.max(size * (1 - scale), position));
    left = clamp(at[0] - ((at[0] - left) * scale) / before + by[0], frame.clientWidth);
    top = clamp(at[1] - ((at[1] - top) * scale) / before + by[1], frame.clientHeight);
    image.style.transform = `translate(${left}px, ${top}px) scale(${scale})`;
    frame.classList.toggle("zoomed", scale > 1);
    return scale !== before;
  };
}

/** @type {(frame: HTMLElement, zoom: Zoom) => void} */
function followPointers(frame, zoom) {
  /** Where the fingers, or the mouse, are. @type {Map<number, [number, number]>} */
  const pointers = new Map();
  let moved = false;
  /** @type {(x: number, y: number) => [number, number]} */
  const inFrame = (x, y) => [x - frame.getBoundingClientRect().left, y - frame.getBoundingClientRect().top];

  /** @param {PointerEvent} event */
  function start(event) {
    if (pointers.size === 0) moved = false;
    if (/** @type {Element} */ (event.target).closest(".zoom")) return;
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
  }

  /** @param {PointerEvent} event */
  function move(event) {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    /** @type {[number, number]} */
    const now = [event.clientX, event.clientY];
    const by = [now[0] - before[0], now[1] - before[1]];
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      /** @param {[number, number]} point */
      const distance = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
      zoom(distance(now) / (distance(before) || 1), inFrame((now[0] + other[0]) / 2, (now[1] + other[1]) / 2),
        [by[0] / 2, by[1] / 2]);
      moved = true;
    } else if (frame.classList.contains("zoomed")) {
      if (!moved && Math.hypot(...by) < MIN_DRAG) return; // small moves add up, as the start stays where it was
      zoom(1, undefined, [by[0], by[1]]);
      moved = true;
      if (!frame.hasPointerCapture(event.pointerId)) frame.setPointerCapture(event.pointerId);
    }
    pointers.set(event.pointerId, now);
  }

  /** @param {PointerEvent} event */
  const end = (event) => pointers.delete(event.pointerId);
  frame.addEventListener("pointerdown", start);
  frame.addEventListener("pointermove", move);
  frame.addEventListener("pointerup", end);
  frame.addEventListener("pointercancel", end);
  frame.addEventListener("pointerleave", (event) => frame.hasPointerCapture(event.pointerId) || end(event));
  frame.addEventListener("click", (event) => moved && event.stopPropagation(), true);
  // The wheel scrolls where nothing can be zoomed any more, and while a text above is scrolled back.
  frame.addEventListener("wheel", (event) => {
    const zoomsIn = event.deltaY < 0;
    const scrolledDown = (frame.closest(".parts")?.scrollTop ?? 0) > 0 && !frame.classList.contains("zoomed");
    if (zoomsIn && scrolledDown && !event.ctrlKey) return;
    if (zoom(Math.exp(-event.deltaY / 400), inFrame(event.clientX, event.clientY)) || event.ctrlKey) {
      event.preventDefault();
    }
  }, { passive: false });
}
