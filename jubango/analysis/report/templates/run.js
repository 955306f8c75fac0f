// A run's games: the list, and one of them replayed. Needs board.js.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const ROWS = 50; // of the list at a time
const game = data.game;
const board = new Board($("board"), game);
const graph = new Graph($("graph"), (move) => go(move));
let chosen = []; // places of the games that are asked for
let from = 0; // the first of them in the list
let open = null; // the game that is replayed
let move = 0;

function read(i) {
  const [black, white, result, reason, detail, moves, rates, opening, id] = data.games[i];
  return { i, black, white, result, reason, detail, opening, id, moves: moves ? moves.split(" ") : [],
    rates: rates ? rates.split(",") : [], changes: data.changes[id] || null };
}

function options(select, texts) {
  const value = select.value;
  select.replaceChildren();
  for (const [key, text] of texts) made("option", { value: key }, select, text);
  select.value = value || "";
}

function fillFilters() {
  const players = data.names.map((name, i) => [i, name]);
  options($("one"), [["", "any player"], ...players]);
  options($("other"), [["", "any opponent"], ...players]);
  options($("winner"), [["", "any result"], ["won", "won by Black"], ["lost", "won by White"], ["drawn", "drawn"],
    ["?", "undecided"]]);
  const reasons = [...new Set(data.games.map((row) => row[3]))].sort();
  options($("ending"), [["", "any ending"], ...reasons.map((reason) => [reason, reason])]);
}

function outcome(result) {
  return { B: "won", W: "lost", 0: "drawn", D: "drawn" }[result[0]] || "?";
}

function choose() {
  const [one, other, winner, ending] = ["one", "other", "winner", "ending"].map((id) => $(id).value);
  const plays = (row, player) => player === "" || row[0] === Number(player) || row[1] === Number(player);
  chosen = [];
  data.games.forEach((row, i) => {
    if (plays(row, one) && plays(row, other) && (!winner || outcome(row[2]) === winner)
      && (!ending || row[3] === ending)) chosen.push(i);
  });
  from = Math.min(from, Math.max(0, chosen.length - 1) - Math.max(0, chosen.length - 1) % ROWS);
  list();
}

function list() {
  const body = $("list").tBodies[0];
  body.replaceChildren();
  for (const i of chosen.slice(from, from + ROWS)) {
    const [black, white, result, reason, , moves] = data.games[i];
    const row = made("tr", { class: "open", tabindex: 0, "data-game": i, "aria-selected": String(open?.i === i) }, body);
    made("td", { class: "right" }, row, String(i + 1));
    for (const text of [data.names[black], data.names[white]]) made("td", { class: "name" }, row, text);
    for (const text of [result, reason]) made("td", {}, row, text);
    made("td", { class: "right" }, row, String(moves ? moves.split(" ").length : 0));
  }
  const end = Math.min(from + ROWS, chosen.length);
  $("count").textContent = chosen.length ? `${from + 1} to ${end} of ${chosen.length} games` : "no such game";
  $("previous").disabled = from === 0;
  $("next").disabled = end >= chosen.length;
}

/** Opens a game; the address says so, and Back leads from it to what was shown before. */
function visit(i) {
  if (open?.i !== i) history.pushState(null, "", `#game=${i + 1}`);
  show(i);
  if (matchMedia("(max-width: 61.9rem)").matches) $("replay").scrollIntoView();
}

function close() {
  const row = open && $("list").querySelector(`[data-game="${open.i}"]`);
  open = null;
  $("replay").hidden = true;
  if (row) {
    row.setAttribute("aria-selected", "false");
    row.focus({ preventScroll: true });
  }
}

