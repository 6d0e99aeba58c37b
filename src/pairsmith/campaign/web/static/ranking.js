// The ranking: all items in one list, of which only those on the screen exist; the server is asked for them by pages.

import { draw, ticks } from "./charts.js";
import { ask, counted, find } from "./common.js";

const PAGE = 100; // items asked for at once
const AROUND = 8; // rows made beyond those on the screen
const GROUP = 28; // characters of the name of a group that stand before the text of an item
const REST = 80; // milliseconds after which a page is asked for: whoever scrolls past it does not need it

const state = { pages: new Map(), total: 0, low: 0, high: 1, asked: 0, height: 0, pictured: false };

let resting = 0;

const address = (page) => {
  const { question } = find("dashboard").dataset;
  const query = new URLSearchParams({ question, offset: page * PAGE, limit: PAGE, search: find("search").value });
  const group = find("group")?.value;
  if (group) query.set("group", group.slice(1));
  return `/api/ranking?${query}`;
};

const shortened = (name) => (name.length > GROUP ? `${name.slice(0, GROUP - 1).trimEnd()}…` : name);

// How far right a score is, in percent.
const place = (score) => `${(100 * (score - state.low)) / (state.high - state.low || 1)}%`;

function part(parent, name, kind, text) {
  const element = document.createElement(name);
  element.className = kind;
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function lineOf(item, at) {
  const line = document.createElement("li");
  line.style.top = `${at * state.height}px`;
  line.setAttribute("aria-setsize", state.total);
  line.setAttribute("aria-posinset", at + 1);
  if (!item) {
    line.className = "waiting";
    return line;
  }
  part(line, "span", "rank", item.rank);
  if (item.picture) {
    const picture = part(line, "img", "small");
    picture.loading = "lazy";
    picture.decoding = "async";
    picture.alt = "";
    picture.src = item.picture;
  } else if (state.pictured) part(line, "span", "small");
  const words = part(line, "span", "words");
  words.title = item.id;
  part(words, "b", "", item.id);
  const group = find("group")?.value ? "" : shortened(item.group ?? "");
  const said = [group, item.text === item.id ? "" : item.text].filter(Boolean).join(" · ");
  if (said) part(words, "span", "said", said);
  const drawing = draw(line, "svg", { role: "img", "aria-label":
    `Score ${item.score.toFixed(2)}, ${item.low.toFixed(2)} to ${item.high.toFixed(2)}; rank ${item.best} to ${item.worst}` });
  draw(drawing, "line", { class: "interval", x1: place(item.low), x2: place(item.high), y1: "50%", y2: "50%" });
  draw(drawing, "circle", { class: "dot one", cx: place(item.score), cy: "50%", r: 4 });
  const ranks = item.best === item.worst ? `rank ${item.best}` : `rank ${item.best}–${item.worst}`;
  part(line, "span", "ranks", ranks);
  return line;
}

// The rows that are on the screen, from the pages that are there; those that are missing are asked for.
function show() {
  const box = find("ranking");
  const first = Math.max(0, Math.floor(box.scrollTop / state.height) - AROUND);
  const last = Math.min(state.total, Math.ceil((box.scrollTop + box.clientHeight) / state.height) + AROUND);
  const lines = [];
  const missing = new Set();
  for (let at = first; at < last; at += 1) {
    const page = state.pages.get(Math.floor(at / PAGE));
    if (page === undefined) missing.add(Math.floor(at / PAGE));
    lines.push(lineOf(page?.[at % PAGE], at));
  }
  find("rows").replaceChildren(...lines);
  clearTimeout(resting);
  if (missing.size) resting = setTimeout(() => missing.forEach(load), REST);
}

async function load(page) {
  const asked = state.asked;
  state.pages.set(page, []);
  try {
    const found = await ask(address(page));
    if (asked !== state.asked) return; // another search, meanwhile
    state.pages.set(page, found.items);
    const pictured = state.pictured || found.items.some((item) => item.picture); // else there is no column for pictures
    Object.assign(state, { total: found.total, low: found.low, high: found.high, pictured });
    layOut();
  } catch {
    if (asked === state.asked) state.pages.delete(page); // asked for again with the next report, or when scrolled to
  }
}

function layOut() {
  const searched = find("search").value !== "" || Boolean(find("group")?.value);
  const empty = state.total === 0;
  find("ranking").hidden = empty;
  find("ranking").parentElement.classList.toggle("pictured", state.pictured);
  find("scale").classList.toggle("none", empty);
  find("unranked").hidden = !empty;
  find("unranked").textContent = searched ? "Nothing is found." : "The ranking appears with the first answers.";
  find("ranked").textContent = empty ? "" : `${counted(state.total, "item")}, best first, with 90% intervals`;
  if (empty) return;
  state.height = parseFloat(getComputedStyle(find("rows")).getPropertyValue("--row")) || 56;
  find("rows").style.height = `${state.total * state.height}px`;
  drawScale();
  show();
}

function drawScale() {
  const svg = find("scale");
  svg.replaceChildren();
  for (const value of ticks(state.low, state.high, 4)) {
    draw(svg, "text", { x: place(value), y: 14, "text-anchor": "middle" }, Number(value.toPrecision(6)));
  }
}

// From the first page again: of another search, or because there is a new report.
export function refresh() {
  state.asked += 1;
  const { scrollTop } = find("ranking");
  const page = state.height ? Math.floor(scrollTop / state.height / PAGE) : 0;
  state.pages.clear();
  load(page);
}

function search() {
  find("ranking").scrollTop = 0;
  refresh();
}

let waiting = 0;
find("search").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, 200);
});
find("group")?.addEventListener("change", search);
find("ranking").addEventListener("scroll", () => requestAnimationFrame(show), { passive: true });
window.addEventListener("resize", () => { if (state.total) layOut(); });
