// The room Analyse: a game on the board, looked at while it is searched. Needs board.js.
import { $, announce, ask, complain, feed, post } from "./shell.js";
import { Chooser } from "./chooser.js";
import { stonesOf, Table } from "./table.js";

const SIDES = ["Black", "White"];
const ROWS = 10; // candidates in the table
const name = $("room").dataset.analysis;
let state = null, found = null, table = null, curve = null, leads = null, chooser = null;
let line = -1; // the candidate whose variation is shown
let editing = null; // stones that are being set up
let task = null; // the problem that is asked, and what has come of it

// -- something to look at ----------------------------------------------------------------------------

async function openLobby() {
  $("lobby").hidden = false;
  const choices = await ask("/play/choices");
  for (const game of choices ? choices.games : []) made("option", { value: game.spec }, $("game"), game.name);
  made("option", { value: "" }, $("game"), "another …");
  const found = await ask("/analyse/list");
  for (const one of found ? found.analyses : []) {
    const link = made("a", { href: `/analyse/${one.id}` }, made("li", {}, $("list")));
    made("b", {}, link, one.names.filter(Boolean).join(" – ") || "a position");
    link.append(` ${one.game}, ${one.moves} moves${one.result ? `, ${one.result}` : ""}`);
  }
  $("recent").hidden = !(found && found.analyses.length);
}

async function begin(event, what) {
  if (event) event.preventDefault();
  const answer = await post("/analyse/new", what);
  if (answer) location.assign(`/analyse/${answer.id}`);
}

/** A file that is dropped anywhere on the page, or text. */
function listenToDrops() {
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    const text = file ? await file.text() : event.dataTransfer.getData("text/plain");
    if (text.trim()) begin(null, { sgf: text });
  });
  document.addEventListener("paste", (event) => {
    if (/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
    const text = event.clipboardData.getData("text/plain");
    if (text.trim().startsWith("(")) begin(null, { sgf: text });
  });
}

// -- a game on the board ---------------------------------------------------------------------------

function send(act, data = {}) {
  return post(`/analyse/${name}/${act}`, data);
}

function moveAt(point) {
  const { width } = state.game;
  const same = state.columns ? ([own]) => own % width === point % width : ([own]) => own === point;
  return state.legal.find(same) || null;
}

function tool() {
  const chosen = document.querySelector('input[name="tool"]:checked');
  return chosen && !$("setup").hidden && $("setup").open ? chosen.value : "play";
}

function chosen(point) {
  if (tool() !== "play") {
    editing = editing || stonesOf(state.stones);
    editing[point] = Number(tool());
    draw();
    return;
  }
  const move = moveAt(point);
  if (!move) announce(`${pointText(state.game, point)} cannot be played.`);
  else if (task && !task.answered) attempt(move[1]);
  else play(move[1]);
}

function play(move) {
  table.hover(-1);
  send("move", { move });
}

function over(point) {
  const move = point < 0 || tool() !== "play" ? null : moveAt(point);
  table.hover(move ? move[0] : -1, state.mover + 1);
  if (hidden()) return;
  const i = found ? found.moves.findIndex((one) => one.point >= 0 && one.point === (move ? move[0] : -1) && one.line.length > 1) : -1;
  if (i !== line) show(i);
}

/** Is what is known of the position kept back, as it is asked for? */
function hidden() {
  return Boolean(task && !task.answered);
}

function all(news) {
  const before = state;
  state = news;
  if (!table) open();
  const moved = !before || before.at !== state.at || before.branch.join() !== state.branch.join() || before.stones !== state.stones;
  if (moved) {
    line = -1;
    editing = null;
  }
  searched(state.found || (moved || !found ? { visits: 0, moves: [] } : found));
  tell(moved && before);
  drawCurves();
  reviewed(state.progress);
  complain(state.trouble || "");
}

function open() {
  table = new Table($("board"), state.game, { onPoint: chosen, over, label: `The board of ${state.common}`, said: saidOf });
  $("room").hidden = false;
  $("setup").hidden = !state.can_set_up;
  curve = new Graph($("curve"), (at) => send("go", { at }));
  leads = state.counts ? new Graph($("leads"), (at) => send("go", { at })) : null;
  chooser = new Chooser($("who"), "Searched by", async () => {
    if (!await send("who", { name: chooser.value })) chooser.choose(state.who);
  });
  ask(`/play/choices?game=${encodeURIComponent(state.game.spec)}`).then((choices) => {
    if (choices) chooser.fill(choices, state.who || choices.best, true);
  });
}

