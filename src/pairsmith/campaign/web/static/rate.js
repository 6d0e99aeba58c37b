// The rating page. An answer moves on to the next pair at once. It is sent in the background, in order, and again and
// again until the server has it.

import { delay, find, findAll, findFirst, request } from "./common.js";
import { listen } from "./controls.js";
import { nameOf, prepare, putOnScreen } from "./parts.js";
import { Session } from "./session.js";
import { say, setup } from "./words.js";

const MAX_SECONDS = 86400; // the server takes no longer times

/** @type {HTMLButtonElement[]} */
const buttons = findAll("[data-choice]");
const ties = buttons.some((button) => button.dataset.choice === "tie");
const session = new Session(setup.wording, !setup.instructions);

// Progress and messages

/** @type {(text: string, bad?: boolean) => void} */
function tell(text, bad = false) {
  find("status").textContent = text;
  find("status").classList.toggle("bad", bad);
}

/**
 * Say why a request failed, in the language of the page.
 * @param {any} error
 * @param {string} conflict the key of what a conflict (409) means here
 */
function why(error, conflict) {
  /** @type {Record<number, string>} */
  const reasons = { 401: say("no_invite"), 404: say("not_yours"), 409: say(conflict), 410: say("ended") };
  return error.status === undefined ? say("no_server") : reasons[error.status] ?? error.message;
}

/** @type {(progress: Progress, ticket: number) => void} */
function updateProgress(progress, ticket) {
  if (!session.update(progress, ticket)) return;
  const { answers, goal, quota, yours } = progress;
  find("undo").disabled = session.undoable === null;
  const [done, whole] = quota === null ? [answers, goal] : [yours, quota];
  find("bar").hidden = whole === null; // without a goal there is nothing to fill
  find("bar").max = Math.max(1, whole ?? 0);
  find("bar").value = done;
  const key = quota !== null ? "progress_quota" : goal !== null ? "progress_goal" : "progress";
  find("count").textContent = say(key, { answers, goal, quota, yours });
}

// Drawing

/** Draw the current pair, or an empty page if there is none. */
function drawPair(comment = "") {
  const pair = session.current;
  document.body.classList.remove("done");
  find("pair").classList.toggle("none", pair === null);
  find("pair").dataset.lease = pair ? pair.lease : "";
  find("empty").hidden = true;
  putOnScreen(pair);
  if (pair) {
    drawWording(pair.wording);
    drawQuestionNumber(pair.question);
  }
  const field = find("comment");
  if (field) field.value = comment;
  for (const button of buttons) button.disabled = pair === null;
  startViewing();
}

/** Say why there is no pair. @type {(key: string, reason?: string) => void} */
function drawNothing(key, reason = `${key}_why`) {
  drawPair();
  find("empty").hidden = false;
  findFirst("strong", find("empty")).textContent = say(key);
  findFirst("span", find("empty")).textContent = say(reason);
}

/** Why no more pairs come: the server's name for it, and the key of our text. @type {Record<string, string>} */
const endings = {
  closed: "over_closed",
  deadline: "over_deadline",
  answers: "over_answers",
  until: "over_until",
  quota: "over_quota",
  exhausted: "over_exhausted",
  yours: "over_yours",
};

/** @param {string | null} ending null if pairs may still come */
function drawEnding(ending) {
  if (ending === null) drawNothing("nothing");
  else if (ending === "paused") drawNothing("paused");
  else drawNothing("thanks", endings[ending]);
  document.body.classList.toggle("done", ending !== null);
}

/**
 * Show the question and the instructions that belong to the current pair; organisers may edit them meanwhile.
 * @param {Wording} wording
 */
function drawWording({ number, question, instructions }) {
  document.title = question;
  find("question").textContent = question;
  if (!session.changeWording(number)) return;
  find("guidance").hidden = instructions === "";
  find("guidance").innerHTML = instructions; // the server has sanitised it
  tell(say("reworded"), true);
  if (instructions === "" || find("instructions").open) return;
  find("instructions").showModal();
  find("instructions").addEventListener("close", startViewing, { once: true });
}

/**
 * Show which question it is. With several questions the pair stays and only the question changes, so the change is
 * highlighted.
 * @param {number} number
 */
function drawQuestionNumber(number) {
  const which = find("which");
  if (!which) return;
  const text = say("which_question", { number, count: setup.questions });
  if (which.textContent === text) return;
  which.textContent = text;
  if (which.parentElement) restartAnimation(which.parentElement, "changed");
}

/** @type {(element: HTMLElement, name: string) => void} */
function restartAnimation(element, name) {
  element.classList.remove(name);
  void element.offsetWidth; // reading it makes the browser notice that the class was gone
  element.classList.add(name);
}

// An answer counts only after some time: before that, nobody can have seen the pair.
function startViewing() {
  find("pair").classList.add("early");
  session.startViewing(1000 * setup.viewing, () => find("pair").classList.remove("early"));
}

function showInstructionsOnce() {
  if (!session.greet()) return;
  const dialog = find("instructions");
  const button = findFirst("button", dialog);
  const close = button.textContent;
  button.textContent = button.dataset.first ?? "";
  dialog.classList.add("first");
  dialog.addEventListener("close", () => {
    button.textContent = close;
    dialog.classList.remove("first");
    startViewing();
  }, { once: true });
  dialog.showModal();
}

