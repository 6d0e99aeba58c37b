// What organisers do on the dashboard: pause, resume, close or reopen the campaign, exclude raters, edit the wording.

import { counted, find, findAll, findFirst, request } from "./common.js";

/** @type {Record<string, string>} */
const descriptions = {
  paused: "Paused: nobody is given pairs.",
  closed: "Closed: raters are thanked.",
  deadline: "Over: the deadline has passed.",
  answers: "Over: all answers are in.",
  until: "Over: doubt is below its bound.",
};
const possibleActions = { open: ["pause", "close"], paused: ["resume", "close"], closed: ["reopen"] };
/** @type {HTMLButtonElement[]} */
const actionButtons = findAll("[data-act]");

/** @param {string} text hides the message if it is empty */
export function showProblem(text) {
  find("problem").hidden = text === "";
  find("problem").textContent = text;
}

// The course of the campaign

/** @param {Course["state"]} state */
function offerActions(state) {
  for (const button of actionButtons) button.hidden = !possibleActions[state].includes(button.dataset.act ?? "");
}

/** @type {(course: Course, waits: string) => void} */
export function showCourse({ state, over, goals, given, goal }, waits) {
  const noGoal = over ? "No goal is set." : "No goal is set: it goes on until every pair is answered.";
  const goalText = goals.length ? `${goals.join(" · ")}.` : noGoal;
  find("standing").textContent = `${descriptions[over ?? ""] ?? "Open."} ${goalText}`;
  find("spent").hidden = goal === null;
  find("spent").max = goal ?? 1;
  find("spent").value = given;
  find("waits").hidden = waits === "";
  find("waits").textContent = waits;
  offerActions(state);
}

for (const button of actionButtons) {
  button.addEventListener("click", async () => {
    const action = button.dataset.act;
    if (action === "close" && !confirm("Close the campaign? You can reopen it.")) return;
    try {
      offerActions((await request("/api/state", { action })).state);
    } catch (error) {
      showProblem(error.message);
    }
  });
}

// Excluded raters

/** Make a cell with a button that excludes a rater, or includes them again. @param {ReportedRater} rater */
export function excludeButton({ name, excluded = false }) {
  const cell = document.createElement("td");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = excluded ? "Include" : "Exclude";
  button.setAttribute("aria-label", `${button.textContent} ${name}`);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await request("/api/exclude", { name, excluded: !excluded });
      button.textContent = "…"; // until the next update of the page
    } catch (error) {
      button.disabled = false;
      showProblem(`Not changed: ${error.message}`);
    }
  });
  cell.append(button);
  return cell;
}

/** @type {(struck: number, excluded: ReportedRater[]) => void} */
export function showLeftOut(struck, excluded) {
  const ofExcluded = excluded.reduce((sum, rater) => sum + rater.answers, 0);
  find("left_out").hidden = struck + ofExcluded === 0;
  find("left_out").textContent = `Left out of all figures: ${counted(struck, "answer")} struck out, `
    + `${counted(ofExcluded, "answer")} of excluded raters. Nothing is deleted.`;
}

// The question and the instructions

find("wording").addEventListener("submit", async (event) => {
  event.preventDefault();
  const fields = { question: find("new_question"), instructions: find("new_instructions") };
  const changed = Object.entries(fields).filter(([, field]) => field.value !== field.defaultValue);
  if (changed.length === 0) {
    find("saved").textContent = "Nothing has changed.";
    return;
  }
  try {
    const values = Object.fromEntries(changed.map(([name, field]) => [name, field.value]));
    const { number } = await request("/api/wording", { ...values, number: Number(find("dashboard").dataset.question) });
    for (const [, field] of changed) field.defaultValue = field.value;
    for (const place of findAll("h1, .questions [aria-current] span")) place.textContent = fields.question.value;
    find("saved").textContent = `Saved as wording ${number}. Raters see it from their next pair on.`;
  } catch (error) {
    find("saved").textContent = `Not saved: ${error.message}`;
  }
});
/** @type {HTMLButtonElement} */ (findFirst("button", find("wording"))).disabled = false; // now nothing written is lost
