// What both pages need.

export const find = (id) => document.getElementById(id);

// So long, or until the network is back.
export const pause = (milliseconds) => new Promise((resolve) => {
  const end = () => {
    clearTimeout(timer);
    window.removeEventListener("online", end);
    resolve();
  };
  const timer = setTimeout(end, milliseconds);
  window.addEventListener("online", end);
});

export const counted = (number, noun) => (number === 1 ? `${number} ${noun}` : `${number} ${noun}s`);

// What the server answers; an error with its own words where it refuses or cannot.
export async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(path, options);
  const content = await response.json().catch(() => ({}));
  if (!response.ok) {
    const error = new Error(content.detail || `the server answered ${response.status}`);
    error.status = response.status;
    error.refused = response.status < 500; // asking again would give the same
    throw error;
  }
  return content;
}
