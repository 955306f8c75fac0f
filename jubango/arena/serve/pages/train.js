// The room Train: one button, and the list of trainings.
import { complain, feed, inAddress, post } from "./shell.js";
import { actions, listen } from "./runs.js";

const $ = (id) => document.getElementById(id);
const GAMES = ["tic_tac_toe", "connect_four", "gomoku:9", "othello", "hex:7", "go:5", "go:7", "go:9"];
for (const game of GAMES) made("option", { value: game }, $("games"));

$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (event.submitter) event.submitter.disabled = true; // a second click is no second training
  const answer = await post("/train/start", { game: $("game").value, minutes: Number($("minutes").value) });
  if (event.submitter) event.submitter.disabled = false;
  if (answer) location.href = `/train/run/${inAddress(answer.run)}`;
});

const rows = new Map();

feed("/train/list", {
  all: ({ runs, gone }) => {
    if (gone) complain(gone);
    if (!runs) return;
    const body = $("runs").tBodies[0];
    for (const [name, row] of rows) {
      if (!runs.some((run) => run.name === name)) {
        row.remove();
        rows.delete(name);
      }
    }
    runs.forEach((run, i) => {
      let row = rows.get(run.name);
      if (!row) {
        row = made("tr");
        made("a", { href: `/train/run/${inAddress(run.name)}` }, made("td", { class: "name" }, row), run.name);
        for (let k = 0; k < 5; k++) made("td", {}, row);
        rows.set(run.name, row);
      }
      const [, game, when, far, state, what] = row.cells;
      game.textContent = run.game;
      when.textContent = run.when ? new Date(run.when).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" }) : "";
      far.textContent = run.progress;
      state.replaceChildren();
      made("span", { class: `state ${run.state}` }, state, run.state);
      if (run.why || run.failed) made("div", { class: "wrong" }, state, run.why || run.failed);
      actions(what, run);
      if (body.rows[i] !== row) body.insertBefore(row, body.rows[i] || null);
    });
    $("none").hidden = runs.length > 0;
    $("runs").hidden = runs.length === 0;
    watchWide();
  },
});
listen();
