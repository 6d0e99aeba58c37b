"use strict";

const find = (id) => document.getElementById(id);

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(path, options);
  const content = await response.json().catch(() => ({}));
  if (!response.ok) {
    const error = new Error(content.detail || `the server answered ${response.status}`);
    error.refused = response.status < 500; // asking again would give the same
    throw error;
  }
  return content;
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Labelling. The pair on the screen is `current`; `upcoming` is loaded while it is looked at. An answer moves on at once
// and is sent in the background, in order, again and again until the server has it.

function label() {
  const buttons = [...document.querySelectorAll("[data-choice]")];
  const ties = buttons.some((button) => button.dataset.choice === "tie");
  const said = { left: "Left", right: "Right", tie: "Tie", skip: "Skipped" };
  let current = null;
  let upcoming = null;
  let began = 0;
  let undoable = null;
  const unsent = new Set(); // leases whose answers the server does not have yet: they must not be shown again
  let sending = Promise.resolve();
  let looking = false;
  let number = 0;

  const tell = (text, bad = false) => {
    find("status").textContent = text;
    find("status").classList.toggle("bad", bad);
  };

  // Requests run beside each other: what one says that was sent before the last one told is not news any more.
  let asked = 0;
  let told = 0;

  function count(progress, ticket) {
    if (ticket < told) return;
    told = ticket;
    undoable = progress.undo;
    find("undo").disabled = undoable === null;
    find("bar").max = Math.max(1, progress.answers + progress.wanted);
    find("bar").value = progress.answers;
    const all = `${progress.answers} of ${progress.answers + progress.wanted} answers`;
    find("count").textContent = `${all} · ${progress.yours} by you`;
  }

  // Elements are made when a pair arrives, so that its pictures load before it is shown.
  function build(parts, side) {
    return parts.map((part) => {
      const kinds = { image: "img", audio: "audio" };
      const element = document.createElement(kinds[part.kind] || "div");
      if (part.kind === "image") {
        element.alt = `${side} picture`;
        element.draggable = false;
      } else if (part.kind === "audio") {
        element.controls = true;
        element.preload = "auto";
        element.setAttribute("aria-label", `${side} sound`);
        element.addEventListener("play", () => {
          for (const other of document.querySelectorAll("audio")) if (other !== element) other.pause();
        });
      } else {
        element.className = part.kind === "markdown" ? "text" : "text plain";
        if (part.kind === "markdown") element.innerHTML = part.html; // sanitised by the server
        else element.textContent = part.text;
        for (const link of element.querySelectorAll("a")) link.target = "_blank";
      }
      if (part.url) element.src = part.url;
      return element;
    });
  }

  const ready = (pair) => pair && { ...pair, elements: [build(pair.left, "Left"), build(pair.right, "Right")] };

  function show(pair) {
    current = pair;
    began = performance.now();
    find("pair").classList.toggle("none", pair === null);
    find("pair").dataset.lease = pair ? pair.lease : "";
    find("empty").hidden = true;
    ["left", "right"].forEach((side, at) => {
      find(side).querySelector(".parts").replaceChildren(...(pair ? pair.elements[at] : []));
      find(side).querySelector(".parts").scrollTop = 0;
      find(side).hidden = pair === null;
    });
    scrollable();
    for (const button of buttons) button.disabled = pair === null;
    if (pair) number += 1;
  }

  // What is too long for its place can be reached by Tab, and scrolled by keys.
  function scrollable() {
    for (const parts of document.querySelectorAll(".parts")) {
      parts.tabIndex = parts.scrollHeight > parts.clientHeight ? 0 : -1;
    }
  }

  async function look() {
    if (looking) return;
    looking = true;
    try {
      while (current === null || upcoming === null) {
        await sending;
        const holding = [current, upcoming].filter(Boolean).map((pair) => pair.lease).concat([...unsent]);
        const ticket = ++asked;
        const found = await ask("/api/next", { holding });
        count(found.progress, ticket);
        if (found.pair === null) {
          if (current !== null) return;
          show(null);
          find("empty").hidden = false;
          await pause(2000);
        } else if (current === null) {
          show(ready(found.pair));
        } else {
          upcoming = ready(found.pair);
        }
      }
    } catch (error) {
      tell(`Cannot get the next pair: ${error.message}`, true);
      if (!error.refused) setTimeout(look, 2000);
    } finally {
      looking = false;
    }
  }

  function answer(choice) {
    if (current === null || (choice === "tie" && !ties)) return;
    const given = { lease: current.lease, choice, seconds: (performance.now() - began) / 1000 };
    unsent.add(given.lease);
    sending = sending.then(() => deliver(given));
    tell(upcoming ? `${said[choice]}. Pair ${number + 1}.` : `${said[choice]}.`);
    show(upcoming);
    upcoming = null;
    sending.then(look);
  }

  async function deliver(given) {
    for (let wait = 500; ; wait = Math.min(2 * wait, 8000)) {
      const ticket = ++asked;
      try {
        count((await ask("/api/answer", given)).progress, ticket);
        break;
      } catch (error) {
        if (error.refused) {
          tell(`Not counted: ${error.message}.`, true);
          break;
        }
        tell("Your last answer is not saved yet; trying again. Keep this page open.", true);
        await pause(wait);
      }
    }
    unsent.delete(given.lease);
    if (unsent.size === 0 && find("status").textContent.startsWith("Your last answer is not saved")) tell("Saved.");
  }

  function undo() {
    sending = sending.then(async () => {
      if (undoable === null) return;
      const ticket = ++asked;
      try {
        const found = await ask("/api/undo", { lease: undoable });
        count(found.progress, ticket);
        if (current !== null) upcoming = current;
        show(ready(found.pair));
        tell("Taken back. Answer this pair again.");
      } catch (error) {
        tell(`Nothing taken back: ${error.message}.`, true);
      }
    });
  }

  const help = () => find("instructions").showModal();
  const keys = {
    ArrowLeft: () => answer("left"),
    ArrowRight: () => answer("right"),
    ArrowDown: () => answer("tie"),
    t: () => answer("tie"),
    s: () => answer("skip"),
    u: undo,
    Backspace: undo,
    "?": help,
  };
  // Who came to a sound or a long text by Tab plays, seeks and scrolls it with the keys; who used the mouse answers with
  // the keys next, of which the browser tells nothing while the controls of a sound have the focus.
  let tabbed = false;
  document.addEventListener("focusin", (event) => {
    if (event.target.matches("audio, .parts") && !tabbed) event.target.blur();
    tabbed = false;
  });
  document.addEventListener("keydown", (event) => {
    tabbed = event.key === "Tab";
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    const seeking = event.key.startsWith("Arrow") && event.target.closest("audio");
    const scrolling = event.key === "ArrowDown" && event.target.matches(".parts");
    const busy = find("instructions").open || seeking || scrolling;
    if (!act || busy || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown" && !ties) return; // it scrolls
    event.preventDefault();
    act();
  });
  for (const button of buttons) {
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      answer(button.dataset.choice);
    });
  }
  for (const side of ["left", "right"]) {
    find(side).addEventListener("click", (event) => {
      const selecting = String(window.getSelection()) !== "";
      if (!event.target.closest("audio, a") && !selecting) answer(side);
    });
  }
  window.addEventListener("resize", scrollable);
  find("pair").addEventListener("load", scrollable, true); // of pictures
  find("undo").addEventListener("click", undo);
  find("help").addEventListener("click", help);
  window.addEventListener("beforeunload", (event) => {
    if (unsent.size > 0) event.preventDefault();
  });
  look();
}

