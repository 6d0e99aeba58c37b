// The dashboard. It asks the server for news every two seconds and draws what has changed.

import { drawChart } from "./charts.js";
import { counted, delay, find, findAll, request } from "./common.js";
import { excludeButton, showCourse, showLeftOut, showProblem } from "./organise.js";
import { refresh } from "./ranking.js";

/** @param {number} value */
const percent = (value) => `${(100 * value).toFixed(1)}%`;
/** @param {number} value */
const wholePercent = (value) => `${Math.round(100 * value)}%`;
/** @type {(write: (value: any) => string) => (value: any) => string} */
const orDash = (write) => (value) => (value == null ? "–" : write(value));

/**
 * How values are written; the server names one of these for each column and figure.
 * @type {Record<string, (value: any) => string>}
 */
const formats = {
  text: (value) => value,
  seconds: orDash((value) => `${value.toFixed(1)} s`),
  percent: orDash(percent),
  number: orDash((value) => value.toFixed(2)),
  share: orDash(wholePercent),
  interval: orDash(([value, ...ends]) => (
    `${wholePercent(value)} (${ends.map((/** @type {number} */ end) => Math.round(100 * end)).join("–")})`)),
  error: orDash(([value, error]) => `${value.toFixed(2)} ± ${error.toFixed(2)}`),
  right: orDash(([right, asked]) => `${right} of ${asked}`),
  list: (value) => (value ?? []).join("; "),
  measured_share: (measured) => formats.share(measured?.value),
  measured_number: (measured) => formats.number(measured?.value),
};

/**
 * Say what a measured figure is based on: the interval, and the number of random pairs.
 * @type {(measured: any, format: string) => string}
 */
function basis(measured, format) {
  if (measured == null) return "";
  const { value, low, high, number } = measured;
  if (value === null) return `too few so far: ${counted(number, "pair")}`;
  /** @param {number} end */
  const write = (end) => formats[format]({ value: end });
  return `${write(low)} to ${write(high)}, by ${counted(number, "pair")}`;
}

/** Fill in the figures; the id of an element is the key of its figure. @param {Record<string, any>} figures */
function fillFigures(figures) {
  for (const element of findAll("#figures [id]")) element.textContent = figures[element.id];
}

/**
 * Fill in what the model has learned; each element names its key and its format.
 * @param {Record<string, any>} learned
 */
function fillLearned(learned) {
  for (const { element, key, format } of elementsWith("key")) element.textContent = formats[format](learned[key]);
  for (const { element, key, format } of elementsWith("measured")) element.textContent = basis(learned[key], format);
}

/** @param {"key" | "measured"} name */
const elementsWith = (name) => findAll(`#learned [data-${name}]`).map((element) => (
  { element, key: element.dataset[name] ?? "", format: element.dataset.format ?? "" }));

/**
 * Make a row with the columns that the table's head names. On a small screen each cell shows its column's heading.
 * @type {(table: HTMLTableElement, values: Record<string, any>) => HTMLTableRowElement}
 */
function makeRow(table, values) {
  const row = document.createElement("tr");
  headsOf(table).filter((head) => head.dataset.key).forEach((head, index) => {
    const { key = "", format = "" } = head.dataset;
    const cell = document.createElement(index ? "td" : "th");
    if (!index) cell.scope = "row";
    Object.assign(cell.dataset, { key, label: head.textContent });
    cell.textContent = formats[format](values[key]);
    row.append(cell);
  });
  return row;
}

/** @param {HTMLTableElement} table */
const headsOf = (table) => [.../** @type {HTMLTableSectionElement} */ (table.tHead).rows[0].cells];

/**
 * Fill a table, and hide the columns that are empty in all rows.
 * @type {(table: HTMLTableElement, rows: HTMLTableRowElement[]) => void}
 */
