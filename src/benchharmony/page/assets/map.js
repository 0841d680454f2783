// The map of the items, drawn on a canvas: thousands of points that answer the pointer.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f"];
const RIGHT = "#0072b2", WRONG = "#d55e00", FAINT = "#9aa4ae";
const SHAPES = 4; // eight colours by four shapes: 32 groups are told apart
const maps = new Map();

class ItemMap {
  constructor(box) {
    this.box = box;
    this.name = box.dataset.map;
    this.data = stored(this.name);
    this.hover = -1;
    const ways = ["subdomain"];
    if (this.data.score) ways.push("right or wrong");
    if (this.data.declared) ways.push(this.data.declared.name);
    this.way = make("select", { on: { change: () => this.draw() } }, ...ways.map((w, i) => make("option", { value: i, text: w })));
    this.canvas = make("canvas", { role: "img", "aria-label": "Map of the items; the list above has the same items in words." });
    this.legend = make("ul", { class: "legend" });
    const still = find(".still", box);
    still.hidden = true;
    still.before(make("div", { class: "tools" }, make("label", { text: "Colour by" }, this.way)), this.canvas, this.legend);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => { this.hover = -1; tip.hide(); });
    this.canvas.addEventListener("click", (event) => {
      this.point(event);
      if (this.hover >= 0) listOf(this.box.closest("details.evaluation"))?.show(this.hover);
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.draw();
  }

  size() {
    const wide = this.canvas.clientWidth || 300;
    return [wide, Math.round(Math.min(wide * 0.75, 520))];
  }

  place(i) {
    const [wide, tall] = this.size(), pad = 10, { x, y, grid } = this.data.at;
    return [pad + (x[i] / grid) * (wide - 2 * pad), tall - pad - (y[i] / grid) * (tall - 2 * pad)];
  }

  look(i) {
    const way = Number(this.way.value);
    if (way === 0) return this.data.label[i];
    if (this.data.score && way === 1) return this.data.score[i] >= 0.5 ? -2 : -3;
    return this.data.declared.code[i];
  }

  colour(look) {
    if (look === -2) return RIGHT;
    if (look === -3) return WRONG;
    return look < 0 ? FAINT : COLOURS[look % COLOURS.length];
  }

  draw() {
    const [wide, tall] = this.size(), scale = window.devicePixelRatio || 1;
    this.canvas.style.height = `${tall}px`;
    this.canvas.width = wide * scale;
    this.canvas.height = tall * scale;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const chosen = lists.get(this.name)?.subdomain ?? -1;
    const n = this.data.row.length, r = n > 5000 ? 1.6 : n > 800 ? 2.4 : 4;
    for (const front of chosen < 0 ? [true] : [false, true]) {
      for (let i = 0; i < n; i++) {
        if (chosen >= 0 && (this.data.label[i] === chosen) !== front) continue;
        const look = this.look(i), [x, y] = this.place(i);
        pen.globalAlpha = chosen >= 0 && !front ? 0.12 : 0.75;
        pen.fillStyle = this.colour(look);
        pen.beginPath();
        shape(pen, kindOf(look), x, y, r);
        pen.fill();
      }
    }
    this.explain();
  }

  explain() {
    const way = Number(this.way.value);
    let entries;
    if (this.data.score && way === 1) entries = [["right", RIGHT, 0], ["wrong", WRONG, 1]];
    else entries = (way === 0 ? this.data.names : this.data.declared.names).map((name, i) => [name, this.colour(i), kindOf(i)]);
    const more = entries.length - 24;
    const out = entries.slice(0, 24).map(([name, colour, kind]) => {
      const dot = make("canvas", { "aria-hidden": "true", width: 28, height: 28 });
      const pen = dot.getContext("2d");
      pen.fillStyle = colour;
      pen.beginPath();
      shape(pen, kind, 14, 14, 9);
      pen.fill();
      return make("li", {}, dot, make("bdi", { text: name }));
    });
    if (more > 0) out.push(make("li", { text: `and ${more} more: point at an item` }));
    this.legend.replaceChildren(...out);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    let best = 144;
    this.hover = -1;
    for (let i = 0; i < this.data.row.length; i++) {
      const [x, y] = this.place(i), away = (x - px) ** 2 + (y - py) ** 2;
      if (away < best) [best, this.hover] = [away, i];
    }
    if (this.hover < 0) return tip.hide();
    const i = this.hover, set = stored(this.data.set), row = this.data.row[i];
    const lines = [set.id[row], this.data.names[this.data.label[i]]];
    if (this.data.score) lines.push(`score ${this.data.score[i]}`);
    if (this.data.declared && this.data.declared.code[i] >= 0) lines.push(`${this.data.declared.name}: ${this.data.declared.names[this.data.declared.code[i]]}`);
    if (set.text) lines.push(set.text[row].slice(0, 120));
    tip.show(lines.join("\n"), event.clientX, event.clientY);
  }
}

const kindOf = (look) => (look === -3 ? 1 : look < 0 ? 0 : Math.floor(look / COLOURS.length) % SHAPES);

function shape(pen, kind, x, y, r) {
  if (kind === 1) pen.rect(x - r, y - r, 2 * r, 2 * r);
  else if (kind === 2) { pen.moveTo(x, y - 1.3 * r); pen.lineTo(x + 1.3 * r, y + r); pen.lineTo(x - 1.3 * r, y + r); }
  else if (kind === 3) { pen.moveTo(x, y - 1.4 * r); pen.lineTo(x + 1.4 * r, y); pen.lineTo(x, y + 1.4 * r); pen.lineTo(x - 1.4 * r, y); }
  else pen.arc(x, y, r, 0, 2 * Math.PI);
}
