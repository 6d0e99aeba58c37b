// The rating page. The pair on the screen is `current`; `upcoming` is loaded while it is looked at. An answer moves on at
// once and is sent in the background, in order, again and again until the server has it.

import { ask, find, pause } from "./common.js";
import { listen } from "./controls.js";
import { nameOf, putOnScreen, withElements } from "./parts.js";
import { say, setup } from "./words.js";

const buttons = [...document.querySelectorAll("[data-choice]")];
const ties = buttons.some((button) => button.dataset.choice === "tie");

const DAY = 86400; // seconds, the longest time that the server takes for an answer's

let current = null;
let upcoming = null;
let shownAt = 0; // when the current pair came to the screen
let viewing = null; // the timer that ends the time in which no answer counts
let yours = 0; // answers of this person that the server has
let undoable = null; // the lease whose answer can be taken back
let lastGiven = null; // the last answer, for its comment
const unsent = new Map(); // answers by lease that the server does not have yet: those pairs must not be shown again
let sending = Promise.resolve(); // all that is to be sent, one after the other
let fetching = false;
let asked = Promise.resolve(); // the last request for a pair

// Progress and messages

function tell(text, bad = false) {
  find("status").textContent = text;
  find("status").classList.toggle("bad", bad);
}

// Why the server refused, in the language of the page; `late` is what a conflict means here.
function why(error, late) {
  if (error.status === undefined) return say("no_server");
  return { 401: say("no_invite"), 404: say("not_yours"), 409: say(late), 410: say("ended") }[error.status] ?? error.message;
}

// Requests run beside each other. Each takes a ticket when it is sent: what one says that was sent before the last one
// told is not news any more.
let lastTicket = 0;
let newestTold = 0;

const ticketFor = () => ++lastTicket;

function tellProgress(progress, ticket) {
  if (ticket < newestTold) return;
  newestTold = ticket;
  undoable = progress.undo;
  yours = progress.yours;
  find("undo").disabled = undoable === null;
  const { answers, goal, quota } = progress;
  const [part, whole] = quota === null ? [answers, goal] : [yours, quota];
  find("bar").hidden = whole === null; // without a goal there is no way to go
  find("bar").max = Math.max(1, whole);
  find("bar").value = part;
  const kind = quota !== null ? "progress_quota" : goal !== null ? "progress_goal" : "progress";
  find("count").textContent = say(kind, { answers, goal, quota, yours });
}

// Showing a pair

function show(pair, comment = "") {
  current = pair;
  document.body.classList.remove("done");
  find("pair").classList.toggle("none", pair === null);
  find("pair").dataset.lease = pair ? pair.lease : "";
  find("empty").hidden = true;
  putOnScreen(pair);
  if (pair) {
    reword(pair.wording);
    tellWhich(pair.question);
  }
  if (find("comment")) find("comment").value = comment;
  for (const button of buttons) button.disabled = pair === null;
  beginViewing();
}

function showNothing(key, because = `${key}_why`) {
  show(null);
  find("empty").hidden = false;
  find("empty").querySelector("strong").textContent = say(key);
  find("empty").querySelector("span").textContent = say(because);
}

// Why no more pairs come, as the server says it.
const endings = {
  closed: "over_closed",
  deadline: "over_deadline",
  answers: "over_answers",
  until: "over_until",
  quota: "over_quota",
  exhausted: "over_exhausted",
  yours: "over_yours",
};

function showOver(over) {
  if (over === null) showNothing("nothing");
  else if (over === "paused") showNothing("paused");
  else showNothing("thanks", endings[over]);
  document.body.classList.toggle("done", over !== null);
}

// An answer counts only after some time: before, nobody can have seen the pair.
function beginViewing() {
  shownAt = performance.now();
  find("pair").classList.add("early");
  clearTimeout(viewing);
  viewing = setTimeout(() => find("pair").classList.remove("early"), 1000 * setup.viewing);
}

function pulse() {
  find("pair").classList.remove("pulse");
  void find("pair").offsetWidth; // so that the animation begins anew
  find("pair").classList.add("pulse");
  tell(say("too_soon"));
}

// Asking and answering

async function fetchPairs() {
  if (fetching) return;
  fetching = true;
  try {
    while (current === null || upcoming === null) {
      await sending;
      const holding = [current, upcoming].filter(Boolean).map((pair) => pair.lease).concat([...unsent.keys()]);
      const ticket = ticketFor();
      asked = ask("/api/next", { holding });
      const found = await asked;
      tellProgress(found.progress, ticket);
      showInstructionsOnce();
      if (found.pair === null) {
        if (current !== null && found.over !== null) await renew(null); // was it loaded ahead, and given back?
        if (current !== null) return;
        showOver(found.over);
        if (!find("status").classList.contains("bad")) tell(""); // it speaks of a next pair
        await pause(found.over === null ? 2000 : 5000); // it may be opened again
      } else if (current === null) {
        show(withElements(found.pair, null));
      } else {
        upcoming = withElements(found.pair, current);
      }
    }
  } catch (error) {
    if (current === null && !error.refused) showNothing("no_connection");
    else tell(say("no_next", { why: why(error, "went_on") }), true);
    if (!error.refused) pause(2000).then(fetchPairs);
  } finally {
    fetching = false;
  }
}

