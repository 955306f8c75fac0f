// The room Play: a game at the board, or a new one. Needs board.js.
import { $, announce, ask, complain, feed, post } from "./shell.js";
import { Chooser } from "./chooser.js";
import { clockText, stonesOf, Table } from "./table.js";

const SIDES = ["Black", "White"];
const name = $("room").dataset.game;
let choices = null, state = null, table = null, graph = null, hint = null;
let choosers = [];

// -- a new game -----------------------------------------------------------------------------------

async function openLobby() {
  $("lobby").hidden = false;
  const found = await ask("/play/choices");
  if (!found) return;
  for (const game of found.games) made("option", { value: game.spec }, $("game"), game.name);
  made("option", { value: "" }, $("game"), "another …");
  choosers = SIDES.map((side) => new Chooser($("choosers"), side));
  const asked = new URLSearchParams(location.search).get("game");
  if (asked && [...$("game").options].some((one) => one.value === asked)) $("game").value = asked;
  await gameChosen();
  const games = await ask("/play/list");
  for (const one of games ? games.games : []) {
    const link = made("a", { href: `/play/${one.id}` }, made("li", {}, $("list")));
    made("b", {}, link, one.players.map(playerText).join(" – "));
    link.append(` ${one.game}, ${one.moves} moves${one.result ? `, ${one.result}` : ", under way"} `);
    made("span", { class: "quiet" }, link, one.began.replace("T", " "));
  }
  $("recent").hidden = !(games && games.games.length);
}

function chosenGame() {
  const spec = $("game").value || $("other").value.trim();
  const komi = $("komibox").hidden ? "" : $("komi").value;
  return komi && !/komi=/.test(spec) ? `${spec},komi=${komi}` : spec;
}

async function gameChosen() {
  const own = !$("game").value;
  $("otherbox").hidden = !own;
  const spec = $("game").value || $("other").value.trim();
  if (!spec) return;
  const found = await ask(`/play/choices?game=${encodeURIComponent(spec)}`);
  if (!found) return;
  const now = choosers.map((one) => (one.value === choices?.best ? found.best : one.value));
  const first = !choices, before = first ? ["human", found.levels ? "level=1" : found.best] : now;
  choices = found;
  $("komibox").hidden = found.komi === null;
  if (found.komi !== null) $("komi").value = found.komi;
  choosers.forEach((one, i) => one.fill(found, /^level/.test(before[i]) && !found.levels ? found.best : before[i]));
  if (first && found.levels) choosers.forEach(middle);
}

function middle(chooser) {
  const [least, most] = choices.levels;
  chooser.level.value = Math.round((2 * least + most) / 300) * 100;
}

async function start(event) {
  event.preventDefault();
  $("start").disabled = true;
  const [black, white] = choosers.map((one) => one.value);
  const answer = await post("/play/new", { game: chosenGame(), black, white, clock: $("clock").value, sgf: $("sgf").value });
  $("start").disabled = false;
  if (answer) location.assign(`/play/${answer.id}`);
}

// -- a game ---------------------------------------------------------------------------------------

function playerText(text) {
  return text === "human" ? "a person" : text;
}

function send(act, data = {}) {
  return post(`/play/${name}/${act}`, data);
}

function mine() {
  return state.phase === "play" && state.people[state.mover];
}

/** The legal move that a click on a point means; where stones fall, all of a column is one. */
function moveAt(point) {
  if (!mine()) return null;
  const { width } = state.game;
  const same = state.columns ? ([own]) => own % width === point % width : ([own]) => own === point;
  return state.legal.find(same) || null;
}

function chosen(point) {
  if (state.phase === "count") {
    if (table.stones[point]) send("mark", { point });
    return;
  }
  const move = moveAt(point);
  if (move) play(move[1]);
  else if (mine()) announce(`${pointText(state.game, point)} cannot be played.`);
}

function play(move) {
  table.hover(-1);
  send("move", { move, ply: state.ply });
}

function over(point) {
  const move = point < 0 ? null : moveAt(point);
  table.hover(move ? move[0] : -1, state.mover + 1);
}

function all(news) {
  const before = state;
  state = news;
  if (!table) {
    table = new Table($("board"), state.game, { onPoint: chosen, over, label: `The board of ${state.common}` });
    $("room").hidden = false;
    seats();
  }
  if (!before || before.ply !== state.ply || before.phase !== state.phase) hint = null;
  draw();
  tell(before);
  buttons();
  drawCurve();
  thinking(state.thinking);
  tick();
}

