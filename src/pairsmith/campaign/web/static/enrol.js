// The page of a link by which people enrol: they give a name and get an invite of their own.

import { find, findFirst, request } from "./common.js";
import { say, setup } from "./words.js";

/** @type {Record<number, string>} */
const problems = { 401: "no_link", 409: "name_taken", 410: "no_place", 422: "no_name" };

/** @param {HTMLButtonElement} button */
async function enrol(button) {
  button.disabled = true;
  try {
    await request("/api/enrol", { link: setup.link, name: find("name").value });
    location.replace(setup.onward);
  } catch (error) {
    button.disabled = false;
    find("status").textContent = say(problems[error.status] ?? "try_again");
    find("status").classList.add("bad");
    find("name").focus();
  }
}

const form = find("enrol");
if (form) {
  /** @type {HTMLButtonElement} */
  const button = findFirst("button", form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    enrol(button);
  });
  button.disabled = false; // the page disables it, since a name sent before this point would be lost
}
