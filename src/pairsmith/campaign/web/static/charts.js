// Drawings of the dashboard: curves over the number of answers, with what is to come as a band.

import { counted, find } from "./common.js";

export function draw(parent, name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

export function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9 * step; at += step) found.push(at);
  return found;
}

// A curve through points {answers, value}, with the band of those that have low and high; `ahead` is the same of what is
// to come.
export function chart(id, points, ahead, format, otherwise) {
  const svg = find(id);
  const known = points.filter((point) => point.value !== null);
  const all = [...known, ...ahead];
  svg.replaceChildren();
  const [width, height, left, right, top, bottom] = [420, 210, 48, 56, 10, 40];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (known.length === 0) {
    draw(svg, "text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, otherwise);
    svg.setAttribute("aria-label", otherwise);
    return;
  }
  const values = all.flatMap((point) => [point.value, point.low ?? point.value, point.high ?? point.value]);
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low) * 0.08 || Math.abs(high) * 0.05 || 0.5;
  [low, high] = [low - room, high + room];
  const most = Math.max(...all.map((point) => point.answers), 1);
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
  const spoken = [];
  for (const [line, kind, name] of [[known, "one", "now"], [ahead, "two", `after ${counted(most, "answer")}`]]) {
    if (line.length === 0) continue;
    const band = line.filter((point) => point.low != null);
    if (band.length > 1) {
      const edge = [...band.map((point) => [point.answers, point.high]),
        ...band.reverse().map((point) => [point.answers, point.low])];
      draw(svg, "polygon", { class: `band ${kind}`, points: edge.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") });
    }
    draw(svg, "polyline", { class: `line ${kind}`,
      points: line.map((point) => `${x(point.answers)},${y(point.value)}`).join(" ") });
    for (const point of line) {
      const dot = draw(svg, "circle", { class: `dot ${kind}`, cx: x(point.answers), cy: y(point.value), r: 2.5 });
      draw(dot, "title", {}, `${counted(point.answers, "answer")}: ${interval(point, format)}`);
    }
    const last = line[line.length - 1];
    const goesOn = last.answers < most; // then its end is inside, and what it says stands above the curve that goes on
    draw(svg, "text", { class: `end ${kind}`, x: x(last.answers) + 6, y: y(last.value) + (goesOn ? -6 : 4) }, format(last.value));
    spoken.push(`${name} ${interval(last, format)}`);
  }
  svg.setAttribute("aria-label", `After ${counted(known[known.length - 1].answers, "answer")}: ${spoken.join(", ")}`);
}

const interval = ({ value, low, high }, format) => (
  low == null ? format(value) : `${format(value)} (${format(low)} to ${format(high)})`);