function answer(choice, strength = null) {
  if (current === null || (choice === "tie" && !ties)) return;
  if (find("pair").classList.contains("early")) {
    pulse();
    return;
  }
  const seconds = Math.min(DAY, (performance.now() - shownAt) / 1000);
  const given = { lease: current.lease, choice, seconds };
  if (strength) given.strength = strength;
  if (find("comment")?.value.trim()) given.comment = find("comment").value.trim();
  lastGiven = given;
  unsent.set(given.lease, given);
  const givenAt = Date.now();
  sending = sending.then(() => deliver(given, givenAt));
  const side = { tie: say("tie"), skip: say("skipped") }[choice] ?? nameOf(choice);
  const what = strength ? `${side}: ${say(strength)}` : side;
  const number = yours + [...unsent.values()].filter((sent) => sent.choice !== "skip").length + 1;
  tell(say(setup.questions > 1 ? "answered_several" : "answered", { what, number }));
  show(upcoming);
  upcoming = null;
  if (current === null && !navigator.onLine) showNothing("no_connection");
  sending.then(fetchPairs);
}

async function deliver(given, givenAt) {
  let wait = 500;
  for (let again = false; ; again = true) {
    const ticket = ticketFor();
    try {
      const ago = Math.min(DAY, Math.max(0, (Date.now() - givenAt) / 1000)); // it may have waited for a connection
      const taken = await ask("/api/answer", { ...given, ago });
      tellProgress(taken.progress, ticket);
      // Sent again, it was counted the first time, and only the acknowledgement was lost.
      if (!taken.counted && !again) {
        await renew().catch(() => {}); // the next may have been answered there too
        tell(say("answered_before"), true);
      }
      break;
    } catch (error) {
      if (error.refused) {
        tell(say("not_counted", { why: why(error, "went_on") }), true);
        break;
      }
      tell(say("unsaved"), true);
      if (current === null) showNothing("no_connection");
      await pause(wait);
      wait = Math.min(2 * wait, 4000);
    }
  }
  unsent.delete(given.lease);
  if (unsent.size === 0 && find("status").textContent === say("unsaved")) tell(say("saved"));
}

function undo() {
  sending = sending.then(async () => {
    await asked.catch(() => {}); // or what is taken back could be its answer, and come twice
    if (undoable === null) return;
    const ticket = ticketFor();
    try {
      const comment = lastGiven?.lease === undoable ? lastGiven.comment : "";
      const found = await ask("/api/undo", { lease: undoable });
      tellProgress(found.progress, ticket);
      const before = current;
      if (current !== null) upcoming = current;
      show(withElements(found.pair, before), comment);
      tell(say("taken_back"));
    } catch (error) {
      tell(say("not_taken_back", { why: why(error, "only_last") }), true);
    }
  });
}

// While the page is looked at, its pairs stay with it; what was answered elsewhere meanwhile gives way to the next, and
// `told` says so.
async function renew(told = "passed_on") {
  const holding = [current, upcoming].filter(Boolean).map((pair) => pair.lease);
  if (holding.length === 0) return;
  const { held } = await ask("/api/renew", { holding });
  const lost = (pair) => pair !== null && holding.includes(pair.lease) && !held.includes(pair.lease);
  if (lost(upcoming)) upcoming = null;
  if (lost(current)) {
    show(upcoming);
    upcoming = null;
    if (told) tell(say(told));
  }
}

function renewIfLookedAt() {
  if (document.visibilityState !== "visible") return;
  renew().then(fetchPairs, () => {}); // who cannot be reached now is asked again later
}

// Instructions: before the first pair, and whenever somebody asks for them

let greeted = !setup.instructions;

function showInstructionsOnce() {
  if (greeted) return;
  greeted = true;
  if (yours > 0) return;
  const [dialog, button] = [find("instructions"), find("instructions").querySelector("button")];
  const close = button.textContent;
  button.textContent = button.dataset.first;
  dialog.classList.add("first");
  dialog.addEventListener("close", () => {
    button.textContent = close;
    dialog.classList.remove("first");
    beginViewing();
  }, { once: true });
  dialog.showModal();
}

// The question and the instructions may be edited meanwhile: the page has those that go with the pair on the screen.
let worded = setup.wording;

function reword({ number, question, instructions }) {
  document.title = question;
  find("question").textContent = question;
  if (number === worded) return;
  worded = number;
  find("guidance").hidden = instructions === "";
  find("guidance").innerHTML = instructions; // sanitised by the server
  tell(say("reworded"), true);
  if (instructions === "" || find("instructions").open) return;
  find("instructions").showModal();
  find("instructions").addEventListener("close", beginViewing, { once: true });
}

// Where there are several questions the pair stays and the question changes, which must not go unseen.
function tellWhich(number) {
  if (!find("which")) return;
  const text = say("which_question", { number, count: setup.questions });
  if (find("which").textContent === text) return;
  find("which").textContent = text;
  const place = find("which").parentElement;
  place.classList.remove("changed");
  void place.offsetWidth; // so that the animation begins anew
  place.classList.add("changed");
}

listen({ answer, undo, help: () => find("instructions").showModal() });
document.addEventListener("visibilitychange", renewIfLookedAt);
setInterval(renewIfLookedAt, (1000 * setup.lease) / 3);
window.addEventListener("beforeunload", (event) => {
  if (unsent.size > 0) event.preventDefault();
});
fetchPairs();
