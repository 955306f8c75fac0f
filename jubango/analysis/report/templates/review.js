// A game that was looked through: one position at a time. Needs board.js.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const SHOWN = 12; // moves in the table
const LABELS = 40; // numbers on the board
const game = data.game;
const total = data.moves.length;
const turns = data.moves.map((one, i) => (/inaccuracy|mistake|blunder/.test(one.grade) ? i + 1 : 0)).filter(Boolean);
const board = new Board($("board"), game, (point) => follow(point));
const rates = new Graph($("rates"), (number) => go(number, true));
const known = data.positions.some((one) => one.lead !== null);
const leads = known ? new Graph($("leads"), (number) => go(number, true)) : null;
let move = 0;
let line = -1; // the candidate whose variation is shown

function colourOf(scale, share) {
  const colours = data.scales[scale];
  return colours[Math.round(Math.min(Math.max(share, 0), 1) * (colours.length - 1))];
}

/** Cells of the heatmap that is chosen, by their points; null if it is off. */
function heat(position) {
  const kind = $("heat").value;
  if (!kind || (position.noise && (kind === "visits" || kind === "value"))) return null;
  const cells = new Map();
  if (kind === "owned") {
    [...(position.owned ?? "")].forEach((letter, point) => {
      const share = data.levels.indexOf(letter) / (data.levels.length - 1), own = Math.round(200 * share - 100);
      const [fill, ink] = colourOf("sides", share);
      cells.set(point, { fill, ink, text: Math.abs(own) >= 50 ? (own > 0 ? `+${own}` : `−${-own}`) : "", over: true });
    });
    return cells;
  }
  const found = new Map(); // of several moves on a point the first counts, but for visits and priors, which add up
  for (const [, point, visits, prior, rate] of position.moves) {
    if (point < 0 || (kind === "visits" && !visits) || (kind === "prior" && prior === null)) continue;
    const mine = position.player ? 100 - rate : rate;
    const value = { visits: 100 * visits / Math.max(1, position.simulations), prior, value: mine }[kind];
    if (kind === "value") {
      if (visits && !found.has(point)) found.set(point, value);
    } else {
      found.set(point, (found.get(point) || 0) + value);
    }
  }
  const sorted = [...found.values()].sort((a, b) => b - a);
  const most = sorted[0] || 1, least = kind === "value" ? sorted[sorted.length - 1] : 0, floor = sorted[LABELS] ?? -1;
  for (const [point, value] of found) {
    const [fill, ink] = colourOf("amount", most > least ? (value - least) / (most - least) : 1);
    cells.set(point, { fill, ink, text: value > floor ? (value >= 9.95 ? value.toFixed(0) : value.toFixed(1)) : "" });
  }
  return cells;
}

function draw() {
  if (line < 0) $("unheated").hidden = true;
  const position = data.positions[move];
  const stones = Uint8Array.from(position.stones, (sign) => ".XO".indexOf(sign));
  const best = position.moves.length ? position.moves[0][1] : -1;
  let points = [];
  if (line >= 0) {
    const own = stones.slice();
    points = position.moves[line][5].map((text, i) => lies(own, text, (position.player + i) % 2 ? WHITE : BLACK));
  }
  board.show({ stones, last: position.last, cells: line >= 0 ? null : heat(position), best, line: points,
    first: position.player ? WHITE : BLACK, title: `${data.players.join(" – ")}, after move ${move}` });
}

/** Another heatmap is chosen. */
function heated() {
  draw();
  $("unheated").hidden = line < 0 || !$("heat").value;
}

/** Where a move of a variation lies; only for numbers on the board, which stay where stones are captured. */
function lies(stones, text, colour) {
  if (game.rules !== "drop") return pointOf(game, text);
  return put(game, stones, text, colour);
}

function amount(number) {
  return Math.abs(number).toFixed(1);
}

/** Black's numbers in words. */
function stand(position) {
  const win = `Black's win rate ${position.rate.toFixed(1)} %${position.error ? ` ± ${position.error.toFixed(1)}` : ""}`;
  if (position.lead === null) return win;
  return `${win}, ${position.lead < 0 ? "White" : "Black"} ahead by ${amount(position.lead)} points`;
}

function tell() {
  const position = data.positions[move], place = $("place");
  place.replaceChildren();
  made("b", {}, place, move ? `Move ${move} of ${total}: ${data.moves[move - 1].player ? "White" : "Black"} ` +
    `${data.moves[move - 1].move}${data.moves[move - 1].sign}` : `Before the first of ${total} moves`);
  made("div", {}, place, position.over ? `The game is over. ${stand(position)}` : stand(position));
  const said = $("judged"), played = move ? data.moves[move - 1] : null;
  said.replaceChildren();
  if (played && played.loss !== null) {
    if (played.move === played.best) {
      said.textContent = `This is what ${data.who} would have played.`;
    } else {
      const points = played.lead === null || played.lead * played.loss <= 0 ? "" : `, ${amount(played.lead)} points`;
      said.append(`${played.grade ? `A${/^i/.test(played.grade) ? "n" : ""} ${played.grade}: it` : "It"} ` +
        `${played.loss < 0 ? "gained" : "lost"} ${amount(played.loss)} % ± ${amount(played.error)}${points}; ` +
        `${data.who}'s choice is `);
      const button = made("button", { id: "better" }, said, played.best);
      button.addEventListener("click", () => {
        go(move - 1, true);
        show(0);
      });
    }
  }
  if (position.noise) made("div", { class: "quiet" }, place, "No move has five visits: that is noise, and no heatmap.");
  $("comment").textContent = position.comment;
  const body = $("candidates").tBodies[0];
  body.replaceChildren();
  const next = move < total ? data.moves[move].move : "";
  position.moves.slice(0, SHOWN).forEach(([text, , visits, prior, rate, variation], i) => {
    const row = made("tr", { class: "open", tabindex: 0, "data-line": i, "aria-selected": String(i === line) }, body);
    made("td", {}, row, text + (text === next ? " (played)" : ""));
    made("td", { class: "right" }, row, String(visits));
    if (data.priors) made("td", { class: "right" }, row, prior === null ? "" : `${prior.toFixed(1)} %`);
    made("td", { class: "right" }, row, `${rate.toFixed(1)} %`);
    made("td", { class: "name quiet" }, row, variation.join(" "));
  });
  $("candidates").hidden = !position.moves.length;
}

