// A picture that is zoomed by buttons, wheel, keys or two fingers, and moved by dragging; none of it is an answer.

import { say } from "./words.js";

const MOST = 8; // times as large
const STEP = 1.5;
const zooms = new WeakMap(); // of each frame: zoom by a factor, around a place in it

export function zoomAll(factor) {
  for (const frame of document.querySelectorAll(".picture")) zooms.get(frame)(factor);
}

function button(text, key, act) {
  const element = document.createElement("button");
  element.type = "button";
  element.tabIndex = -1; // there are keys for it
  element.textContent = text;
  element.title = say(key);
  element.setAttribute("aria-label", say(key));
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    act();
  });
  return element;
}

export function pictureOf(url) {
  const frame = document.createElement("div");
  frame.className = "picture";
  const image = document.createElement("img");
  image.draggable = false;
  image.addEventListener("load", () => {
    frame.style.setProperty("--ratio", (image.naturalWidth || 1) / (image.naturalHeight || 1));
  });
  image.src = url;
  const zoom = letZoom(frame, image);
  zooms.set(frame, zoom);
  const buttons = document.createElement("div");
  buttons.className = "zoom";
  buttons.append(
    button("+", "zoom_in", () => zoom(STEP)),
    button("−", "zoom_out", () => zoom(1 / STEP)),
    button("⤢", "zoom_reset", () => zoom(0)),
  );
  frame.append(image, buttons);
  letMove(frame, zoom);
  return frame;
}

// zoom(factor, [x, y], [by x, by y]): the place (x, y) of the frame stays where it is, and all moves by so much.
function letZoom(frame, image) {
  let [scale, left, top] = [1, 0, 0];
  return (factor, at = [frame.clientWidth / 2, frame.clientHeight / 2], by = [0, 0]) => {
    const before = scale;
    scale = Math.min(MOST, Math.max(1, scale * factor));
    const within = (place, size) => Math.min(0, Math.max(size * (1 - scale), place));
    left = within(at[0] - ((at[0] - left) * scale) / before + by[0], frame.clientWidth);
    top = within(at[1] - ((at[1] - top) * scale) / before + by[1], frame.clientHeight);
    image.style.transform = `translate(${left}px, ${top}px) scale(${scale})`;
    frame.classList.toggle("zoomed", scale > 1);
    return scale !== before;
  };
}

function letMove(frame, zoom) {
  const touching = new Map(); // fingers, or the mouse, and where they are
  let moved = false;
  const inside = (x, y) => [x - frame.getBoundingClientRect().left, y - frame.getBoundingClientRect().top];

  function start(event) {
    if (touching.size === 0) moved = false;
    if (event.target.closest(".zoom")) return;
    touching.set(event.pointerId, [event.clientX, event.clientY]);
  }

  function move(event) {
    const before = touching.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    const by = [now[0] - before[0], now[1] - before[1]];
    const other = [...touching].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const apart = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]);
      zoom(apart(now) / (apart(before) || 1), inside((now[0] + other[0]) / 2, (now[1] + other[1]) / 2),
        [by[0] / 2, by[1] / 2]);
      moved = true;
    } else if (frame.classList.contains("zoomed")) {
      if (!moved && Math.hypot(...by) < 5) return; // a hand that trembles; it adds up
      zoom(1, undefined, by);
      moved = true;
      if (!frame.hasPointerCapture(event.pointerId)) frame.setPointerCapture(event.pointerId);
    }
    touching.set(event.pointerId, now);
  }

  const end = (event) => touching.delete(event.pointerId);
  frame.addEventListener("pointerdown", start);
  frame.addEventListener("pointermove", move);
  for (const name of ["pointerup", "pointercancel"]) frame.addEventListener(name, end);
  frame.addEventListener("pointerleave", (event) => frame.hasPointerCapture(event.pointerId) || end(event));
  frame.addEventListener("click", (event) => moved && event.stopPropagation(), true);
  // Where nothing can be zoomed any more, and while a text above is scrolled back, the wheel scrolls.
  frame.addEventListener("wheel", (event) => {
    const nearer = event.deltaY < 0;
    const scrolledDown = frame.closest(".parts").scrollTop > 0 && !frame.classList.contains("zoomed");
    if (nearer && scrolledDown && !event.ctrlKey) return;
    if (zoom(Math.exp(-event.deltaY / 400), inside(event.clientX, event.clientY)) || event.ctrlKey) {
      event.preventDefault();
    }
  }, { passive: false });
}
