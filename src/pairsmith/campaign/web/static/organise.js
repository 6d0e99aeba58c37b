// What organisers do on the dashboard: exclude raters, edit the question and the instructions.

import { ask, counted, find } from "./common.js";

// A cell with a button that leaves somebody's answers out, or counts them again.
export function excludeButton({ name, excluded = false }) {
  const cell = document.createElement("td");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = excluded ? "Include" : "Exclude";
  button.setAttribute("aria-label", `${button.textContent} ${name}`);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await ask("/api/exclude", { name, excluded: !excluded });
      button.textContent = "…"; // the page shows it with its next look
    } catch (error) {
      button.disabled = false;
      find("problem").hidden = false;
      find("problem").textContent = `Not changed: ${error.message}`;
    }
  });
  cell.append(button);
  return cell;
}

export function tellLeftOut(struck, excluded) {
  const theirs = excluded.reduce((sum, row) => sum + row.answers, 0);
  find("left_out").hidden = struck + theirs === 0;
  find("left_out").textContent = `Left out of all figures: ${counted(struck, "answer")} struck out, `
    + `${counted(theirs, "answer")} of excluded raters. Nothing is deleted.`;
}

find("wording").addEventListener("submit", async (event) => {
  event.preventDefault();
  const fields = { question: find("new_question"), instructions: find("new_instructions") };
  const changed = Object.entries(fields).filter(([, field]) => field.value !== field.defaultValue);
  if (changed.length === 0) {
    find("saved").textContent = "Nothing is changed.";
    return;
  }
  try {
    const said = Object.fromEntries(changed.map(([name, field]) => [name, field.value]));
    const { number } = await ask("/api/wording", { ...said, number: Number(find("dashboard").dataset.question) });
    for (const [, field] of changed) field.defaultValue = field.value;
    for (const place of document.querySelectorAll("h1, .questions [aria-current] span")) {
      place.textContent = fields.question.value;
    }
    find("saved").textContent = `Saved as wording ${number}; people see it from their next pair on.`;
  } catch (error) {
    find("saved").textContent = `Not saved: ${error.message}`;
  }
});
find("wording").querySelector("button").disabled = false; // until now what was written would have been lost
