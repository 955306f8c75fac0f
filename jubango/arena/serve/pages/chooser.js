// Who plays a colour, or analyses: a person, a level, a bot, an engine, or a bot's spec. Needs board.js.

const PERSON = "human", LEVEL = "level", OTHER = "other";

/** A choice in `host`; its `value` is what the server is told. onChange: it was changed. */
export class Chooser {
  constructor(host, label, onChange = () => {}) {
    this.box = made("div", { class: "chooser" }, host);
    const name = made("label", {}, this.box, label);
    this.select = made("select", {}, name);
    this.level = made("input", { type: "number", "aria-label": `${label}: Elo`, hidden: "" }, this.box);
    this.spec = made("input", { type: "text", "aria-label": `${label}: a bot's spec`, maxlength: 500, hidden: "",
      placeholder: "uct:simulations=800,c=1.4", spellcheck: "false" }, this.box);
    this.onChange = onChange;
    this.select.addEventListener("change", () => {
      this.look();
      if (this.select.value !== OTHER) this.onChange();
      else this.spec.focus();
    });
    for (const input of [this.level, this.spec]) input.addEventListener("change", () => this.onChange());
  }

  look() {
    this.level.hidden = this.select.value !== LEVEL;
    this.spec.hidden = this.select.value !== OTHER;
  }

  /** choices: as the server has them. wanted: what is chosen then. analysing: only who shows thoughts. */
  fill(choices, wanted, analysing = false) {
    this.select.replaceChildren();
    const option = (value, text, host = this.select) => made("option", { value }, host, text);
    if (!analysing) option(PERSON, "a person");
    if (!analysing && choices.levels) {
      option(LEVEL, `a level (${choices.levels[0]} to ${choices.levels[1]} Elo)`);
      [this.level.min, this.level.max] = choices.levels;
      this.level.value = Math.round((choices.levels[0] + choices.levels[1]) / 200) * 100;
    }
    for (const name of analysing ? choices.analysts : []) option(name, `${name} (engine)`);
    for (const bot of choices.bots) {
      if (!analysing || bot.searches || bot.spec === choices.best) {
        option(bot.spec, bot.about ? `${bot.name}: ${bot.about}` : bot.name);
      }
    }
    option(OTHER, "another bot …");
    this.choose(wanted);
  }

  choose(wanted) {
    const level = /^level(?::level)?=([0-9.]+)$/.exec(wanted);
    if (level && this.select.querySelector(`option[value="${LEVEL}"]`)) {
      this.select.value = LEVEL;
      this.level.value = Math.min(Math.max(Number(level[1]), this.level.min), this.level.max); // of another game
    } else if ([...this.select.options].some((one) => one.value === wanted)) {
      this.select.value = wanted;
    } else {
      this.select.value = OTHER;
      this.spec.value = wanted;
    }
    this.look();
  }

  get value() {
    if (this.select.value === LEVEL) return `level=${this.level.value}`;
    return this.select.value === OTHER ? this.spec.value : this.select.value;
  }
}
