// A tuning that is watched: what it has found so far.
import { feed, inAddress } from "./shell.js";
import { actions, hostLines, listen } from "./runs.js";

const $ = (id) => document.getElementById(id);
const STATES = { running: "is being played", interrupted: "has stopped", finished: "is complete" };
let shown = "";

feed(`/watch/feed/${inAddress($("actions").dataset.name)}`, {
  all: ({ row, hosts = [], summary = "", gone = "" }) => {
    $("failed").textContent = row ? row.failed : gone;
    $("failed").hidden = !$("failed").textContent;
    if (!row) return;
    actions($("actions"), row);
    const said = `${row.progress}; it ${STATES[row.state]}.`;
    if ($("stage").textContent !== said) $("stage").textContent = said;
    $("far").hidden = row.state === "finished" || !row.total;
    $("far").value = row.total ? Math.min(1, row.done / row.total) : 0;
    hostLines($("hosts"), hosts);
    if (summary !== shown) {
      shown = summary;
      $("summary").replaceChildren(...new DOMParser().parseFromString(summary, "text/html").body.childNodes);
      watchWide();
    }
  },
});
listen();