/** What is known of a point, for who listens. */
function saidOf(point) {
  const move = hidden() ? null : found && found.moves.find((one) => one.point === point);
  return move && move.visits ? `${move.rate.toFixed(0)} %, ${move.visits} visits` : "";
}

function searched(news) {
  found = news;
  draw();
  const body = $("candidates").tBodies[0];
  const next = !state.branch.length && state.at < state.total ? state.moves[state.at] : "";
  const shown = hidden() ? [] : found.moves.slice(0, ROWS);
  while (body.rows.length > shown.length) body.deleteRow(-1);
  shown.forEach((move, i) => {
    const row = body.rows[i] || candidate(body, i); // the same row, which keeps the keyboard's focus
    row.setAttribute("aria-selected", String(i === line));
    const proved = { 0: "lost", 0.5: "drawn", 1: "won" }[move.proved];
    const texts = [
      move.move + (move.move === next ? " (played)" : ""), proved || (move.visits ? `${move.rate.toFixed(1)} %` : ""),
      move.visits.toLocaleString("en"), move.prior === null ? "" : `${move.prior.toFixed(1)} %`, move.line.join(" ")];
    texts.forEach((text, k) => { row.cells[k].textContent = text; });
  });
  facts();
}

/** One more row of the candidates. */
function candidate(body, i) {
  const row = made("tr", { class: "open", tabindex: 0, "data-line": i }, body);
  for (const kind of ["", "right", "right", "right", "name quiet"]) made("td", { class: kind }, row);
  return row;
}

function facts() {
  const box = $("facts");
  if (hidden()) box.textContent = "What would you play?";
  else if (!state.running) box.textContent = "The search is paused.";
  else if (state.over) box.textContent = `The game is over here. ${state.result}`;
  else if (!found.visits && state.trouble && !state.searching) box.textContent = "Nothing is searched.";
  else if (!found.visits) box.textContent = "Searching; the first time its programs take a while to be made.";
  else {
    const lead = found.lead === null || found.lead === undefined ? "" :
      `, ${found.lead < 0 ? "White" : "Black"} ahead by ${Math.abs(found.lead).toFixed(1)} points`;
    box.textContent = `Black wins ${found.rate.toFixed(1)} %${lead}, after ${found.visits.toLocaleString("en")} visits`;
  }
}

function blue(share) {
  return { fill: `rgb(33 113 181 / ${(0.1 + 0.65 * share).toFixed(3)})`, ink: share > 0.55 ? "#fff" : "#111" };
}

/** The cells of the board that say what is known. */
function heat() {
  const kind = $("heat").value, cells = new Map();
  if (!kind || hidden() || !found || editing) return null;
  if (kind === "owners") {
    if (!found.owners) return null;
    found.owners.forEach((own, point) => {
      if (Math.abs(own) < 8) return;
      cells.set(point, { fill: own > 0 ? `rgb(17 17 17 / ${(Math.abs(own) / 150).toFixed(3)})` : `rgb(255 255 255 / ${(Math.abs(own) / 125).toFixed(3)})`,
        ink: own > 0 ? "#fff" : "#111", text: "", over: true });
    });
    return cells;
  }
  const values = found.moves.filter((move) => move.point >= 0 && (kind === "prior" ? move.prior !== null : move.visits));
  const amount = (move) => (kind === "visits" ? move.visits : kind === "prior" ? move.prior : move.rate);
  const most = Math.max(1e-9, ...values.map(amount)), least = kind === "rate" ? Math.min(...values.map(amount)) : 0;
  for (const move of values) {
    if (cells.has(move.point)) continue;
    const share = most > least ? (amount(move) - least) / (most - least) : 1;
    const text = kind === "visits" ? `${Math.round(move.rate)}` : amount(move).toFixed(amount(move) < 9.95 ? 1 : 0);
    cells.set(move.point, { ...blue(share), text });
  }
  return cells;
}

function draw() {
  if (!table) return;
  const stones = editing || stonesOf(state.stones);
  let points = [];
  if (line >= 0 && found.moves[line]) {
    const own = stones.slice();
    points = found.moves[line].line.map((text, i) => {
      const colour = (state.mover + i) % 2 ? WHITE : BLACK;
      return state.game.rules === "drop" ? put(state.game, own, text, colour) : pointOf(state.game, text);
    });
  }
  const best = !hidden() && found && found.moves.length && $("heat").value && $("heat").value !== "owners" ? found.moves[0].point : -1;
  table.show({ stones, last: editing ? -1 : state.last, cells: line >= 0 ? null : heat(), best: line >= 0 ? -1 : best, line: points,
    first: state.mover ? WHITE : BLACK, title: placeText() });
}