function show(i) {
  history.scrollRestoration = "manual"; // Back scrolls to the game
  open = read(i);
  open.boards = boards(game, open.moves, open.changes);
  $("replay").hidden = false;
  const players = $("players");
  players.replaceChildren();
  for (const [colour, player] of [["black", open.black], ["white", open.white]]) {
    const line = made("div", {}, players);
    made("span", { class: `disc ${colour}` }, line);
    line.append(` ${data.names[player]}`);
  }
  made("div", { class: "quiet" }, players,
    `game ${i + 1}: ${open.result} (${open.reason}${open.detail ? `: ${open.detail}` : ""}) · ${open.id}`);
  $("board").hidden = !open.boards;
  $("slider").max = open.moves.length;
  drawGraph();
  drawMoves();
  go(open.boards ? open.moves.length : 0);
  for (const row of $("list").tBodies[0].rows) row.setAttribute("aria-selected", String(Number(row.dataset.game) === i));
}

function drawGraph() {
  const values = [0, 1].map((player) => open.rates
    .map((rate, k) => [k + 1, Number(rate) / 100, rate])
    .filter(([k, , rate]) => rate && (k - 1) % 2 === player).map(([k, share]) => [k, share]));
  const any = values.some((own) => own.length);
  $("graph").hidden = $("legend").hidden = !any;
  if (!any) return;
  const lines = [{ values: values[0], class: "one", name: "Black says " }, { values: values[1], class: "two", name: "White says " }];
  graph.draw(open.moves.length, lines, "Black's win rate over the moves, as each player saw it",
    (share) => `${Math.round(100 * share)} %`);
  const legend = $("legend");
  legend.replaceChildren();
  made("span", {}, legend, "Black's win rate, as seen by");
  lines.forEach((line, i) => {
    const entry = made("span", {}, legend), key = made("svg", { class: "graph-key", viewBox: "0 0 30 10" }, entry);
    made("line", { x1: 0, x2: 30, y1: 5, y2: 5, stroke: i ? "var(--second)" : "var(--first)", "stroke-width": 2,
      "stroke-dasharray": i ? "5 3" : "none" }, key);
    entry.append(` ${i ? "White" : "Black"}`);
  });
}

function drawMoves() {
  $("moves").textContent = open.boards ? "" :
    `The page does not know how stones move in ${game.spec}. The moves: ${open.moves.join(" ")}`;
}

function go(number) {
  if (!open) return false;
  move = Math.min(Math.max(0, number), open.moves.length);
  const played = move ? `move ${move} of ${open.moves.length}: ${move % 2 ? "Black" : "White"} ${open.moves[move - 1]}`
    : `before the first of ${open.moves.length} moves`;
  const rate = move && open.rates[move - 1];
  const said = [played, move && move <= open.opening ? "opening" : "", rate ? `own win rate ${own(rate)} %` : ""];
  $("place").textContent = said.filter(Boolean).join(", ");
  $("slider").value = move;
  if (open.boards) board.show({ ...open.boards[move], title: `${data.names[open.black]} – ${data.names[open.white]}, ${played}` });
  if (graph.now) graph.at(move);
  $("first").disabled = $("back").disabled = move === 0;
  $("last").disabled = $("on").disabled = move === open.moves.length;
  history.replaceState(null, "", `#game=${open.i + 1}&move=${move}`);
  return true;
}

/** What the player said of its own move; the page has Black's. */
function own(rate) {
  return move % 2 ? Number(rate) : 100 - Number(rate);
}

/** Shows the game that the address names, and scrolls to it; none where it names none. */
function follow() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const i = Number(asked.get("game")) - 1;
  if (!(i >= 0 && i < data.games.length)) {
    close();
    return;
  }
  if (open?.i !== i) {
    from = Math.max(0, chosen.indexOf(i) - chosen.indexOf(i) % ROWS);
    list();
    show(i);
  }
  if (asked.has("move")) go(Number(asked.get("move")) || 0);
  $("replay").scrollIntoView();
}

function turn(by) {
  from = Math.max(0, from + by * ROWS);
  list();
}

