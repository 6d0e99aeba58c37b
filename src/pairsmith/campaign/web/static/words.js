// What the server put on the page for its script: the words in the reader's language, and what the campaign allows.

export const setup = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("setup")).textContent ?? "");

/**
 * Return a text in the language of the page, with its {blanks} filled in.
 * @param {string} key
 * @param {Record<string, any>} [values]
 * @returns {string}
 */
export const say = (key, values = {}) => setup.words[key].replace(
  /\{(\w+)\}/g, (/** @type {string} */ _, /** @type {string} */ name) => values[name]);
