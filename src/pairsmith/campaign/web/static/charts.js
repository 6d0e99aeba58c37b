// The charts of the dashboard: curves over the number of answers, and forecasts as a band.

import { counted, find } from "./common.js";

/**
 * Append an SVG element and return it.
 * @param {Element} parent
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {string | number} [text]
 */
export function draw(parent, name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = String(text);
  parent.append(element);
  return element;
}

/**
 * Return about `count` round numbers from low to high.
 * @type {(low: number, high: number, count: number) => number[]}
 */
export function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough * 0.999) ?? 10) * power;
  const values = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9 * step; value += step) values.push(value);
  return values;
}

/**
 * Draw a curve through points, with a band where they have intervals, and its forecast.
 * @param {"doubt" | "auc"} id
 * @param {Point[]} points values may be null, and are then left out
 * @param {Point[]} forecast
 * @param {(value: number) => string} format
 * @param {string} emptyText shown if there are no points
 */
export function drawChart(id, points, forecast, format, emptyText) {
  const svg = find(id);
  const measured = points.filter((point) => point.value !== null);
  const all = [...measured, ...forecast];
  svg.replaceChildren();
  const [width, height, left, right, top, bottom] = [420, 210, 48, 56, 10, 40];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (measured.length === 0) {
    draw(svg, "text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, emptyText);
    svg.setAttribute("aria-label", emptyText);
    return;
  }
  const values = all.flatMap((point) => [point.value, point.low ?? point.value, point.high ?? point.value]);
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = (high - low) * 0.08 || Math.abs(high) * 0.05 || 0.5;
  [low, high] = [low - margin, high + margin];
  const maxAnswers = Math.max(...all.map((point) => point.answers), 1);
  /** @param {number} answers */
  const x = (answers) => left + (answers / maxAnswers) * (width - left - right);
  /** @param {number} value */
  const y = (value) => height - bottom - ((value - low) / (high - low)) * (height - top - bottom);
  for (const value of ticks(low, high, 4)) {
    draw(svg, "line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) });
    draw(svg, "text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, format(value));
  }
  for (const answers of ticks(0, maxAnswers, 4).filter(Number.isInteger)) {
    draw(svg, "text", { x: x(answers), y: height - 22, "text-anchor": "middle" }, answers);
  }
  draw(svg, "text", { x: x(maxAnswers / 2), y: height - 4, "text-anchor": "middle" }, "answers");
  const spoken = [];
  for (const { line, kind, name } of [
    { line: measured, kind: "one", name: "now" },
    { line: forecast, kind: "two", name: `after ${counted(maxAnswers, "answer")}` },
  ]) {
    if (line.length === 0) continue;
    const band = line.filter((point) => point.low != null);
    if (band.length > 1) {
      const upper = band.map((point) => `${x(point.answers)},${y(point.high ?? point.value)}`);
      const lower = band.reverse().map((point) => `${x(point.answers)},${y(point.low ?? point.value)}`);
      draw(svg, "polygon", { class: `band ${kind}`, points: [...upper, ...lower].join(" ") });
    }
    draw(svg, "polyline", { class: `line ${kind}`,
      points: line.map((point) => `${x(point.answers)},${y(point.value)}`).join(" ") });
    for (const point of line) {
      const dot = draw(svg, "circle", { class: `dot ${kind}`, cx: x(point.answers), cy: y(point.value), r: 2.5 });
      draw(dot, "title", {}, `${counted(point.answers, "answer")}: ${withInterval(point, format)}`);
    }
    const last = line[line.length - 1];
    const shift = last.answers < maxAnswers ? -6 : 4; // above the forecast if it goes on from here
    draw(svg, "text", { class: `end ${kind}`, x: x(last.answers) + 6, y: y(last.value) + shift }, format(last.value));
    spoken.push(`${name} ${withInterval(last, format)}`);
  }
  const answersSoFar = counted(measured[measured.length - 1].answers, "answer");
  svg.setAttribute("aria-label", `After ${answersSoFar}: ${spoken.join(", ")}`);
}

/** @type {(point: Point, format: (value: number) => string) => string} */
const withInterval = ({ value, low, high }, format) => (
  low == null || high == null ? format(value) : `${format(value)} (${format(low)} to ${format(high)})`);
