// Helpers that several pages need.

/**
 * Find an element by its id; types.d.ts lists the ids, and the elements that may be missing.
 * @template {keyof PageElements} Id
 * @param {Id} id
 * @returns {PageElements[Id]}
 */
export const find = (id) => /** @type {any} */ (document.getElementById(id));

/**
 * Find the first element that matches; the page always has one.
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {string} selector
 * @param {ParentNode} [parent]
 * @returns {Kind}
 */
export const findFirst = (selector, parent = document) => /** @type {any} */ (parent.querySelector(selector));

/**
 * Find all elements that match.
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {string} selector
 * @param {ParentNode} [parent]
 * @returns {Kind[]}
 */
export const findAll = (selector, parent = document) => /** @type {any} */ ([...parent.querySelectorAll(selector)]);

/**
 * Wait this long, or until the network is back.
 * @param {number} milliseconds
 * @returns {Promise<void>}
 */
export const delay = (milliseconds) => new Promise((resolve) => {
  const end = () => {
    clearTimeout(timer);
    window.removeEventListener("online", end);
    resolve();
  };
  const timer = setTimeout(end, milliseconds);
  window.addEventListener("online", end);
});

/** @type {(number: number, noun: string) => string} */
export const counted = (number, noun) => (number === 1 ? `${number} ${noun}` : `${number} ${noun}s`);

/**
 * Send a request and return the server's answer. An error has the server's own words. Without a `status` the server
 * could not be reached; with `refused` the same request would be refused again.
 * @param {string} path
 * @param {object} [body] posted as JSON
 * @returns {Promise<any>}
 */
export async function request(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(path, options);
  const content = await response.json().catch(() => ({}));
  if (!response.ok) {
    const { status } = response;
    const error = new Error(content.detail || `the server answered ${status}`);
    throw Object.assign(error, { status, refused: status < 500 });
  }
  return content;
}