// Fetching and answering

async function fetchPairs() {
  if (!session.startFetching()) return;
  try {
    while (session.current === null || session.upcoming === null) {
      await session.sent;
      const ticket = session.takeTicket();
      const sending = request("/api/next", { holding: session.heldLeases });
      const { pair, over, progress } = await session.trackPairRequest(sending);
      updateProgress(progress, ticket);
      showInstructionsOnce();
      if (pair === null) {
        if (session.current !== null && over !== null) await renew(null); // its lease may have been given back
        if (session.current !== null) return;
        drawEnding(over);
        if (!find("status").classList.contains("bad")) tell(""); // the message speaks of a next pair
        await delay(over === null ? 2000 : 5000); // a campaign may be reopened
      } else {
        const isFirst = session.current === null;
        session.receive(prepare(pair, session.current));
        if (isFirst) drawPair();
      }
    }
  } catch (error) {
    if (session.current === null && !error.refused) drawNothing("no_connection");
    else tell(say("no_next", { why: why(error, "went_on") }), true);
    if (!error.refused) delay(2000).then(fetchPairs);
  } finally {
    session.stopFetching();
  }
}

/** @type {(choice: Choice, strength?: Strength | null) => void} */
function answer(choice, strength = null) {
  if (session.current === null || (choice === "tie" && !ties)) return;
  if (session.early) {
    restartAnimation(find("pair"), "pulse");
    tell(say("too_soon"));
    return;
  }
  const seconds = Math.min(MAX_SECONDS, session.viewedSeconds);
  /** @type {Answer} */
  const given = { lease: session.current.lease, choice, seconds };
  if (strength) given.strength = strength;
  const comment = find("comment")?.value.trim();
  if (comment) given.comment = comment;
  session.give(given);
  const givenAt = Date.now();
  session.enqueue(() => deliver(given, givenAt));
  const side = choice === "tie" ? say("tie") : choice === "skip" ? say("skipped") : nameOf(choice);
  const what = strength ? `${side}: ${say(strength)}` : side;
  tell(say(setup.questions > 1 ? "answered_several" : "answered", { what, number: session.nextNumber }));
  session.advance();
  drawPair();
  if (session.current === null && !navigator.onLine) drawNothing("no_connection");
  session.sent.then(fetchPairs);
}

/**
 * Send an answer until the server has counted or refused it.
 * @type {(given: Answer, givenAt: number) => Promise<void>}
 */
async function deliver(given, givenAt) {
  let wait = 500;
  for (let repeated = false; ; repeated = true) {
    const ticket = session.takeTicket();
    try {
      // The answer may have waited for a connection.
      const ago = Math.min(MAX_SECONDS, Math.max(0, (Date.now() - givenAt) / 1000));
      const { counted, progress } = await request("/api/answer", { ...given, ago });
      updateProgress(progress, ticket);
      // A repeated answer that is not counted was counted before, and only the acknowledgement was lost.
      if (!counted && !repeated) {
        await renew().catch(() => {}); // the next pair may have been answered there too
        tell(say("answered_before"), true);
      }
      break;
    } catch (error) {
      if (error.refused) {
        tell(say("not_counted", { why: why(error, "went_on") }), true);
        break;
      }
      tell(say("unsaved"), true);
      if (session.current === null) drawNothing("no_connection");
      await delay(wait);
      wait = Math.min(2 * wait, 4000);
    }
  }
  session.settle(given);
  if (!session.hasUnsent && find("status").textContent === say("unsaved")) tell(say("saved"));
}

function undo() {
  session.enqueue(async () => {
    // A request for a pair that is still under way could bring the same pair, which would then come twice.
    await session.pairRequest.catch(() => {});
    if (session.undoable === null) return;
    const ticket = session.takeTicket();
    const comment = session.undoableComment;
    try {
      const { pair, progress } = await request("/api/undo", { lease: session.undoable });
      updateProgress(progress, ticket);
      session.goBack(prepare(pair, session.current));
      drawPair(comment);
      tell(say("taken_back"));
    } catch (error) {
      tell(say("not_taken_back", { why: why(error, "only_last") }), true);
    }
  });
}

/**
 * Keep the leases of the pairs on the page. Pairs that were answered elsewhere meanwhile give way to the next one.
 * @param {string | null} message the key of what to say if the current pair is lost
 */
async function renew(message = "passed_on") {
  const { leases } = session;
  if (leases.length === 0) return;
  const { held } = await request("/api/renew", { holding: leases });
  if (!session.drop(leases.filter((lease) => !held.includes(lease)))) return;
  drawPair();
  if (message) tell(say(message));
}

function renewIfVisible() {
  if (document.visibilityState !== "visible") return;
  renew().then(fetchPairs, () => {}); // a server that cannot be reached is asked again later
}

listen({ answer, undo, help: () => find("instructions").showModal() });
document.addEventListener("visibilitychange", renewIfVisible);
setInterval(renewIfVisible, (1000 * setup.lease) / 3);
window.addEventListener("beforeunload", (event) => {
  if (session.hasUnsent) event.preventDefault();
});
fetchPairs();
