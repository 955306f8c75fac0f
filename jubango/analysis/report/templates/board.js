"use strict";
// Boards in SVG, and what is on them after each move. Whatever a file says is put in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const BLACK = 1, WHITE = 2;

/** A new element of the page, or of a picture inside it. */
function made(name, attributes = {}, parent = null, text = null) {
  const pictured = /^(svg|g|rect|circle|line|path|text|title|defs|radialGradient|stop)$/.test(name);
  const element = pictured ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

/** "D4" as the number of a point, row by row from the top; -1 for a pass and for what is no point. */
function pointOf(game, text) {
  const column = game.columns.indexOf(text[0]), row = game.height - Number(text.slice(1));
  if (!/^[A-Z][0-9]+$/.test(text) || column < 0 || column >= game.width || row < 0 || row >= game.height) return -1;
  return row * game.width + column;
}

function pointText(game, point) {
  return game.columns[point % game.width] + (game.height - Math.floor(point / game.width));
}

function neighbours(game, point) {
  const { width, height } = game, column = point % width, found = [];
  if (column > 0) found.push(point - 1);
  if (column < width - 1) found.push(point + 1);
  if (point >= width) found.push(point - width);
  if (point < width * (height - 1)) found.push(point + width);
  return found;
}

/** The chain of a stone, if it has no liberty; else nothing. */
function captured(game, stones, point) {
  const chain = [point], seen = new Set(chain);
  for (const stone of chain) {
    for (const next of neighbours(game, stone)) {
      if (!stones[next]) return [];
      if (stones[next] === stones[point] && !seen.has(next)) {
        seen.add(next);
        chain.push(next);
      }
    }
  }
  return chain;
}

/** Puts a stone on the board as the game has it and says where it lies; -1 for none. */
function put(game, stones, text, colour) {
  if (game.rules === "drop") {
    for (let point = game.width * (game.height - 1) + game.columns.indexOf(text); point >= 0; point -= game.width) {
      if (!stones[point]) {
        stones[point] = colour;
        return point;
      }
    }
    return -1;
  }
  const point = pointOf(game, text);
  if (point < 0) return -1;
  stones[point] = colour;
  if (game.rules !== "go") return point;
  for (const next of neighbours(game, point)) {
    if (stones[next] === BLACK + WHITE - colour) for (const taken of captured(game, stones, next)) stones[taken] = 0;
  }
  for (const own of captured(game, stones, point)) stones[own] = 0;
  return point;
}

/** The board before the first move and after every one: [{stones, last}]; null if nobody knows.
 *  changes: of each move what it changed, [point, colour, point, colour, ...], where the rules are not known here. */
function boards(game, moves, changes = null) {
  if (!game.rules && !changes) return null;
  let stones = new Uint8Array(game.width * game.height);
  const found = [{ stones, last: -1 }];
  moves.forEach((text, i) => {
    const colour = i % 2 ? WHITE : BLACK;
    let last = -1;
    stones = stones.slice();
    if (changes) {
      for (let k = 0; k < changes[i].length; k += 2) {
        const [point, now] = changes[i].slice(k, k + 2);
        if (!stones[point] && now === colour) last = point;
        stones[point] = now;
      }
    } else {
      last = put(game, stones, text, colour);
    }
    found.push({ stones, last });
  });
  return found;
}

/** A board that is drawn once, and whose stones change. */
class Board {
  constructor(host, game, onPoint = null) {
    const { width, height } = game;
    this.game = game;
    this.svg = made("svg", { viewBox: `-1 -0.6 ${width + 1.1} ${height + 1.5}`, role: "img",
      class: `board${game.crossings ? "" : " squares"}${Math.max(width, height) > 11 ? " large" : ""}` }, host);
    this.title = made("title", {}, this.svg);
    Board.stones(made("defs", {}, this.svg));
    made("rect", { x: -0.5, y: -0.5, width, height, class: "ground", transform: "translate(.5 .5)" }, this.svg);
    const out = game.crossings ? 0 : 0.5, more = game.crossings ? 0 : 1;
    let lines = "";
    for (let r = 0; r < height + more; r++) lines += `M${-out} ${r - out}H${width - 1 + out}`;
    for (let c = 0; c < width + more; c++) lines += `M${c - out} ${-out}V${height - 1 + out}`;
    if (game.hexagonal) {
      for (let c = 2 - height; c < width - 1; c++) {
        const from = Math.max(0, -c), to = Math.min(height, width - c) - 1;
        lines += `M${c + from} ${from}L${c + to} ${to}`;
      }
    }
    this.inner = made("g", { transform: "translate(.5 .5)" }, this.svg);
    made("path", { d: lines, class: "grid" }, this.inner);
    if (game.hexagonal) {
      const out = -0.55, right = width - 1 - out, bottom = height - 1 - out;
      const white = `M${out} ${out}V${bottom}M${right} ${out}V${bottom}`, black = `M${out} ${out}H${right}M${out} ${bottom}H${right}`;
      for (const [d, name] of [[white, "edge"], [white, "white"], [black, "edge"], [black, "black"]]) {
        made("path", { d, class: `side ${name}` }, this.inner);
      }
    }
    for (const point of game.stars) made("circle", { ...this.at(point), r: 0.1, class: "star" }, this.inner);
    for (let c = 0; c < width; c++) {
      made("text", { x: c, y: height - 0.12, class: "name" }, this.inner, game.columns[c] || "");
    }
    for (let r = 0; r < height; r++) made("text", { x: -0.98, y: r, class: "name" }, this.inner, String(height - r));
    this.layer = made("g", {}, this.inner);
    if (onPoint) {
      this.svg.addEventListener("click", (event) => {
        const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.inner.getScreenCTM().inverse());
        const column = Math.round(place.x), row = Math.round(place.y);
        if (column >= 0 && column < width && row >= 0 && row < height) onPoint(row * width + column);
      });
    }
  }

  /** How light falls on stones: from the upper left. */
  static stones(defs) {
    for (const [id, colours] of [["black-stone", ["#6b6b6b", "#2a2a2a", "#0c0c0c"]], ["white-stone", ["#ffffff", "#f4f2ee", "#c9c5bc"]]]) {
      const light = made("radialGradient", { id, cx: "35%", cy: "30%", r: "75%" }, defs);
      colours.forEach((colour, i) => made("stop", { offset: ["0%", "45%", "100%"][i], "stop-color": colour }, light));
    }
  }

  at(point) {
    return { cx: point % this.game.width, cy: Math.floor(point / this.game.width) };
  }

  /** stones: a colour for each point. cells: Map of points to {text, fill, ink}. best: a framed point.
   *  line: points of a variation, numbered; first: whose the first of them is. */
  show({ stones, last = -1, cells = null, best = -1, line = [], first = BLACK, title = "" }) {
    this.title.textContent = title;
    this.layer.replaceChildren();
    const square = (point, side, more) => {
      const { cx, cy } = this.at(point);
      return made("rect", { x: cx - side / 2, y: cy - side / 2, width: side, height: side, ...more }, this.layer);
    };
    const ordered = [...(cells || [])].sort(([point], [other]) => (point === best) - (other === best));
    for (const [point, cell] of ordered) {
      if (stones[point]) continue;
      if (point === best) square(point, 1.08, { class: "best" });
      square(point, 0.96, { fill: cell.fill });
      if (cell.text) this.write(point, cell.text, cell.ink);
    }
    stones.forEach((colour, point) => {
      if (colour) this.stone(point, colour, point === last);
    });
    for (const [point, cell] of cells || []) if (stones[point] && cell.over) square(point, 0.4, { fill: cell.fill });
    line.forEach((point, i) => {
      if (point < 0 || line.indexOf(point) < i) return;
      const colour = i % 2 ? BLACK + WHITE - first : first;
      made("circle", { ...this.at(point), r: 0.46, class: colour === BLACK ? "ghost black" : "ghost white" }, this.layer);
      this.write(point, String(i + 1), colour === BLACK ? "#fff" : "#111", 0.52);
    });
  }

  stone(point, colour, marked) {
    made("circle", { ...this.at(point), r: 0.46, class: colour === BLACK ? "black" : "white" }, this.layer);
    if (marked) made("circle", { ...this.at(point), r: 0.22, class: "ring last",
      stroke: colour === BLACK ? "#fff" : "#111" }, this.layer);
  }

  write(point, text, ink, largest = 0.5) {
    const { cx, cy } = this.at(point);
    const size = Math.min(largest, 1.3 / text.length);
    made("text", { x: cx, y: cy, fill: ink, "font-size": `${size}px`, class: "label" }, this.layer, text);
  }
}