// The dashboard: what the server reports, drawn again whenever it differs.

const percent = (value) => `${(100 * value).toFixed(1)}%`;

function draw(parent, name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9 * step; at += step) found.push(at);
  return found;
}

function chart(id, points, series, format) {
  const svg = find(id);
  const drawn = series.map(({ key, kind }) => ({ kind, line: points.filter((point) => point[key] !== null)
    .map((point) => [point.answers, point[key]]) }));
  const values = drawn.flatMap(({ line }) => line.map(([, y]) => y));
  svg.replaceChildren();
  const [width, height, left, right, top, bottom] = [340, 200, 44, 52, 10, 40];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (values.length === 0) {
    draw(svg, "text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "More answers are needed for this.");
    svg.setAttribute("aria-label", "More answers are needed for this.");
    return;
  }
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low) * 0.08 || Math.abs(high) * 0.05 || 0.5;
  [low, high] = [low - room, high + room];
  const most = Math.max(...points.map((point) => point.answers), 1);
  const x = (value) => left + (value / most) * (width - left - right);
  const y = (value) => height - bottom - ((value - low) / (high - low)) * (height - top - bottom);
  for (const value of ticks(low, high, 4)) {
    draw(svg, "line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) });
    draw(svg, "text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, format(value));
  }
  for (const value of ticks(0, most, 4).filter((value) => value % 1 === 0)) {
    draw(svg, "text", { x: x(value), y: height - 22, "text-anchor": "middle" }, value);
  }
  draw(svg, "text", { x: x(most / 2), y: height - 4, "text-anchor": "middle" }, "answers");
  const ends = [];
  for (const { line, kind } of drawn.filter(({ line }) => line.length)) {
    draw(svg, "polyline", { class: `line ${kind}`, points: line.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") });
    for (const [a, b] of line) {
      const dot = draw(svg, "circle", { class: `dot ${kind}`, cx: x(a), cy: y(b), r: 2.5 });
      draw(dot, "title", {}, `${a} answers: ${format(b)}`);
    }
    const [, last] = line[line.length - 1];
    const taken = ends.find((place) => Math.abs(place - y(last)) < 12);
    const place = taken === undefined ? y(last) : taken + (y(last) < taken ? -12 : 12);
    ends.push(place);
    draw(svg, "text", { class: `end ${kind}`, x: width - right + 6, y: place + 4 }, format(last));
  }
  const spoken = drawn.filter(({ line }) => line.length)
    .map(({ line, kind }) => `${kind === "two" ? "random pairs" : "now"} ${format(line[line.length - 1][1])}`);
  svg.setAttribute("aria-label", `After ${most} answers: ${spoken.join(", ")}`);
}

function caterpillar(ranking, total) {
  const svg = find("ranking");
  svg.replaceChildren();
  find("ranked").textContent = ranking.length ? `${total} items, best first, with 90% intervals` : "";
  if (ranking.length === 0) return;
  const width = Math.max(320, Math.min(900, svg.parentElement.clientWidth));
  const [left, right, line, top] = [Math.min(180, width * 0.36), 16, 20, 8];
  const gap = ranking.length < total ? 30 : 0;
  const half = ranking.findIndex((item, at) => at > 0 && item.rank !== ranking[at - 1].rank + 1);
  const height = top + ranking.length * line + gap + 26;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const low = Math.min(...ranking.map((item) => item.low));
  const high = Math.max(...ranking.map((item) => item.high));
  const x = (value) => left + ((value - low) / (high - low || 1)) * (width - left - right);
  for (const value of ticks(low, high, 6)) {
    draw(svg, "line", { class: "grid", x1: x(value), x2: x(value), y1: top, y2: height - 22 });
    draw(svg, "text", { x: x(value), y: height - 6, "text-anchor": "middle" }, Number(value.toPrecision(6)));
  }
  ranking.forEach((item, at) => {
    const y = top + line * (at + 0.5) + (half > 0 && at >= half ? gap : 0);
    const name = item.id.length > 20 ? `${item.id.slice(0, 19)}…` : item.id;
    const text = draw(svg, "text", { x: left - 10, y: y + 4, "text-anchor": "end" }, `${item.rank}  ${name}`);
    draw(text, "title", {}, item.id);
    draw(svg, "line", { class: "interval", x1: x(item.low), x2: x(item.high), y1: y, y2: y });
    const dot = draw(svg, "circle", { class: "dot one", cx: x(item.score), cy: y, r: 4 });
    draw(dot, "title", {}, `${item.id}: ${item.score.toFixed(2)} (${item.low.toFixed(2)} to ${item.high.toFixed(2)})`);
  });
  if (gap) {
    draw(svg, "text", { x: left - 10, y: top + line * half + gap / 2 + 4, "text-anchor": "end", class: "gap" },
      `… ${total - ranking.length} more …`);
  }
  const best = ranking.slice(0, 3).map((item) => item.id).join(", ");
  svg.setAttribute("aria-label", `Ranking of ${total} items with intervals. Best: ${best}`);
}

function people(rows) {
  if (rows.length === 0) return;
  const share = (value) => (value === null ? "–" : `${Math.round(100 * value)}%`);
  find("people").tBodies[0].replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    const seconds = row.seconds === null ? "–" : `${row.seconds.toFixed(1)} s`;
    const cells = [row.name, row.answers, seconds, share(row.agrees_with_model), share(row.agrees_on_repeated)];
    line.append(...cells.map((text, at) => {
      const cell = document.createElement(at ? "td" : "th");
      if (!at) cell.scope = "row";
      cell.textContent = text;
      return cell;
    }));
    return line;
  }));
}

async function dashboard() {
  let before = "";
  for (;;) {
    try {
      const now = await ask("/api/dashboard");
      for (const key of ["answers", "last_hour", "complete", "planned", "rounds", "skipped", "undone"]) {
        find(key).textContent = now[key];
      }
      find("problem").hidden = now.problem === "";
      find("problem").textContent = now.problem;
      const drawn = JSON.stringify([now.report, now.ranking]);
      if (drawn !== before) {
        before = drawn;
        const { curve, advice } = now.report;
        if (advice) {
          find("advice").textContent = advice.text;
          find("advice").classList.toggle("stop", advice.stop);
        }
        chart("auc", curve, [{ key: "auc", kind: "one" }], (value) => value.toFixed(2));
        chart("doubt", curve, [{ key: "doubt", kind: "one" }], percent);
        chart("gained", curve, [{ key: "gained", kind: "one" }, { key: "random", kind: "two" }],
          (value) => value.toFixed(value < 10 ? 1 : 0));
        caterpillar(now.ranking, now.items);
        people(now.report.people);
      }
    } catch (error) {
      find("problem").hidden = false;
      find("problem").textContent = `Not up to date: ${error.message}`;
    }
    await pause(2000);
  }
}

if (find("pair")) label();
if (find("dashboard")) dashboard();
