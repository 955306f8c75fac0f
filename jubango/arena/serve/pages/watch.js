// The room Watch: the list of runs, and a form that writes a tournament's file.
import { announce, complain, feed, inAddress, post } from "./shell.js";
import { actions, listen } from "./runs.js";

const $ = (id) => document.getElementById(id);
const GAMES = ["go:9", "go:13", "go:19", "connect_four", "gomoku:9", "gomoku:15", "othello", "hex:11", "tic_tac_toe"];
const BOTS = ["random", "uct:simulations=100", "uct:simulations=400", "uct:simulations=1600", "rave:simulations=400",
  "patterns:simulations=400", "minimax:depth=3", "alphazero:simulations=100", "gumbel:simulations=64", "policy", "value",
  "mcts-400", "mcts-1600"];
const DELAY = 350; // milliseconds without a change until the file is written anew
let asked = 0;

for (const game of GAMES) made("option", { value: game }, $("games"));
for (const bot of BOTS) made("option", { value: bot }, $("known"));

function addBot(value = "") {
  const number = $("bots").children.length + 1;
  const line = made("label", {}, $("bots"));
  made("span", {}, line, `${number}`);
  const input = made("input", { list: "known", autocomplete: "off", placeholder: "a bot: uct:simulations=400",
    "aria-label": `Bot ${number}` }, line);
  input.value = value;
  return input;
}

for (const bot of ["random", "uct:simulations=50", "uct:simulations=200"]) addBot(bot);

/** What the form says. */
function said() {
  const bots = [...$("bots").querySelectorAll("input")].map((input) => input.value);
  return { name: $("name").value.trim(), game: $("game").value.trim(), games: Number($("games-of").value),
    format: $("format").value, openings: $("openings").value, clock: $("clock").value, sprt: $("sprt").value,
    seed: Number($("seed").value), bots };
}

async function write() {
  const now = ++asked;
  let answer;
  try {
    const response = await fetch("/watch/toml", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify(said()) });
    answer = await response.json();
  } catch {
    return;
  }
  if (now !== asked) return;
  $("wrong").textContent = answer.error || "";
  if (answer.toml) $("toml").value = answer.toml;
}

let waiting = 0;
$("form").addEventListener("input", (event) => {
  if (event.target === $("toml")) {
    asked++; // what is typed there stays
    $("wrong").textContent = "";
    return;
  }
  clearTimeout(waiting);
  waiting = setTimeout(write, DELAY);
});
$("more").addEventListener("click", () => addBot().focus());
$("new").addEventListener("toggle", () => {
  if ($("new").open && !$("toml").value) write();
});
$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  if (!$("toml").value) await write();
  if (!$("toml").value) return;
  if (event.submitter) event.submitter.disabled = true;
  const answer = await post("/watch/start", { toml: $("toml").value });
  if (event.submitter) event.submitter.disabled = false;
  if (answer) location.href = `/watch/run/${inAddress(answer.run)}`;
});

// -- the list --------------------------------------------------------------------------------------

const rows = new Map(); // of the table, by the runs' names

function address(run) {
  if (run.kind === "training") return `/train/run/${inAddress(run.name)}`;
  return run.state === "damaged" ? "" : `/watch/run/${inAddress(run.name)}`;
}

function draw(run) {
  let row = rows.get(run.name);
  if (!row) {
    row = made("tr");
    for (let i = 0; i < 7; i++) made("td", i ? {} : { class: "name" }, row);
    rows.set(run.name, row);
  }
  const [name, kind, game, far, state, when, what] = row.cells;
  if (!name.firstChild || name.dataset.to !== address(run)) {
    name.replaceChildren();
    name.dataset.to = address(run);
    if (address(run)) made("a", { href: address(run) }, name, run.name);
    else name.textContent = run.name;
  }
  kind.textContent = run.kind;
  game.textContent = run.game;
  far.replaceChildren();
  if (run.total) {
    made("progress", { max: run.total, value: Math.min(run.done, run.total), "aria-label": run.progress }, far);
  }
  made("div", {}, far, run.progress);
  state.replaceChildren();
  made("span", { class: `state ${run.state}` }, state, run.state);
  if (run.why || run.failed) made("div", { class: "wrong" }, state, run.why || run.failed);
  when.textContent = run.when ? new Date(run.when).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" }) : "";
  actions(what, run);
  return row;
}

feed("/watch/list", {
  all: ({ runs, gone }) => {
    if (gone) complain(gone);
    if (!runs) return;
    const before = rows.size;
    const order = runs.map(draw);
    for (const [name, row] of rows) {
      if (!runs.some((run) => run.name === name)) {
        row.remove();
        rows.delete(name);
      }
    }
    const body = $("runs").tBodies[0];
    order.forEach((row, i) => {
      if (body.rows[i] !== row) body.insertBefore(row, body.rows[i] || null);
    });
    $("none").hidden = runs.length > 0;
    $("runs").hidden = runs.length === 0;
    if (!runs.length && !before) $("new").open = true;
    if (before && runs.length > before) announce("There is a new run.");
    watchWide();
  },
});
listen();