function draw() {
  let cells = null, best = -1;
  if (hint && hint.moves.length) {
    const most = Math.max(1, ...hint.moves.map((move) => move.visits));
    cells = new Map();
    for (const move of hint.moves) {
      if (move.point >= 0 && move.visits && !cells.has(move.point)) {
        const share = move.visits / most;
        cells.set(move.point, { fill: `rgb(33 113 181 / ${0.12 + 0.6 * share})`, ink: share > 0.6 ? "#fff" : "#111",
          text: `${Math.round(move.rate)}` });
      }
    }
    best = hint.moves[0].point;
  }
  table.show({ stones: stonesOf(state.stones), last: state.last, cells, best, dead: state.dead,
    title: `${state.players.map(playerText).join(" – ")}, after ${state.ply} moves` });
}

function said() {
  if (state.phase === "over") {
    const winner = { B: "Black wins", W: "White wins", 0: "A draw" }[state.result[0]] || "No result";
    return `${winner}: ${state.result}${state.detail ? ` (${state.detail})` : ""}`;
  }
  if (state.phase === "count") return "Both have passed: which stones are dead?";
  const who = `${SIDES[state.mover]} to move`;
  if (state.paused) return `${who}; the game is paused`;
  return state.people[state.mover] ? who : `${who}: ${playerText(state.players[state.mover])}`;
}

function tell(before) {
  $("status").textContent = said();
  $("heading").textContent = state.players.map(playerText).join(" – ");
  document.title = `${said()} – jubango`;
  if (before && state.ply > before.ply) {
    const last = state.moves.length - 1;
    announce(`${state.movers[last] === "b" ? "Black" : "White"} plays ${state.moves[last]}. ${said()}.`);
  }
  complain(state.trouble || "");
  $("moves").textContent = state.moves.map((text, i) => `${i + 1} ${text}`).join("  ");
  const counting = state.phase === "count";
  $("counting").hidden = !counting;
  if (counting) {
    $("score").textContent = `As marked: ${state.score}.`;
    agreement();
  }
}

/** Who agrees to the count. Buttons are made anew where something else is to be said, and keep the focus else. */
function agreement() {
  const box = $("agree"), key = JSON.stringify([state.people, state.agreed]);
  if (box.dataset.key === key && box.children.length) return;
  box.dataset.key = key;
  box.replaceChildren();
  SIDES.forEach((side, player) => {
    if (!state.people[player]) return;
    const text = state.agreed[player] ? `${side} agrees ✓` : `${side} agrees`;
    made("button", { type: "button", "aria-pressed": String(state.agreed[player]) }, box, text)
      .addEventListener("click", () => send("agree", { player }));
  });
  made("button", { type: "button" }, box, "Play on").addEventListener("click", () => send("resume"));
}

function buttons() {
  const playing = state.phase === "play", people = state.people.filter(Boolean).length;
  $("hint").disabled = !mine();
  $("undo").disabled = !state.ply;
  $("resign").disabled = !playing || !people;
  $("hurry").hidden = !(playing && state.asked);
  $("pause").hidden = !playing || (people === 2 && !state.clocks);
  $("pause").textContent = state.paused ? "Go on" : "Pause";
  others();
  SIDES.forEach((side, player) => {
    $(`seat${player}`).classList.toggle("to-move", playing && player === state.mover);
    if (choosers[player] && choosers[player].told !== state.players[player]) {
      choosers[player].choose(state.players[player]);
      choosers[player].told = state.players[player];
    }
  });
}

/** Moves that are no points. A button stays the same one while it means the same, and keeps the keyboard's focus. */
function others() {
  const box = $("others"), key = state.others.join(" ");
  if (box.dataset.key !== key) {
    box.dataset.key = key;
    box.replaceChildren();
    for (const text of state.others) {
      made("button", { type: "button" }, box, text === "pass" ? "Pass" : text).addEventListener("click", () => play(text));
    }
  }
  for (const button of box.children) button.disabled = !mine();
}

async function seats() {
  SIDES.forEach((side, player) => {
    const seat = made("div", { class: "seat", id: `seat${player}` }, $("players"));
    made("span", { class: `disc ${side.toLowerCase()}`, "aria-hidden": "true" }, seat);
    choosers[player] = new Chooser(seat, side, async () => {
      if (!await send("seat", { player, name: choosers[player].value })) choosers[player].choose(state.players[player]);
    });
    made("span", { class: "clock", id: `clock${player}` }, seat);
  });
  choices = await ask(`/play/choices?game=${encodeURIComponent(state.game.spec)}`);
  if (choices) {
    choosers.forEach((one, i) => {
      one.fill(choices, state.players[i]);
      one.told = state.players[i];
    });
  }
}