function show(i) {
  line = i;
  for (const row of $("candidates").tBodies[0].rows) row.setAttribute("aria-selected", String(Number(row.dataset.line) === line));
  draw();
}

function placeText() {
  const tried = state.branch.length ? `, then ${state.branch.map((text) => text.slice(1)).join(" ")}` : "";
  const at = state.at ? `Move ${state.at} of ${state.total}: ${state.movers[state.at - 1] === "b" ? "Black" : "White"} ${state.moves[state.at - 1]}`
    : `Before the first of ${state.total} moves`;
  return `${at}${tried}; ${state.over ? "over" : `${SIDES[state.mover]} to move`}`;
}

function tell(moved) {
  $("heading").textContent = state.names.filter(Boolean).join(" – ") || `Analyse ${state.common}`;
  $("place").textContent = placeText();
  $("slider").max = state.total;
  $("slider").value = state.at;
  $("first").disabled = $("back").disabled = !state.at && !state.branch.length;
  $("on").disabled = $("last").disabled = state.at >= state.total && !state.branch.length;
  $("run").textContent = state.running ? "Pause" : "Search";
  $("run").setAttribute("aria-pressed", String(state.running));
  $("by").textContent = [state.note, state.review ? `Reviewed by ${state.review.by}. ${state.review.note || ""}` : ""].filter(Boolean).join(" ");
  $("others").replaceChildren();
  for (const text of state.others) {
    made("button", { type: "button" }, $("others"), text === "pass" ? "Pass" : text)
      .addEventListener("click", () => (task && !task.answered ? attempt(text) : play(text)));
  }
  $("steps").hidden = !state.total;
  $("reviewbox").hidden = !state.total;
  if (moved) announce(placeText());
}

function drawCurves() {
  const rates = state.rates.map(([at, rate]) => [at, rate / 100]);
  const marks = task ? [] : problems().map((one) => one.number);
  $("curve").hidden = state.total < 2 || rates.length < 2;
  if (!$("curve").hidden) {
    curve.draw(state.total, [{ values: rates, class: "one", name: "" }], "Black's win rate",
      (share) => `${Math.round(100 * share)} %`, marks);
    curve.at(state.at);
  }
  if (!leads) return;
  const known = state.rates.filter(([, , lead]) => lead !== null && lead !== undefined);
  $("leads").hidden = state.total < 2 || known.length < 2;
  if ($("leads").hidden) return;
  const most = Math.max(1, ...known.map(([, , lead]) => Math.abs(lead)));
  leads.draw(state.total, [{ values: known.map(([at, , lead]) => [at, 0.5 + lead / most / 2]), class: "lead", name: "" }],
    "Black's lead in points", (share) => (2 * most * (share - 0.5)).toFixed(1).replace("-", "−"), marks);
  leads.at(state.at);
}

function step(by) {
  if (by === -1) send("back");
  else if (by === Infinity || by === -Infinity) send("go", { at: by > 0 ? state.total : 0 });
  else send("go", { at: Math.min(Math.max(0, state.at + by), state.total) });
  return true;
}

// -- the review, and its mistakes as problems --------------------------------------------------------

function problems() {
  const whose = $("whose").value;
  return state.review ? state.review.problems.filter((one) => whose === "" || one.player === Number(whose)) : [];
}

function reviewed(progress) {
  $("review").textContent = state.reviewing ? "Stop the review" : state.review ? "Review it again" : "Review the whole game";
  $("progress").hidden = !state.reviewing;
  if (progress && progress.total) {
    $("progress").max = progress.total;
    $("progress").value = progress.done;
  } else $("progress").removeAttribute("value");
  $("page").hidden = !state.review;
  $("page").href = `/analyse/${name}/review.html`;
  $("retry").hidden = !state.review;
  const number = problems().length;
  $("count").textContent = number ? `${number} turning point${number > 1 ? "s" : ""}.` : "No mistake was found.";
  $("problem").disabled = !number;
}

async function problem(by = 1) {
  const list = problems();
  if (!list.length) return;
  const i = task ? (list.findIndex((one) => one.number === task.number) + by + list.length) % list.length : 0;
  task = { ...list[i], answered: false };
  $("task").hidden = $("answers").hidden = false;
  $("task").textContent = `Problem ${i + 1} of ${list.length}: ${SIDES[task.player]} to move. In the game ${task.move} lost ` +
    `${task.loss.toFixed(0)} %. Find a better move.`;
  searched(found || { visits: 0, moves: [] }); // nothing of what is known is shown
  await send("go", { at: task.number - 1 });
  $("board").querySelector(".goban").focus();
}

