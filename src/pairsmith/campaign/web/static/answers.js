// The pages of answers: strike answers out and restore them.

import { find, findAll, request } from "./common.js";

for (const button of /** @type {HTMLButtonElement[]} */ (findAll("[data-answer]"))) {
  button.addEventListener("click", async () => {
    const { answer, struck } = button.dataset;
    button.disabled = true;
    try {
      await request("/api/strike", { answer: Number(answer), struck: struck === "false" });
      window.location.reload();
    } catch (error) {
      button.disabled = false;
      find("problem").hidden = false;
      find("problem").textContent = `Not changed: ${error.message}`;
    }
  });
  button.disabled = false; // the page disables it, since a click before this point would be lost
}
