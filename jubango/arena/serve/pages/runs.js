// What can be done with a run: stop it, go on with it.
import { announce, post } from "./shell.js";

/** Puts the buttons of a run into `host`; they are drawn again only where they change. */
export function actions(host, run) {
  const training = run.kind === "training";
  const stop = run.state === "running" && run.ours;
  const go = run.state === "interrupted";
  const key = `${run.name} ${stop} ${go}`;
  if (host.dataset.key === key) return;
  host.dataset.key = key;
  host.replaceChildren();
  const room = training ? "train" : "watch";
  if (stop) made("button", { type: "button", "data-act": `/${room}/stop`, "data-run": run.name }, host, "Stop");
  if (go) made("button", { type: "button", "data-act": `/${room}/go`, "data-run": run.name }, host, "Go on");
}

/** Writes a line for each host that plays for a run into the list `host`. */
export function hostLines(host, lines) {
  host.hidden = lines.length === 0;
  if (host.dataset.key === lines.join("\n")) return;
  host.dataset.key = lines.join("\n");
  host.replaceChildren();
  for (const line of lines) made("li", {}, host, line);
}

/** Listens to all such buttons of the page. */
export function listen() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-act]");
    if (!button) return;
    button.disabled = true;
    const answer = await post(button.dataset.act, { run: button.dataset.run });
    if (answer) announce(button.textContent === "Stop" ? "It stops, and keeps what it has." : "It goes on.");
    setTimeout(() => { button.disabled = false; }, 3000);
  });
}