function attempt(move) {
  post(`/analyse/${name}/try`, { number: task.number, move });
}

function verdict(news) {
  if (!task || news.number !== task.number) return;
  if (news.error) {
    complain(news.error);
    return;
  }
  if (news.waiting) {
    $("task").textContent = `${news.move}? The search looks at it …`;
    return;
  }
  const sign = task.player ? -1 : 1, own = news.rates[0], best = news.rates.at(-1), loss = sign * (best - own);
  const mine = (rate) => `${(task.player ? 100 - rate : rate).toFixed(0)} %`;
  let text = `${news.move} is what the review would have played: ${mine(own)} for ${SIDES[task.player]}.`;
  if (news.move !== news.best) {
    text = loss < 5 ? `${news.move} is as good: ${mine(own)}, and ${news.best} ${mine(best)}.`
      : `${news.move} gives ${mine(own)}; ${loss.toFixed(0)} % less than what there is. Try again, or look at the answer.`;
  }
  if (news.move === news.best || loss < 5) task.answered = true;
  $("task").textContent = text;
  searched(found);
}

function solution() {
  if (!task) return;
  task.answered = true;
  $("task").textContent = `${task.best}, with ${task.rate.toFixed(0)} % for ${SIDES[task.player]}: ${task.line.join(" ")}`;
  searched(found);
}

function enough() {
  task = null;
  $("task").hidden = $("answers").hidden = true;
  searched(found);
  drawCurves();
}

async function playOn() {
  const sgf = await fetch(`/analyse/${name}/game.sgf`);
  const answer = await post("/play/new", { sgf: await sgf.text(), at: state.at, black: "human", white: "human" });
  if (answer) location.assign(`/play/${answer.id}`);
}

async function useStones() {
  const stones = editing || stonesOf(state.stones), lists = [[], []];
  stones.forEach((colour, point) => {
    if (colour) lists[colour - 1].push(pointText(state.game, point));
  });
  if (await send("setup", { black: lists[0], white: lists[1], player: Number($("tomove").value) })) {
    document.querySelector('input[name="tool"][value="play"]').checked = true;
  }
}

listenToDrops();
if (name) {
  feed(`/analyse/${name}/events`, {
    all,
    search: (news) => (state ? searched(news) : null),
    review: (news) => (state ? reviewed(news) : null),
    verdict,
  });
  $("slider").addEventListener("change", () => send("go", { at: Number($("slider").value) }));
  $("first").addEventListener("click", () => step(-Infinity));
  $("back").addEventListener("click", () => step(-1));
  $("on").addEventListener("click", () => step(1));
  $("last").addEventListener("click", () => step(Infinity));
  $("run").addEventListener("click", () => send("run", { running: !state.running }));
  $("heat").addEventListener("change", draw);
  $("review").addEventListener("click", () => send("review", { wanted: !state.reviewing }));
  $("problem").addEventListener("click", () => problem(task ? 1 : 0));
  $("next").addEventListener("click", () => problem(1));
  $("whose").addEventListener("change", () => {
    enough();
    reviewed();
  });
  $("solution").addEventListener("click", solution);
  $("enough").addEventListener("click", enough);
  $("setstones").addEventListener("click", useStones);
  $("playon").addEventListener("click", playOn);
  $("sgflink").href = `/analyse/${name}/game.sgf`;
  const rowOf = (event) => event.target.closest("tr.open");
  $("candidates").addEventListener("pointerover", (event) => rowOf(event) && show(Number(rowOf(event).dataset.line)));
  $("candidates").addEventListener("pointerleave", () => show(-1));
  $("candidates").addEventListener("focusin", (event) => rowOf(event) && show(Number(rowOf(event).dataset.line)));
  $("candidates").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && rowOf(event)) play(found.moves[Number(rowOf(event).dataset.line)].move);
  });
  listenToKeys((by) => (document.activeElement.closest(".goban") || !state ? false : step(by)));
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "," || event.key === "<") step(-1);
    if (event.key === "." || event.key === ">") step(1);
  });
  if (new URLSearchParams(location.search).get("review")) {
    history.replaceState(null, "", location.pathname);
    send("review", { wanted: true });
  }
} else {
  $("new").addEventListener("submit", (event) => begin(event, { sgf: $("sgf").value || "()" }));
  $("empty").addEventListener("submit", (event) => begin(event, { game: $("game").value || $("other").value }));
  $("game").addEventListener("change", () => ($("otherbox").hidden = Boolean($("game").value)));
  $("file").addEventListener("change", async () => {
    const file = $("file").files[0];
    if (file) $("sgf").value = await file.text();
  });
  openLobby();
}