/** Shows the variation of a candidate, or hides it again. */
function show(i) {
  const [, , , , , variation] = data.positions[move].moves[i] || [];
  line = i === line || !variation?.length ? -1 : i;
  for (const row of $("candidates").tBodies[0].rows) {
    row.setAttribute("aria-selected", String(Number(row.dataset.line) === line));
  }
  draw();
}

/** A click on the board: the variation that begins there. */
function follow(point) {
  const i = data.positions[move].moves.findIndex((one) => one[1] === point);
  if (i >= 0) show(i);
}

/** leap: from one place of the game to another, from which Back leads back. */
function go(number, leap = false) {
  const before = move;
  move = Math.min(Math.max(0, number), total);
  line = -1;
  $("slider").value = move;
  $("first").disabled = $("back").disabled = move === 0;
  $("last").disabled = $("on").disabled = move === total;
  $("earlier").disabled = !turns.some((turn) => turn < move);
  $("later").disabled = !turns.some((turn) => turn > move);
  draw();
  tell();
  rates.at(move);
  if (leads) leads.at(move);
  if (leap && move !== before) history.pushState(null, "", `#move=${move}`);
  else history.replaceState(null, "", `#move=${move}`);
  return true;
}

function turn(by) {
  const found = by > 0 ? turns.find((one) => one > move) : turns.findLast((one) => one < move);
  if (found) go(found, true);
}

function drawGraphs() {
  const values = data.positions.map((one, i) => [i, one.rate / 100]);
  const percent = (share) => `${(100 * share).toFixed(share * 2 % 1 ? 1 : 0)} %`;
  rates.draw(total, [{ values, class: "one", name: "" }], "Black's win rate; the marks are turning points", percent, turns);
  if (!leads) return;
  const most = Math.max(1, ...data.positions.map((one) => Math.abs(one.lead ?? 0)));
  const shares = data.positions.map((one, i) => [i, one.lead === null ? null : 0.5 + one.lead / most / 2]);
  const points = (share) => (2 * most * (share - 0.5)).toFixed(1).replace(/^-0\.0$/, "0.0").replace("-", "−");
  leads.draw(total, [{ values: shares.filter(([, share]) => share !== null), class: "lead", name: "" }], "Black's lead in points",
    points, turns);
}

/** Where to begin: the first turning point, or else the move that lost most; a position that was searched. */
function beginning() {
  const lost = data.moves.map((one, i) => [one.loss ?? -Infinity, i + 1]).sort(([one], [other]) => other - one);
  const wanted = [...turns, ...lost.filter(([loss]) => loss > 0).map(([, number]) => number)];
  return wanted.find((number) => data.positions[number].moves.length) ?? 0;
}

$("slider").max = total;
$("slider").addEventListener("input", () => go(Number($("slider").value)));
$("first").addEventListener("click", () => go(0));
$("back").addEventListener("click", () => go(move - 1));
$("on").addEventListener("click", () => go(move + 1));
$("last").addEventListener("click", () => go(total));
$("earlier").addEventListener("click", () => turn(-1));
$("later").addEventListener("click", () => turn(1));
$("heat").addEventListener("change", heated);
$("candidates").addEventListener("click", (event) => {
  const row = event.target.closest("tr.open");
  if (row) show(Number(row.dataset.line));
});
$("candidates").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.dataset.line) show(Number(event.target.dataset.line));
});
for (const button of document.querySelectorAll("button.turn")) {
  button.addEventListener("click", () => {
    go(Number(button.dataset.move), true);
    $("board").scrollIntoView({ block: "nearest" });
  });
}
let shown = "visits"; // what h switches on again
listenToKeys((by) => go(move + by));
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || /^(SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (event.key === "Escape" && line >= 0) show(line);
  if (event.key === "n") turn(1);
  if (event.key === "p") turn(-1);
  if (event.key === "h") {
    const heat = $("heat");
    if (heat.value) shown = heat.value;
    heat.value = heat.value ? "" : shown;
    heated();
  }
});
window.addEventListener("popstate", () => {
  if (location.hash) go(asked());
});

function asked() {
  return Number(new URLSearchParams(location.hash.slice(1)).get("move")) || 0;
}

drawGraphs();
if (location.hash) $("board").scrollIntoView({ block: "nearest" });
go(location.hash ? asked() : beginning());
watchWide();
