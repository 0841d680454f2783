// The items of one evaluation: a list that is searched and filtered, a page at a time.

const STEP = 25;
const lists = new Map();

class ItemList {
  constructor(section) {
    this.section = section;
    this.data = stored(section.dataset.items);
    this.set = stored(this.data.set);
    this.shown = STEP;
    this.subdomain = -1;
    this.first = null;
    this.build();
  }

  build() {
    const change = later(() => this.fill(), 120);
    this.search = make("input", { type: "search", placeholder: "words or an id", on: { input: change } });
    this.which = make("select", { on: { change: () => this.choose(Number(this.which.value)) } },
      make("option", { value: -1, text: "all" }),
      ...this.data.names.map((name, i) => make("option", { value: i, text: name })));
    this.answer = make("select", { on: { change: () => this.fill() } },
      ...["all", "wrong", "right"].map((word) => make("option", { text: word })));
    this.status = make("span", { role: "status" });
    this.list = make("ol", { class: "items" });
    this.more = make("button", { type: "button", text: "Show more", on: { click: () => this.extend() } });
    const tools = make("div", { class: "tools" },
      make("label", { text: "Find in items" }, this.search),
      make("label", { text: "Subdomain" }, this.which));
    if (this.data.score) tools.append(make("label", { text: "Answered" }, this.answer));
    tools.append(this.status);
    find(".list", this.section).replaceChildren(tools, this.list, this.more);
    this.fill();
  }

  choose(subdomain) {
    this.subdomain = subdomain;
    this.which.value = String(subdomain);
    this.first = null;
    this.fill();
    const evaluation = this.section.closest("details.evaluation");
    for (const row of findAll("table.subdomains tbody tr", evaluation)) row.classList.toggle("chosen", row.dataset.s === String(subdomain));
    for (const bar of findAll("svg [data-link^='subdomain:']", evaluation)) bar.classList.toggle("dim", subdomain >= 0 && bar.dataset.link !== `subdomain:${subdomain}`);
    maps.get(this.section.dataset.items)?.draw();
  }

  // Texts in lower case, made when somebody first searches.
  words(row) {
    this.lower ??= this.set.id.map((id, i) => `${id}\n${this.set.text ? this.set.text[i] : ""}\n${this.set.options ? this.set.options[i].join("\n") : ""}`.toLowerCase());
    return this.lower[row];
  }

  fits(place, asked) {
    const { label, score, row } = this.data;
    if (this.subdomain >= 0 && label[place] !== this.subdomain) return false;
    if (score && this.answer.value === "right" && score[place] < 0.5) return false;
    if (score && this.answer.value === "wrong" && score[place] >= 0.5) return false;
    return !asked || this.words(row[place]).includes(asked);
  }

  fill() {
    const asked = this.search.value.trim().toLowerCase();
    this.places = this.data.row.map((_, place) => place).filter((place) => this.fits(place, asked));
    if (this.first !== null) this.places = [this.first, ...this.places.filter((p) => p !== this.first)];
    this.shown = STEP;
    this.asked = asked;
    this.status.textContent = `${count(this.places.length)} of ${count(this.data.row.length)} items`;
    this.list.replaceChildren(...this.places.slice(0, this.shown).map((p) => this.entry(p)));
    this.more.hidden = this.places.length <= this.shown;
  }

  extend() {
    const next = this.places.slice(this.shown, this.shown + STEP).map((p) => this.entry(p));
    this.shown += STEP;
    this.list.append(...next);
    this.more.hidden = this.places.length <= this.shown;
    find("summary", next[0])?.focus();
  }

  show(place) {
    this.first = place;
    this.fill();
    const entry = this.list.firstElementChild;
    find("details", entry).open = true;
    entry.scrollIntoView({ block: "center" });
    find("summary", entry).focus({ preventScroll: true });
  }

  entry(place) {
    const row = this.data.row[place];
    const text = this.set.text ? this.set.text[row] : "";
    const summary = make("summary", {}, make("bdi", { class: "id", text: ending(this.set.id[row]), title: this.set.id[row] }));
    const what = make("span", { class: "what" }, ...this.marked(text ? text.slice(0, 300) : this.set.id[row]));
    summary.append(what, make("small", { text: this.data.names[this.data.label[place]] }));
    const score = this.data.score?.[place];
    if (score !== undefined) {
      const whole = score === 0 || score === 1;
      summary.append(make("span", { class: `badge ${score >= 0.5 ? "right" : "wrong"}`, text: whole ? (score ? "\u2713 right" : "\u2717 wrong") : score.toFixed(2) }));
    }
    const details = make("details", {}, summary);
    // The rest of an item is made when it is opened.
    details.addEventListener("toggle", () => details.append(...this.inside(place, row, text)), { once: true });
    return make("li", {}, details);
  }

  inside(place, row, text) {
    const out = [make("p", { class: "text", dir: "auto" }, ...this.marked(text || "The log holds no text of this item."))];
    const options = this.set.options?.[row];
    const gold = this.set.gold?.[row] ?? -1, chosen = this.data.chosen?.[place] ?? -1;
    if (options) {
      out.push(make("ol", { class: "options", type: "A" }, ...options.map((option, i) => {
        const line = make("li", { class: i === gold ? "key" : false }, make("bdi", {}, ...this.marked(option)));
        if (i === gold) line.append(" \u2190 key");
        if (i === chosen) line.append(i === gold ? ", chosen" : " \u2190 chosen");
        return line;
      })));
    } else if (chosen >= 0) {
      out.push(make("p", { class: "soft", text: `Chosen: option ${chosen + 1}${gold >= 0 ? `; key: option ${gold + 1}` : ""}.` }));
    }
    const declared = this.data.declared;
    if (declared && declared.code[place] >= 0) out.push(make("p", { class: "soft", text: `${declared.name}: ${declared.names[declared.code[place]]}` }));
    return out;
  }

  // What was searched for, marked; as nodes, never as markup.
  marked(text) {
    if (!this.asked) return [text];
    const out = [], lower = text.toLowerCase();
    let from = 0;
    for (let at = lower.indexOf(this.asked); at >= 0; at = lower.indexOf(this.asked, from)) {
      out.push(text.slice(from, at), make("mark", { text: text.slice(at, at + this.asked.length) }));
      from = at + this.asked.length;
    }
    return [...out, text.slice(from)];
  }
}

// Ids of one benchmark differ at their ends.
const ending = (id) => (id.length > 16 ? `\u2026${id.slice(-15)}` : id);

function listOf(evaluation) {
  const section = evaluation && find("[data-items]", evaluation);
  if (!section) return null;
  const name = section.dataset.items;
  if (!lists.has(name)) lists.set(name, new ItemList(section));
  return lists.get(name);
}

function chooseSubdomain(evaluation, subdomain, go) {
  const list = listOf(evaluation);
  if (!list) return;
  list.choose(list.subdomain === subdomain ? -1 : subdomain);
  if (go) list.section.scrollIntoView();
}
