// What every room's script uses: asking the server, being told by it, saying things.

export const $ = (id) => document.getElementById(id);

/** A run's name as a part of an address. */
export const inAddress = (name) => name.split("/").map(encodeURIComponent).join("/");

/** Says a sentence to who listens to the page instead of looking at it. */
export function announce(text) {
  $("said").textContent = text;
}

/** Shows what is wrong, until something goes right. */
export function complain(text) {
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
}

/** Sends `data` to the server, and gives its answer; where it refuses, that is shown, and null is given. */
export async function post(address, data = {}) {
  let response, answer = {};
  try {
    response = await fetch(address, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(data) });
    answer = await response.json();
  } catch {
    complain(response ? `The server answers ${response.status}.` : "The server does not answer. Is jubango serve running?");
    return null;
  }
  if (!response.ok) {
    complain(answer.error || `The server answers ${response.status}.`);
    return null;
  }
  complain("");
  return answer;
}

/** Reads JSON from the server; null where there is none, which is shown. */
export async function ask(address) {
  try {
    const response = await fetch(address);
    if (response.ok) return await response.json();
    const said = await response.json().catch(() => ({}));
    complain(said.error || `The server answers ${response.status}.`);
  } catch {
    complain("The server does not answer. Is jubango serve running?");
  }
  return null;
}

/** Listens to the server's events: `kinds` are functions by the events' names, "all" is everything anew.
 *  Only while the page is looked at: a hidden one costs nobody anything. Gives a function that ends it. */
export function feed(address, kinds) {
  let source = null;
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(address);
    source.onerror = () => {
      if (source && source.readyState === EventSource.CLOSED) { // not what the server may refuse for ever
        source = null;
        setTimeout(look, 3000);
      }
    };
    for (const [kind, then] of Object.entries(kinds)) {
      source.addEventListener(kind, (event) => then(JSON.parse(event.data)));
    }
  };
  const close = () => {
    if (source) source.close();
    source = null;
  };
  const look = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", look);
  window.addEventListener("pagehide", close);
  open();
  return () => {
    document.removeEventListener("visibilitychange", look);
    close();
  };
}

function isDark() {
  const chosen = document.documentElement.dataset.look;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

$("look").addEventListener("click", () => {
  const look = isDark() ? "light" : "dark";
  document.documentElement.dataset.look = look;
  try {
    localStorage.setItem("look", look);
  } catch {
    // a browser that keeps nothing
  }
  announce(`The page is ${look} now.`);
});
