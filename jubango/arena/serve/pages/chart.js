// A chart of lines over minutes, drawn at the size that it has on the page.

const LEFT = 46, RIGHT = 12, TOP = 12, BELOW = 24;

export class Chart {
  constructor(host, title, say) {
    this.svg = made("svg", { role: "img" }, host);
    this.title = made("title", {}, this.svg, title);
    this.name = title;
    this.say = say;
    this.layer = made("g", {}, this.svg);
  }

  /** lines: [{class, points: [[minute, value, half of its interval], ...]}]. */
  draw(lines) {
    const { width, height } = this.svg.getBoundingClientRect();
    const points = lines.flatMap((line) => line.points);
    this.layer.replaceChildren();
    if (!width) return;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    if (!points.length) {
      made("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, this.layer, "nothing yet");
      this.title.textContent = `${this.name}: nothing yet`;
      return;
    }
    const ends = points.flatMap(([, value, error = 0]) => [value - error, value + error]);
    const [low, high, step] = scale(Math.min(0, ...ends), Math.max(...ends));
    const last = Math.max(...points.map(([minute]) => minute), 0.1);
    const x = (minute) => LEFT + (width - LEFT - RIGHT) * minute / last;
    const y = (value) => height - BELOW - (height - TOP - BELOW) * (value - low) / (high - low);
    for (let value = low; value <= high + step / 2; value += step) {
      made("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "rule" }, this.layer);
      made("text", { x: LEFT - 6, y: y(value), "text-anchor": "end" }, this.layer, this.say(value));
    }
    const every = niceStep(last / 4);
    for (let minute = 0; minute <= last; minute += every) {
      const text = `${Number(minute.toFixed(2))}${minute ? "" : " min"}`;
      made("text", { x: x(minute), y: height - BELOW / 2, "text-anchor": minute ? "middle" : "start" }, this.layer, text);
    }
    for (const line of lines) {
      const path = line.points.map(([minute, value]) => `${x(minute).toFixed(1)} ${y(value).toFixed(1)}`);
      if (path.length > 1) made("path", { d: `M${path.join("L")}`, class: line.class }, this.layer);
      for (const [minute, value, error] of line.points) {
        if (error === undefined && path.length > 1) continue;
        if (error) made("line", { x1: x(minute), x2: x(minute), y1: y(value - error), y2: y(value + error), class: "whisker" }, this.layer);
        made("circle", { cx: x(minute), cy: y(value), r: 4, class: `dot ${line.class}` }, this.layer);
      }
    }
    const said = lines.filter((line) => line.points.length).map((line) => this.say(line.points[line.points.length - 1][1]));
    this.title.textContent = `${this.name}; the last: ${said.join(", ")}`;
  }
}

/** Round ends of an axis, and the step between its lines. */
function scale(low, high) {
  const step = niceStep(Math.max((high - low) / 4, 1e-6));
  const first = step * Math.floor(low / step);
  return [first, Math.max(step * Math.ceil(high / step), first + step), step];
}
