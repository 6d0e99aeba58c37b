// The page of answers: strike out and restore.

import { ask, find } from "./common.js";

for (const button of document.querySelectorAll("[data-answer]")) {
  button.addEventListener("click", async () => {
    const { answer, struck } = button.dataset;
    button.disabled = true;
    try {
      await ask("/api/strike", { answer: Number(answer), struck: struck === "false" });
      window.location.reload();
    } catch (error) {
      button.disabled = false;
      find("problem").hidden = false;
      find("problem").textContent = `Not changed: ${error.message}`;
    }
  });
  button.disabled = false; // until now nobody would have heard a click
}
