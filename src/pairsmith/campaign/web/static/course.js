// How far the campaign is, and what an organiser does about it: pause, resume, close, reopen.

import { ask, find } from "./common.js";

const states = {
  paused: "Paused: nobody is given pairs.",
  closed: "Closed: raters are thanked.",
  deadline: "Over: the deadline has passed.",
  answers: "Over: all answers are in.",
  until: "Over: doubt is below its bound.",
};
const possible = { open: ["pause", "close"], paused: ["resume", "close"], closed: ["reopen"] };
const acts = [...document.querySelectorAll("[data-act]")];

function offer(state) {
  for (const button of acts) button.hidden = !possible[state].includes(button.dataset.act);
}

export function tellCourse({ state, over, goals, given, goal }, waits) {
  const none = over ? "No goal is set." : "No goal is set: it goes on until every pair is answered.";
  const towards = goals.length ? `${goals.join(" · ")}.` : none;
  find("standing").textContent = `${states[over] ?? "Open."} ${towards}`;
  find("spent").hidden = goal === null;
  find("spent").max = goal ?? 1;
  find("spent").value = given;
  find("waits").hidden = waits === "";
  find("waits").textContent = waits;
  offer(state);
}

export function listenToActs(tellProblem) {
  for (const button of acts) {
    button.addEventListener("click", async () => {
      if (button.dataset.act === "close" && !confirm("Close the campaign? It can be reopened.")) return;
      try {
        offer((await ask("/api/state", { action: button.dataset.act })).state);
      } catch (error) {
        tellProblem(error.message);
      }
    });
  }
}
