// Drawings of the dashboard: curves over the number of answers, and the ranking with its intervals.

import { counted, find } from "./common.js";

function draw(parent, name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9 * step; at += step) found.push(at);
  return found;
}

export function chart(id, points, series, format) {
  const svg = find(id);
  const drawn = series.map(({ key, kind }) => ({ kind, line: points.filter((point) => point[key] !== null)
    .map((point) => [point.answers, point[key]]) }));
  const values = drawn.flatMap(({ line }) => line.map(([, y]) => y));
  svg.replaceChildren();
  const [width, height, left, right, top, bottom] = [340, 200, 44, 52, 10, 40];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (values.length === 0) {
    draw(svg, "text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "More answers are needed for this.");
    svg.setAttribute("aria-label", "More answers are needed for this.");
    return;
  }
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low) * 0.08 || Math.abs(high) * 0.05 || 0.5;
  [low, high] = [low - room, high + room];
  const most = Math.max(...points.map((point) => point.answers), 1);
  const x = (value) => left + (value / most) * (width - left - right);
  const y = (value) => height - bottom - ((value - low) / (high - low)) * (height - top - bottom);
  for (const value of ticks(low, high, 4)) {
    draw(svg, "line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) });
    draw(svg, "text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, format(value));
  }
  for (const value of ticks(0, most, 4).filter((value) => value % 1 === 0)) {
    draw(svg, "text", { x: x(value), y: height - 22, "text-anchor": "middle" }, value);
  }
  draw(svg, "text", { x: x(most / 2), y: height - 4, "text-anchor": "middle" }, "answers");
  const ends = [];
  for (const { line, kind } of drawn.filter(({ line }) => line.length)) {
    draw(svg, "polyline", { class: `line ${kind}`, points: line.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") });
    for (const [a, b] of line) {
      const dot = draw(svg, "circle", { class: `dot ${kind}`, cx: x(a), cy: y(b), r: 2.5 });
      draw(dot, "title", {}, `${counted(a, "answer")}: ${format(b)}`);
    }
    const [, last] = line[line.length - 1];
    const taken = ends.find((place) => Math.abs(place - y(last)) < 12);
    const place = taken === undefined ? y(last) : taken + (y(last) < taken ? -12 : 12);
    ends.push(place);
    draw(svg, "text", { class: `end ${kind}`, x: width - right + 6, y: place + 4 }, format(last));
  }
  const spoken = drawn.filter(({ line }) => line.length)
    .map(({ line, kind }) => `${kind === "two" ? "random pairs" : "now"} ${format(line[line.length - 1][1])}`);
  svg.setAttribute("aria-label", `After ${counted(most, "answer")}: ${spoken.join(", ")}`);
}

export function caterpillar(ranking, total) {
  const svg = find("ranking");
  svg.replaceChildren();
  find("ranked").textContent = ranking.length ? `${total} items, best first, with 90% intervals` : "";
  if (ranking.length === 0) return;
  const width = Math.max(320, Math.min(900, svg.parentElement.clientWidth));
  const [left, right, line, top] = [Math.min(180, width * 0.36), 16, 20, 8];
  const gap = ranking.length < total ? 30 : 0;
  const half = ranking.findIndex((item, at) => at > 0 && item.rank !== ranking[at - 1].rank + 1);
  const height = top + ranking.length * line + gap + 26;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const low = Math.min(...ranking.map((item) => item.low));
  const high = Math.max(...ranking.map((item) => item.high));
  const x = (value) => left + ((value - low) / (high - low || 1)) * (width - left - right);
  for (const value of ticks(low, high, 6)) {
    draw(svg, "line", { class: "grid", x1: x(value), x2: x(value), y1: top, y2: height - 22 });
    draw(svg, "text", { x: x(value), y: height - 6, "text-anchor": "middle" }, Number(value.toPrecision(6)));
  }
  ranking.forEach((item, at) => {
    const y = top + line * (at + 0.5) + (half > 0 && at >= half ? gap : 0);
    const name = item.id.length > 20 ? `${item.id.slice(0, 19)}…` : item.id;
    const text = draw(svg, "text", { x: left - 10, y: y + 4, "text-anchor": "end" }, `${item.rank}  ${name}`);
    draw(text, "title", {}, item.id);
    draw(svg, "line", { class: "interval", x1: x(item.low), x2: x(item.high), y1: y, y2: y });
    const dot = draw(svg, "circle", { class: "dot one", cx: x(item.score), cy: y, r: 4 });
    const ranks = item.best == null ? "" : `; rank ${item.best} to ${item.worst}`;
    draw(dot, "title", {},
      `${item.id}: ${item.score.toFixed(2)} (${item.low.toFixed(2)} to ${item.high.toFixed(2)})${ranks}`);
  });
  if (gap) {
    draw(svg, "text", { x: left - 10, y: top + line * half + gap / 2 + 4, "text-anchor": "end", class: "gap" },
      `… ${total - ranking.length} more …`);
  }
  const best = ranking.slice(0, 3).map((item) => item.id).join(", ");
  svg.setAttribute("aria-label", `Ranking of ${total} items with intervals. Best: ${best}`);
}