function thinking(thought) {
  const box = $("thinking");
  if (!thought) {
    const own = state.thoughts.at(-1);
    box.textContent = own && state.phase !== "count" ? `Black's win rate as the last bot saw it: ${own[1].toFixed(1)} %` : "";
    return;
  }
  state.asked = true; // since the position was told
  $("hurry").hidden = state.phase !== "play";
  const who = playerText(state.players[state.mover]);
  if (!thought.visits) {
    box.textContent = `${who} is thinking; the first time its programs take a while to be made.`;
    return;
  }
  const rate = state.mover ? 100 - thought.rate : thought.rate;
  box.textContent = `${who} thinks: ${thought.line.join(" ")}, ${rate.toFixed(1)} % for itself after ` +
    `${thought.visits.toLocaleString("en")} visits`;
}

function hinted(news) {
  hint = news;
  $("hintbox").hidden = !news.moves.length;
  const body = $("hints");
  body.replaceChildren();
  for (const move of news.moves.slice(0, 5)) {
    const row = made("tr", {}, body);
    made("td", {}, row, move.move);
    made("td", { class: "right" }, row, `${move.rate.toFixed(1)} %`);
    made("td", { class: "right" }, row, String(move.visits));
    made("td", { class: "name quiet" }, row, move.line.join(" "));
  }
  if (!news.moves.length) $("thinking").textContent = "The adviser is thinking; the first time its programs take a while to be made.";
  if (news.over && news.moves.length) announce(`Hint: ${news.moves[0].move}, ${news.moves[0].rate.toFixed(0)} %.`);
  else if (news.moves.length) thinking(null);
  draw();
}

function drawCurve() {
  const values = state.thoughts.map(([ply, rate]) => [ply + 1, rate / 100]);
  $("curve").hidden = values.length < 2;
  $("hintbox").hidden = !hint || !hint.moves.length;
  if (values.length < 2) return;
  graph = graph || new Graph($("curve"), () => {});
  graph.draw(state.ply, [{ values, class: "one", name: "" }], "Black's win rate, as the bots saw it",
    (share) => `${Math.round(100 * share)} %`);
  graph.at(state.ply);
}

let ticking = 0, since = 0;

/** The clocks, between two messages of the server. */
function tick() {
  cancelAnimationFrame(ticking);
  clearTimeout(ticking);
  since = performance.now();
  showClocks();
}

function showClocks() {
  if (!state.clocks) return;
  state.clocks.forEach((clock, player) => {
    let main = clock.main - (clock.runs ? (performance.now() - since) / 1000 : 0), periods = clock.periods;
    while (main < 0 && periods > 1) {
      main += clock.byoyomi;
      periods -= 1;
    }
    if (main < 0 && periods === 1) main += clock.byoyomi;
    const inOvertime = clock.periods && clock.main - (clock.runs ? (performance.now() - since) / 1000 : 0) < 0;
    $(`clock${player}`).textContent = clockText(main) + (inOvertime ? ` (${periods})` : "");
    $(`clock${player}`).classList.toggle("low", main < 10 && clock.runs);
  });
  if (state.clocks.some((clock) => clock.runs)) ticking = setTimeout(showClocks, 100);
}

async function review() {
  const answer = await post("/analyse/new", { play: name });
  if (answer) location.assign(`/analyse/${answer.id}?review=1`);
}

if (name) {
  feed(`/play/${name}/events`, { all, thinking, hint: hinted });
  $("hint").addEventListener("click", () => send("hint"));
  $("undo").addEventListener("click", () => send("undo"));
  $("resign").addEventListener("click", () => send("resign"));
  $("hurry").addEventListener("click", () => send("hurry"));
  $("pause").addEventListener("click", () => send("pause", { paused: !state.paused }));
  $("review").addEventListener("click", review);
  $("sgflink").href = `/play/${name}/game.sgf`;
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !state || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "h" && mine()) send("hint");
    if (event.key === "u" && state.ply) send("undo");
    if (event.key === "p" && mine() && state.others.includes("pass")) play("pass");
    if (event.key === "r" && state.phase === "over") review();
  });
} else {
  $("game").addEventListener("change", gameChosen);
  $("other").addEventListener("change", gameChosen);
  $("new").addEventListener("submit", start);
  $("file").addEventListener("change", async () => {
    const file = $("file").files[0];
    if (file) $("sgf").value = await file.text();
  });
  openLobby();
}
