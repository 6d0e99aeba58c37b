// Whoever has the link gives a name, and gets an invite of their own.

import { ask, find } from "./common.js";
import { say, setup } from "./words.js";

const problems = { 401: "no_link", 409: "name_taken", 410: "no_place", 422: "no_name" };

async function enrol() {
  const button = find("enrol").querySelector("button");
  button.disabled = true;
  try {
    await ask("/api/enrol", { link: setup.link, name: find("name").value });
    location.replace(setup.onward);
  } catch (error) {
    button.disabled = false;
    find("status").textContent = error.status in problems ? say(problems[error.status]) : say("try_again");
    find("status").classList.add("bad");
    find("name").focus();
  }
}

if (find("enrol")) {
  find("enrol").addEventListener("submit", (event) => {
    event.preventDefault();
    enrol();
  });
  find("enrol").querySelector("button").disabled = false; // until now a name would have been lost
}
