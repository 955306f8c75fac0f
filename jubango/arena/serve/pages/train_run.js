// A training: the live game, the losses, the Elo curve, the time that is left.
import { feed, inAddress, post } from "./shell.js";
import { actions, hostLines, listen } from "./runs.js";
import { Chart } from "./chart.js";

const $ = (id) => document.getElementById(id);
const { name } = JSON.parse($("data").textContent);
const SIGNS = { ".": 0, X: 1, O: 2 };
const STAGES = { compiling: "preparing", rollouts: "learning from rollouts", "self-play": "self-play",
  "catching up": "learning from earlier games", measuring: "measuring", done: "done" };
const elo = new Chart($("elo"), "Elo over the minutes", (value) => `${value > 0 ? "+" : ""}${Math.round(value)}`);
const losses = new Chart($("losses"), "Losses over the minutes", (value) => value.toFixed(2));
let board = null;
let latest = null;

function time(seconds) {
  const whole = Math.max(0, Math.round(seconds)), hours = Math.floor(whole / 3600);
  const rest = `${hours ? String(Math.floor(whole / 60) % 60).padStart(2, "0") : Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
  return hours ? `${hours}:${rest}` : rest;
}

function number(value) {
  return value.toLocaleString("en");
}

function fact(list, term, text) {
  made("dt", {}, list, term);
  made("dd", {}, list, text);
}

/** What it does now, in words. */
function stage({ row, sitting, said }) {
  if (row.state === "running") {
    if (!sitting || sitting.stage === "done") return said || "starting";
    const doing = sitting.stage === "measuring" ? `measuring against ${sitting.doing}`
      : STAGES[sitting.stage] + (sitting.doing ? `: ${sitting.doing}` : "");
    return sitting.left === null ? doing : `${doing}, ${time(sitting.left)} left`;
  }
  return row.state === "finished" ? "done" : "It has stopped; all that was learnt is kept.";
}

function draw(now) {
  latest = now;
  const { row, sitting } = now;
  actions($("actions"), { ...row, kind: "training" });
  const text = stage(now);
  if ($("stage").textContent !== text) $("stage").textContent = text;
  $("failed").textContent = row.failed || "";
  $("failed").hidden = !row.failed;
  $("further").hidden = row.state !== "finished";
  if (!board && now.game) {
    board = new Board($("board"), now.game);
    board.show({ stones: [], title: "A game of self-play" });
  }
  hostLines($("hosts"), row.state === "running" && sitting ? sitting.hosts : []);
  if (!sitting) return;
  if (board && sitting.board) {
    board.show({ stones: [...sitting.board].map((sign) => SIGNS[sign] || 0), title: "A game of self-play" });
  }
  const share = sitting.minutes ? sitting.seconds / 60 / sitting.minutes : sitting.games ? sitting.played / sitting.games : null;
  $("far").hidden = share === null;
  $("far").value = Math.min(1, share || 0);
  const facts = $("facts");
  facts.replaceChildren();
  fact(facts, "game", now.game.spec);
  fact(facts, "trained", `${time(sitting.seconds)}${sitting.minutes ? ` of ${time(60 * sitting.minutes)}` : ""}`);
  fact(facts, "games", number(sitting.played));
  fact(facts, "positions", number(sitting.positions));
  fact(facts, "steps", number(sitting.steps));
  const best = now.elo[now.elo.length - 1];
  if (best) fact(facts, "Elo", `${best[1] > 0 ? "+" : ""}${Math.round(best[1])} ± ${Math.round(best[2])}`);
  elo.draw([{ class: "one", points: now.elo.map(([seconds, value, error]) => [seconds / 60, value, error]) }]);
  losses.draw([
    { class: "one", points: now.losses.map(([seconds, policy]) => [seconds / 60, policy]) },
    { class: "two", points: now.losses.map(([seconds, , outcome]) => [seconds / 60, outcome]) },
  ]);
  $("measured").hidden = now.matches.length === 0;
  $("matches").replaceChildren();
  for (const match of now.matches) {
    const line = made("tr", {}, $("matches"));
    made("td", { class: "name" }, line, match.opponent);
    for (const key of ["wins", "draws", "losses"]) made("td", { class: "right" }, line, String(match[key]));
  }
  const network = now.networks.find((file) => file.startsWith("newest")) || now.networks[0];
  $("play").hidden = !network;
  $("play").dataset.network = network || "";
}

$("play").addEventListener("click", async () => {
  const white = `gumbel:network=${name}/${$("play").dataset.network}`;
  const answer = await post("/play/new", { game: latest.game.spec, black: "human", white, clock: "", sgf: "" });
  if (answer) location.assign(`/play/${answer.id}`);
});

$("further").addEventListener("submit", async (event) => {
  event.preventDefault();
  await post("/train/go", { run: name, more: Number($("more").value) });
});
window.addEventListener("resize", () => latest && draw(latest));
feed(`/train/feed/${inAddress(name)}`, {
  all: (now) => {
    if (now.row) draw(now);
    else $("stage").textContent = now.gone || "";
  },
});
listen();
