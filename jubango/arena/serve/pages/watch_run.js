// A run that is watched: its boards, and what can be done with it. The summary and the games are run.js's.
import { feed, inAddress } from "./shell.js";
import { actions, hostLines, listen } from "./runs.js";

const $ = (id) => document.getElementById(id);
const facts = JSON.parse($("data").textContent).game;
const SIGNS = { ".": 0, X: 1, O: 2 };
const boards = []; // {board, host, black, white, said, key}

function place(i) {
  if (!boards[i]) {
    const host = made("figure", {}, $("boards"));
    const caption = made("figcaption", {}, host), names = [];
    for (const colour of ["black", "white"]) {
      const line = made("div", {}, caption);
      made("span", { class: `disc ${colour}` }, line);
      names.push(made("span", {}, line));
    }
    const said = made("div", { class: "quiet" }, caption);
    boards[i] = { host, names, said, board: new Board(host, facts), key: "" };
  }
  return boards[i];
}

function draw(shown) {
  $("now").hidden = shown.length === 0;
  shown.forEach((one, i) => {
    const own = place(i), key = `${one.id} ${one.moves}`;
    own.host.hidden = false;
    if (own.key === key) return;
    own.key = key;
    own.names[0].textContent = ` ${one.black}`;
    own.names[1].textContent = ` ${one.white}`;
    own.said.textContent = `move ${one.moves}${one.thought ? `: ${one.thought}` : ""}`;
    own.board.show({ stones: [...one.stones].map((sign) => SIGNS[sign] || 0), last: one.last,
      title: `${one.black} against ${one.white}, move ${one.moves}` });
  });
  boards.slice(shown.length).forEach((own) => { own.host.hidden = true; });
}

const name = $("actions").dataset.name;
feed(`/watch/feed/${inAddress(name)}`, {
  all: ({ row, boards: shown = [], hosts = [], said = "", gone = "" }) => {
    if (!row) {
      $("failed").textContent = gone;
      $("failed").hidden = false;
      return;
    }
    actions($("actions"), row);
    $("failed").textContent = row.failed;
    $("failed").hidden = !row.failed;
    $("line").textContent = said;
    $("line").hidden = !said;
    hostLines($("hosts"), hosts);
    draw(shown);
  },
});
listen();
