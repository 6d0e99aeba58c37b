// The dashboard: what the server reports, drawn again whenever it differs.

import { chart } from "./charts.js";
import { ask, counted, find, pause } from "./common.js";
import { listenToActs, tellCourse } from "./course.js";
import { excludeButton, tellLeftOut } from "./organise.js";
import { refresh } from "./ranking.js";

const percent = (value) => `${(100 * value).toFixed(1)}%`;

// How the columns of the table of people say that they are written; a report of an earlier version has plain numbers.
const formats = {
  text: (value) => value,
  seconds: (value) => (value == null ? "–" : `${value.toFixed(1)} s`),
  percent: (value) => (value == null ? "–" : percent(value)),
  number: (value) => (value == null ? "–" : value.toFixed(2)),
  share: (value) => (value == null ? "–" : whole(value)),
  interval: (value) => (value?.length !== 3 ? "–" : `${Math.round(100 * value[0])}% (${value.slice(1).map((end) => Math.round(100 * end)).join("–")})`),
  error: (value) => (value?.length !== 2 ? "–" : `${value[0].toFixed(2)} ± ${value[1].toFixed(2)}`),
  right: (value) => (value == null ? "–" : `${value[0]} of ${value[1]}`),
  list: (value) => (value ?? []).join("; "),
  measured_share: (found) => formats.share(found?.value),
  measured_number: (found) => formats.number(found?.value),
};

function whole(value) {
  return `${Math.round(100 * value)}%`;
}

// What a figure is based on that was measured: so many random pairs, and the interval that they give.
function basis(found, format) {
  if (found == null) return "";
  if (found.value === null) return `too few so far: ${counted(found.number, "pair")}`;
  return `${format(found.low)} to ${format(found.high)}, by ${counted(found.number, "pair")}`;
}

// The page has an element for each figure, whose id is the figure's key.
function fillFigures(now) {
  for (const element of document.querySelectorAll("#figures [id]")) element.textContent = now[element.id];
}

// Of what the model has learned the page has an element for each, which says how it is written.
function fillLearned(learned) {
  for (const element of document.querySelectorAll("#learned [data-key]")) {
    element.textContent = formats[element.dataset.format](learned[element.dataset.key]);
  }
  for (const element of document.querySelectorAll("#learned [data-measured]")) {
    const { measured, format } = element.dataset;
    element.textContent = basis(learned[measured], (value) => formats[format]({ value }));
  }
}

// A row of a table, whose head says which columns there are; on a small screen each cell says its own.
function lineOf(table, row) {
  const line = document.createElement("tr");
  const heads = [...table.tHead.rows[0].cells].filter((head) => head.dataset.key);
  line.append(...heads.map(({ dataset: { key, format }, textContent: label }, at) => {
    const cell = document.createElement(at ? "td" : "th");
    if (!at) cell.scope = "row";
    Object.assign(cell.dataset, { key, label });
    cell.textContent = formats[format](row[key]);
    return cell;
  }));
  return line;
}

// The rows of a table; a column in which nothing is known of anybody is hidden.
function fillTable(table, lines) {
  table.tBodies[0].replaceChildren(...lines);
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    const known = lines.some((line) => line.cells[at].firstElementChild || !["", "–"].includes(line.cells[at].textContent));
    for (const cell of [head, ...lines.map((line) => line.cells[at])]) cell.hidden = !known;
  });
}

const nobody = find("people").tBodies[0].rows[0]; // the row that says so

function fillPeople(found, excluded) {
  const out = excluded.map((row) => ({ ...row, excluded: true, flags: ["excluded"] }));
  const rows = found.filter((row) => !out.some(({ name }) => name === row.name)).concat(out);
  if (rows.length === 0) {
    find("people").tBodies[0].replaceChildren(nobody);
    return;
  }
  fillTable(find("people"), rows.map((row) => {
    const line = lineOf(find("people"), row);
    line.classList.toggle("flagged", row.flags?.length > 0 && !row.excluded);
    line.classList.toggle("out", row.excluded === true);
    line.append(excludeButton(row));
    return line;
  }));
}

// How far programs agree with people.
function fillJudges(rows) {
  find("programs").hidden = rows.length === 0;
  fillTable(find("judges"), rows.map((row) => lineOf(find("judges"), row)));
}

function tellProblem(text) {
  find("problem").hidden = text === "";
  find("problem").textContent = text;
}

function tellAdvice(advice) {
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

// Of several questions, the one in most doubt is the one that the next pairs are chosen for.
function tellQuestions(doubts) {
  const largest = doubts.includes(null) ? -1 : doubts.indexOf(Math.max(...doubts));
  for (const place of document.querySelectorAll("[data-doubt]")) {
    const at = Number(place.dataset.doubt);
    const next = at === largest ? "; the next pairs are chosen for it" : "";
    place.textContent = doubts[at] === null ? "no answers yet" : `doubt ${percent(doubts[at])}${next}`;
  }
}

function drawReport({ curve, outlook, advice, people, judges, learned }, excluded) {
  tellAdvice(advice);
  fillLearned(learned);
  const ahead = (outlook?.points || []).map(([answers, low, value, high]) => ({ answers, low, value, high }));
  chart("doubt", curve.map(({ answers, doubt }) => ({ answers, value: doubt })), ahead, percent,
    "More answers are needed for this.");
  chart("auc", curve.map(({ answers, auc, auc_low: low, auc_high: high }) => ({ answers, value: auc ?? null, low, high })),
    [], (value) => value.toFixed(2), `Too few random pairs yet (${learned.auc?.number ?? 0}).`);
  fillPeople(people, excluded);
  fillJudges(judges);
}

async function keepUpToDate() {
  let drawn = "";
  for (;;) {
    try {
      const now = await ask(`/api/dashboard?question=${find("dashboard").dataset.question}`);
      fillFigures(now);
      tellProblem(now.problem);
      tellQuestions(now.doubts);
      tellCourse(now.course, now.waits);
      tellLeftOut(now.struck, now.excluded);
      const found = JSON.stringify([now.report, now.excluded]);
      if (found !== drawn) {
        drawn = found;
        drawReport(now.report, now.excluded);
        refresh();
      }
    } catch (error) {
      tellProblem(`Not up to date: ${error.message}`);
    }
    await pause(2000);
  }
}

listenToActs(tellProblem);
keepUpToDate();
