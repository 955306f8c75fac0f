// A board to play on: by mouse, by touch, and by the arrow keys and Enter. Needs board.js.
import { announce } from "./shell.js";

const COLOURS = ["", "black", "white"];
const FALL = 180; // ms that a stone takes to fall into its place, as the style sheet has it

/** onPoint(point): a point was chosen. lines(point): what is said of a point besides its stone. */
export class Table {
  constructor(host, game, { onPoint, label, over = () => {}, said = () => "" }) {
    host.replaceChildren();
    this.game = game;
    this.said = said;
    this.stones = new Uint8Array(game.width * game.height);
    this.box = made("div", { class: "goban", tabindex: 0, role: "application", "aria-label":
      `${label}. The arrow keys go from point to point, Enter plays there.` }, host);
    this.board = new Board(this.box, game, (point) => onPoint(point));
    this.board.svg.setAttribute("aria-hidden", "true");
    this.cursor = made("rect", { class: "cursor", width: 0.98, height: 0.98, rx: 0.12, visibility: "hidden" },
      this.board.inner);
    this.shade = made("circle", { r: 0.44, class: "shade", visibility: "hidden" }, this.board.inner);
    this.here = Math.floor(game.height / 2) * game.width + Math.floor(game.width / 2);
    this.box.addEventListener("keydown", (event) => this.key(event, onPoint));
    this.box.addEventListener("focus", () => this.place(this.box.matches(":focus-visible")));
    this.box.addEventListener("blur", () => this.cursor.setAttribute("visibility", "hidden"));
    this.board.svg.addEventListener("pointermove", (event) => {
      const point = event.pointerType === "touch" ? -1 : this.pointAt(event);
      if (point !== this.under) {
        this.under = point;
        over(point);
      }
    });
    this.board.svg.addEventListener("pointerleave", () => {
      this.under = -1;
      over(-1);
    });
  }

  pointAt(event) {
    const { width, height } = this.game;
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.board.inner.getScreenCTM().inverse());
    const column = Math.round(place.x), row = Math.round(place.y);
    return column >= 0 && column < width && row >= 0 && row < height ? row * width + column : -1;
  }

  key(event, onPoint) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { width, height } = this.game;
    let column = this.here % width, row = Math.floor(this.here / width);
    if (event.key === "ArrowLeft") column -= 1;
    else if (event.key === "ArrowRight") column += 1;
    else if (event.key === "ArrowUp") row -= 1;
    else if (event.key === "ArrowDown") row += 1;
    else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onPoint(this.here);
      return;
    } else return;
    event.preventDefault();
    this.here = Math.min(Math.max(0, row), height - 1) * width + Math.min(Math.max(0, column), width - 1);
    this.place(true);
    announce(this.text(this.here));
  }

  text(point) {
    const stone = COLOURS[this.stones[point]];
    return [pointText(this.game, point), stone || "empty", this.said(point)].filter(Boolean).join(", ");
  }

  place(visible) {
    this.cursor.setAttribute("x", String(this.here % this.game.width - 0.49));
    this.cursor.setAttribute("y", String(Math.floor(this.here / this.game.width) - 0.49));
    this.cursor.setAttribute("visibility", visible ? "visible" : "hidden");
  }

  /** A stone that is not there yet, under the pointer; -1 for none. */
  hover(point, colour) {
    this.shade.setAttribute("visibility", point < 0 ? "hidden" : "visible");
    if (point < 0) return;
    for (const [key, value] of Object.entries(this.board.at(point))) this.shade.setAttribute(key, value);
    this.shade.setAttribute("class", `shade ${COLOURS[colour]}`);
  }

  /** The stone that was put down a moment ago falls into its place. */
  lay(last) {
    const since = performance.now() - (this.laid ? this.laid.at : 0);
    if (last < 0 || !this.laid || this.laid.point !== last || since > FALL) return;
    const { cx, cy } = this.board.at(last);
    const stone = this.board.layer.querySelector(`circle[cx="${cx}"][cy="${cy}"]`);
    if (!stone) return;
    stone.style.animationDelay = `${-Math.round(since)}ms`;
    stone.classList.add("fresh");
  }

  /** As Board.show, and dead: points that are crossed out. */
  show(what) {
    const last = what.last ?? -1;
    if (last >= 0 && what.stones[last] && !this.stones[last]) this.laid = { point: last, at: performance.now() };
    this.stones = what.stones;
    this.board.show(what);
    this.lay(last);
    for (const point of what.dead || []) {
      const { cx, cy } = this.board.at(point), side = 0.22;
      made("path", { class: `dead ${COLOURS[this.stones[point]]}`,
        d: `M${cx - side} ${cy - side}L${cx + side} ${cy + side}M${cx - side} ${cy + side}L${cx + side} ${cy - side}` },
      this.board.layer);
    }
  }
}

/** The stones of a text of ".XO". */
export function stonesOf(text) {
  return Uint8Array.from(text, (sign) => ".XO".indexOf(sign));
}

/** Seconds as a clock shows them. */
export function clockText(seconds) {
  const left = Math.max(0, seconds), whole = Math.floor(left);
  if (left < 10) return left.toFixed(1);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
