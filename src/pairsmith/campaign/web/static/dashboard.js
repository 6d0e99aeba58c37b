// The dashboard: what the server reports, drawn again whenever it differs.

import { chart } from "./charts.js";
import { ask, find, pause } from "./common.js";
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
  measured_share: (found) => measured(found, whole),
  measured_number: (found) => measured(found, (value) => value.toFixed(2)),
};

function whole(value) {
  return `${Math.round(100 * value)}%`;
}

// A figure with its interval, by so many random pairs.
function measured(found, format) {
  if (found == null) return "–";
  const said = document.createElement("small");
  if (found.value === null) {
    said.textContent = `too few random pairs yet (${found.number})`;
    return said;
  }
  said.textContent = ` ${format(found.low)} to ${format(found.high)}, ${found.number} pairs`;
  const both = document.createDocumentFragment();
  both.append(format(found.value), said);
  return both;
}

// The page has an element for each figure, whose id is the figure's key.
function fillFigures(now) {
  for (const element of document.querySelectorAll("#figures [id]")) element.textContent = now[element.id];
}

// Of what the model has learned the page has an element for each, which says how it is written.
function fillLearned(learned) {
  for (const element of document.querySelectorAll("#learned [data-key]")) {
    element.replaceChildren(formats[element.dataset.format](learned[element.dataset.key]));
  }
}

// The head of the table says which columns there are.
function fillPeople(found, excluded) {
  const out = excluded.map((row) => ({ ...row, excluded: true, flags: ["excluded"] }));
  const rows = found.filter((row) => !out.some(({ name }) => name === row.name)).concat(out);
  if (rows.length === 0) return;
  const columns = [...find("people").tHead.rows[0].cells].map((head) => head.dataset).filter(({ key }) => key);
  find("people").tBodies[0].replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    line.classList.toggle("flagged", row.flags?.length > 0 && !row.excluded);
    line.classList.toggle("out", row.excluded === true);
    line.append(...columns.map(({ key, format }, at) => {
      const cell = document.createElement(at ? "td" : "th");
      if (!at) cell.scope = "row";
      cell.dataset.key = key;
      cell.textContent = formats[format](row[key]);
      return cell;
    }), excludeButton(row));
    return line;
  }));
}

// How far programs agree with people.
function fillJudges(rows) {
  find("programs").hidden = rows.length === 0;
  const columns = [...find("judges").tHead.rows[0].cells].map((head) => head.dataset);
  find("judges").tBodies[0].replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    for (const { key, format } of columns) line.insertCell().textContent = formats[format](row[key]);
    return line;
  }));
}

function tellProblem(text) {
  find("problem").hidden = text === "";
  find("problem").textContent = text;
}

function tellAdvice(advice) {
  if (!advice) return;
  find("verdict").textContent = advice.text;
  find("advice").classList.toggle("stop", advice.stop);
  find("sentences").replaceChildren(...(advice.more || []).map((sentence) => {
    const line = document.createElement("li");
    line.textContent = sentence;
    return line;
  }));
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
      const now = await ask("/api/dashboard");
      fillFigures(now);
      tellProblem(now.problem);
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
