// The ranking: one long list, of which only the rows on the screen exist. The server is asked for it in pages.

import { draw, ticks } from "./charts.js";
import { counted, find, request } from "./common.js";

const PAGE_SIZE = 100; // items
const EXTRA_ROWS = 8; // rows that are made above and below the screen
const MAX_GROUP_LENGTH = 28; // characters of a group's name before the text of an item
const REST_MILLISECONDS = 80; // pages that are scrolled past faster than this are not asked for
const TYPING_MILLISECONDS = 200; // a search starts when nobody has typed for this long

/**
 * @type {{pages: Map<number, RankedItem[]>, total: number, low: number, high: number, generation: number,
 *   rowHeight: number, hasPictures: boolean}}
 */
const state = { pages: new Map(), total: 0, low: 0, high: 1, generation: 0, rowHeight: 0, hasPictures: false };

/** @param {number} page */
const addressOf = (page) => {
  const { question = "1" } = find("dashboard").dataset;
  const query = new URLSearchParams(
    { question, offset: String(page * PAGE_SIZE), limit: String(PAGE_SIZE), search: find("search").value });
  const group = find("group")?.value;
  if (group) query.set("group", group.slice(1)); // the value begins with "=", as the name of a group may be empty
  return `/api/ranking?${query}`;
};

/** @param {string} name */
const shorten = (name) => (
  name.length > MAX_GROUP_LENGTH ? `${name.slice(0, MAX_GROUP_LENGTH - 1).trimEnd()}…` : name);

/** Return how far right a score is drawn, in percent. @param {number} score */
const xOf = (score) => `${(100 * (score - state.low)) / (state.high - state.low || 1)}%`;

/** @type {(parent: Element, className: string, text?: string | number, name?: string) => HTMLElement} */
function append(parent, className, text, name = "span") {
  const element = document.createElement(name);
  element.className = className;
  if (text !== undefined) element.textContent = String(text);
  parent.append(element);
  return element;
}

/** @type {(item: RankedItem | undefined, index: number) => HTMLElement} */
function makeRow(item, index) {
  const row = document.createElement("li");
  row.style.top = `${index * state.rowHeight}px`;
  row.setAttribute("aria-setsize", String(state.total));
  row.setAttribute("aria-posinset", String(index + 1));
  if (!item) {
    row.className = "waiting";
    return row;
  }
  append(row, "rank", item.rank);
  if (item.picture) {
    const picture = document.createElement("img");
    Object.assign(picture, { className: "small", loading: "lazy", decoding: "async", alt: "", src: item.picture });
    row.append(picture);
  } else if (state.hasPictures) append(row, "small");
  const words = append(row, "words");
  words.title = item.id;
  append(words, "", item.id, "b");
  const group = find("group")?.value ? "" : shorten(item.group ?? "");
  const description = [group, item.text === item.id ? "" : item.text].filter(Boolean).join(" · ");
  if (description) append(words, "said", description);
  const { score, low, high, best, worst } = item;
  const drawing = draw(row, "svg", { role: "img", "aria-label":
    `Score ${score.toFixed(2)}, ${low.toFixed(2)} to ${high.toFixed(2)}; rank ${best} to ${worst}` });
  draw(drawing, "line", { class: "interval", x1: xOf(low), x2: xOf(high), y1: "50%", y2: "50%" });
  draw(drawing, "circle", { class: "dot one", cx: xOf(score), cy: "50%", r: 4 });
  append(row, "ranks", best === worst ? `rank ${best}` : `rank ${best}–${worst}`);
  return row;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let restTimer;

// Draw the rows on the screen from the pages that are there, and ask for the missing pages.
function drawRows() {
  const box = find("ranking");
  const first = Math.max(0, Math.floor(box.scrollTop / state.rowHeight) - EXTRA_ROWS);
  const last = Math.min(state.total, Math.ceil((box.scrollTop + box.clientHeight) / state.rowHeight) + EXTRA_ROWS);
  const rows = [];
  /** @type {Set<number>} */
  const missing = new Set();
  for (let index = first; index < last; index += 1) {
    const number = Math.floor(index / PAGE_SIZE);
    const page = state.pages.get(number);
    if (page === undefined) missing.add(number);
    rows.push(makeRow(page?.[index % PAGE_SIZE], index));
  }
  find("rows").replaceChildren(...rows);
  clearTimeout(restTimer);
  if (missing.size) restTimer = setTimeout(() => missing.forEach(load), REST_MILLISECONDS);
}

/** @param {number} page */
async function load(page) {
  const { generation } = state;
  state.pages.set(page, []);
  try {
    const { items, total, low, high } = await request(addressOf(page));
    if (generation !== state.generation) return; // there was another search or report meanwhile
    state.pages.set(page, items);
    const hasPictures = state.hasPictures || items.some((/** @type {RankedItem} */ item) => item.picture);
    Object.assign(state, { total, low, high, hasPictures });
    drawRanking();
  } catch {
    if (generation === state.generation) state.pages.delete(page); // the next report or scrolling asks for it again
  }
}

function drawRanking() {
  const searched = find("search").value !== "" || Boolean(find("group")?.value);
  const empty = state.total === 0;
  find("ranking").hidden = empty;
  find("ranking").parentElement?.classList.toggle("pictured", state.hasPictures);
  find("scale").classList.toggle("none", empty);
  find("unranked").hidden = !empty;
  find("unranked").textContent = searched ? "Nothing is found." : "The ranking appears with the first answers.";
  find("ranked").textContent = empty ? "" : `${counted(state.total, "item")}, best first, with 90% intervals`;
  if (empty) return;
  state.rowHeight = parseFloat(getComputedStyle(find("rows")).getPropertyValue("--row")) || 56;
  find("rows").style.height = `${state.total * state.rowHeight}px`;
  drawScale();
  drawRows();
}

function drawScale() {
  const svg = find("scale");
  svg.replaceChildren();
  for (const value of ticks(state.low, state.high, 4)) {
    draw(svg, "text", { x: xOf(value), y: 14, "text-anchor": "middle" }, Number(value.toPrecision(6)));
  }
}

/** Ask for everything again, beginning with the page on the screen: for a new report, or another search. */
export function refresh() {
  state.generation += 1;
  const { scrollTop } = find("ranking");
  const page = state.rowHeight ? Math.floor(scrollTop / state.rowHeight / PAGE_SIZE) : 0;
  state.pages.clear();
  load(page);
}

function search() {
  find("ranking").scrollTop = 0;
  refresh();
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typingTimer;
find("search").addEventListener("input", () => {
  clearTimeout(typingTimer);
  typingTimer = setTimeout(search, TYPING_MILLISECONDS);
});
find("group")?.addEventListener("change", search);
find("ranking").addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
window.addEventListener("resize", () => { if (state.total) drawRanking(); });