/** 1, 2 or 5 times a power of ten, not below `wanted`. */
function niceStep(wanted) {
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= wanted - 1e-9);
}

/** Lines over the moves of a game, with axes; a click on it says at which move, and under the pointer stand the values. */
class Graph {
  constructor(host, onMove) {
    const plot = made("div", { class: "plot" }, host);
    this.left = made("svg", { class: "axis left", "aria-hidden": "true" }, plot);
    this.svg = made("svg", { class: "graph", viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img" }, plot);
    this.below = made("svg", { class: "axis below", "aria-hidden": "true" }, plot);
    this.said = made("output", { class: "readout" }, plot);
    this.moves = 1;
    this.lines = [];
    this.svg.addEventListener("click", (event) => onMove(this.moveAt(event)));
    this.svg.addEventListener("pointermove", (event) => this.tell(this.moveAt(event)));
    this.svg.addEventListener("pointerleave", () => this.tell(-1));
  }

  moveAt(event) {
    const box = this.svg.getBoundingClientRect();
    return Math.min(Math.max(0, Math.round(this.moves * (event.clientX - box.left) / box.width)), this.moves);
  }

  /** lines: [{values: [[move, share in 0..1], ...], class, name}]. say: a share as text. marks: moves to point out. */
  draw(moves, lines, title, say, marks = []) {
    this.moves = Math.max(1, moves);
    this.lines = lines;
    this.say = say;
    this.title = title;
    for (const part of [this.svg, this.left, this.below]) part.replaceChildren();
    made("title", {}, this.svg, title);
    for (const share of [1, 0.75, 0.5, 0.25, 0]) {
      const y = 96 - 92 * share;
      made("line", { x1: 0, x2: 100, y1: y, y2: y }, this.svg);
      if (share * 2 % 1 === 0) made("text", { x: "100%", y: `${y}%` }, this.left, say(share));
    }
    const step = niceStep(Math.max(1, this.moves / 6));
    for (let move = 0; move <= this.moves; move += step) {
      const x = 100 * move / this.moves, end = move ? (x > 97 ? "end" : "middle") : "start";
      made("line", { x1: x, x2: x, y1: 0, y2: 100 }, this.svg);
      made("text", { x: `${x}%`, y: "50%", "text-anchor": end }, this.below, move ? String(move) : "move 0");
    }
    for (const move of marks) {
      const x = 100 * move / this.moves;
      made("line", { x1: x, x2: x, y1: 0, y2: 100, class: "mark" }, this.svg);
    }
    for (const line of lines) {
      const points = line.values.map(([move, share]) => `${100 * move / this.moves} ${96 - 92 * share}`);
      if (points.length === 1) points.push(points[0]);
      if (points.length) made("path", { d: `M${points.join("L")}`, class: line.class }, this.svg);
    }
    this.here = made("line", { y1: 0, y2: 100, class: "here", visibility: "hidden" }, this.svg);
    this.now = made("line", { y1: 0, y2: 100, class: "now" }, this.svg);
    this.at(0);
    this.tell(-1);
  }

  at(move) {
    this.place(this.now, move);
  }

  place(mark, move) {
    const x = String(100 * move / this.moves);
    mark.setAttribute("x1", x);
    mark.setAttribute("x2", x);
  }

  /** The values at a move, or at the one before it of lines that have none there; -1: what the graph is. */
  tell(move) {
    const found = move < 0 ? [] : this.lines.map((line) => [line, line.values.findLast(([at]) => at <= move)]);
    const texts = found.filter(([, value]) => value).map(([line, value]) => `${line.name}${this.say(value[1])}`);
    this.said.textContent = move < 0 ? this.title : `move ${move}: ${texts.join(", ") || "no value"}`;
    this.here.setAttribute("visibility", move < 0 ? "hidden" : "visible");
    this.place(this.here, Math.max(0, move));
  }
}

/** Says of every table that is wider than its place on which sides it goes on. */
function watchWide() {
  const look = (wide) => {
    wide.classList.toggle("before", wide.scrollLeft > 2);
    wide.classList.toggle("beyond", wide.scrollLeft + wide.clientWidth < wide.scrollWidth - 2);
  };
  for (const wide of document.querySelectorAll(".wide")) {
    if (!wide.dataset.watched) wide.addEventListener("scroll", () => look(wide));
    wide.dataset.watched = "yes";
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0; // the arrow keys move it
    look(wide);
  }
}
window.addEventListener("resize", watchWide);

/** Left and right, Home and End, wherever a page is not asked for something else. */
function listenToKeys(step) {
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity, PageUp: -10, PageDown: 10 }[event.key];
    if (by !== undefined && step(by)) event.preventDefault();
  });
}