for (const id of ["one", "other", "winner", "ending"]) {
  $(id).addEventListener("change", () => {
    from = 0;
    choose();
  });
}
$("list").addEventListener("click", (event) => {
  const row = event.target.closest("tr.open");
  if (row) visit(Number(row.dataset.game));
});
$("list").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.dataset.game) visit(Number(event.target.dataset.game));
});
$("slider").addEventListener("input", () => go(Number($("slider").value)));
$("first").addEventListener("click", () => go(0));
$("back").addEventListener("click", () => go(move - 1));
$("on").addEventListener("click", () => go(move + 1));
$("last").addEventListener("click", () => go(Infinity));
$("previous").addEventListener("click", () => turn(-1));
$("next").addEventListener("click", () => turn(1));
listenToKeys((by) => go(move + by));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !open || event.target.tagName === "SELECT") return;
  history.pushState(null, "", location.pathname + location.search);
  history.scrollRestoration = "auto";
  close();
});
window.addEventListener("popstate", follow);
$("summary").addEventListener("click", (event) => {
  const heading = event.target.closest("th");
  if (heading?.querySelector("button.sort")) sort(heading.closest("table"), heading.cellIndex);
});
fillFilters();
choose();
follow();
watchWide();

// -- tables in another order ----------------------------------------------------------------------

const sorted = new Map(); // by which column each table is, [column, 1 or -1], by the tables' kinds

/** What a cell is worth: wins-draws-losses by their share of points, else its number, else its text. */
function worth(text) {
  const games = /^(\d+)-(\d+)-(\d+)$/.exec(text)?.slice(1).map(Number);
  if (games) return (games[0] + games[1] / 2) / Math.max(1, games[0] + games[1] + games[2]);
  const number = Number(text.replace(/[ %,]/g, "").replace("inf", "Infinity"));
  return text === "" || Number.isNaN(number) ? text : number;
}

/** Sorts by a column, numbers from the greatest, texts from the first; once more, the other way round. */
function sort(table, column) {
  const [before, way] = sorted.get(table.className) || [];
  sorted.set(table.className, [column, before === column ? -way : 1]);
  arrange(table);
}

function arrange(table) {
  const [column, way] = sorted.get(table.className) || [];
  if (column === undefined) return;
  const rows = [...table.tBodies[0].rows].map((row) => [worth(row.cells[column].textContent), row]);
  rows.sort(([one], [other]) => {
    if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1; // what is no number stays at the end
    return way * (typeof one === "number" ? (one < other) - (one > other) : one.localeCompare(other));
  });
  table.tBodies[0].append(...rows.map(([, row]) => row));
  [...table.tHead.rows[0].cells].forEach((cell, i) => {
    if (i !== column) cell.removeAttribute("aria-sort");
  });
  const numbers = rows.length && typeof rows[0][0] === "number";
  table.tHead.rows[0].cells[column].setAttribute("aria-sort", (way > 0) === Boolean(numbers) ? "descending" : "ascending");
}

// -- while the run is being played ---------------------------------------------------------------

async function ask() {
  if (document.hidden) { // nobody looks
    setTimeout(ask, 1000);
    return;
  }
  let answer;
  try {
    const response = await fetch(`${data.more || "/new"}?since=${data.games.length}`);
    if (!response.ok) throw new Error(response.statusText);
    answer = await response.json();
  } catch {
    $("live").textContent = "The run is not served any more; this page stays as it is.";
    return;
  }
  if (answer.summary) {
    const parsed = new DOMParser().parseFromString(answer.summary, "text/html");
    $("summary").replaceChildren(...parsed.body.childNodes);
    $("summary").querySelectorAll("table").forEach(arrange);
    watchWide();
  }
  $("live").textContent = answer.line;
  if (answer.games.length) {
    data.names = answer.names;
    data.games.splice(answer.since, data.games.length, ...answer.games);
    Object.assign(data.changes, answer.changes);
    fillFilters();
    choose();
  }
  if (answer.again) setTimeout(ask, 1000 * answer.again);
}

if (data.live) setTimeout(ask, 1000);
