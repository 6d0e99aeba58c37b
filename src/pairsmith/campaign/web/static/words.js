// What the page was set up with: the words of its language, and what the campaign allows.

export const setup = JSON.parse(document.getElementById("setup").textContent);

export const say = (key, values = {}) => setup.words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