function fillTable(table, rows) {
  table.tBodies[0].replaceChildren(...rows);
  headsOf(table).forEach((head, index) => {
    const cells = rows.map((row) => row.cells[index]);
    const empty = cells.every((cell) => !cell.firstElementChild && ["", "–"].includes(cell.textContent ?? ""));
    for (const cell of [head, ...cells]) cell.hidden = empty;
  });
}

const nobodyRow = find("people").tBodies[0].rows[0]; // it says that nobody has answered yet

/** @type {(reported: ReportedRater[], excluded: ReportedRater[]) => void} */
function fillRaters(reported, excluded) {
  const excludedNames = excluded.map(({ name }) => name);
  const raters = reported.filter(({ name }) => !excludedNames.includes(name))
    .concat(excluded.map((rater) => ({ ...rater, excluded: true, flags: ["excluded"] })));
  if (raters.length === 0) {
    find("people").tBodies[0].replaceChildren(nobodyRow);
    return;
  }
  fillTable(find("people"), raters.map((rater) => {
    const row = makeRow(find("people"), rater);
    row.classList.toggle("flagged", !rater.excluded && (rater.flags ?? []).length > 0);
    row.classList.toggle("out", rater.excluded === true);
    row.append(excludeButton(rater));
    return row;
  }));
}

/** @param {Record<string, any>[]} judges */
function fillJudges(judges) {
  find("programs").hidden = judges.length === 0;
  fillTable(find("judges"), judges.map((judge) => makeRow(find("judges"), judge)));
}

/** @param {Advice | null} advice */
function showAdvice(advice) {
  if (!advice) return;
  find("advice").hidden = false;
  find("verdict").textContent = advice.text;
  find("advice").classList.toggle("stop", advice.stop);
  find("sentences").replaceChildren(...(advice.more || []).map((sentence) => {
    const line = document.createElement("li");
    line.textContent = sentence;
    return line;
  }));
}

/**
 * Show the doubt about each question; the next pairs are chosen for the question with the largest.
 * @param {(number | null)[]} doubts
 */
function showDoubts(doubts) {
  const known = doubts.filter((doubt) => doubt !== null);
  const largest = known.length < doubts.length ? -1 : doubts.indexOf(Math.max(...known));
  for (const element of findAll("[data-doubt]")) {
    const index = Number(element.dataset.doubt);
    const doubt = doubts[index];
    const next = index === largest ? "; the next pairs are chosen for it" : "";
    element.textContent = doubt === null ? "no answers yet" : `doubt ${percent(doubt)}${next}`;
  }
}

/** @type {(report: any, excluded: ReportedRater[]) => void} */
function drawReport({ curve, outlook, advice, people, judges, learned }, excluded) {
  showAdvice(advice);
  fillLearned(learned);
  const forecast = (outlook?.points || []).map(
    (/** @type {number[]} */ [answers, low, value, high]) => ({ answers, low, value, high }));
  const doubts = curve.map((/** @type {any} */ { answers, doubt }) => ({ answers, value: doubt }));
  const aucs = curve.map((/** @type {any} */ point) => (
    { answers: point.answers, value: point.auc ?? null, low: point.auc_low, high: point.auc_high }));
  drawChart("doubt", doubts, forecast, percent, "This needs more answers.");
  drawChart("auc", aucs, [], (value) => value.toFixed(2), `Too few random pairs yet (${learned.auc?.number ?? 0}).`);
  fillRaters(people, excluded);
  fillJudges(judges);
}

async function keepUpToDate() {
  let drawn = "";
  for (;;) {
    try {
      const news = await request(`/api/dashboard?question=${find("dashboard").dataset.question}`);
      fillFigures(news);
      showProblem(news.problem);
      showDoubts(news.doubts);
      showCourse(news.course, news.waits);
      showLeftOut(news.struck, news.excluded);
      const reported = JSON.stringify([news.report, news.excluded]);
      if (reported !== drawn) {
        drawn = reported;
        drawReport(news.report, news.excluded);
        refresh();
      }
    } catch (error) {
      showProblem(`Not up to date: ${error.message}`);
    }
    await delay(2000);
  }
}

keepUpToDate();
