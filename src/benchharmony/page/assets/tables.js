// Tables that sort, and the filters over the evaluations.

function cellValue(row, column) {
  const cell = row.cells[column];
  const given = cell.dataset.v;
  if (given === undefined) return cell.textContent.trim().toLowerCase();
  return given === "" ? null : Number(given);
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

function sortBy(table, column, downwards) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row, place) => ({ row, place, value: cellValue(row, column) }));
  rows.sort((a, b) => {
    // What is undefined stays last, whichever way.
    if ((a.value === null) !== (b.value === null)) return a.value === null ? 1 : -1;
    const order = a.value === null ? 0 : compare(a.value, b.value);
    return (downwards ? -order : order) || a.place - b.place;
  });
  body.append(...rows.map((r) => r.row));
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const words = head.textContent;
    const press = () => {
      const downwards = head.getAttribute("aria-sort") === "ascending" ||
        (head.classList.contains("n") && head.getAttribute("aria-sort") !== "descending");
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", downwards ? "descending" : "ascending");
      sortBy(table, column, downwards);
    };
    head.replaceChildren(make("button", { type: "button", text: words, on: { click: press } }));
  });
}

// The filters choose rows of the table and, with them, the sections and points below.
const filters = {
  form: find("#filters"),
  apply() {
    const text = (find("#f-text")?.value ?? "").trim().toLowerCase();
    const wanted = { b: find("#f-b")?.value ?? "", m: find("#f-m")?.value ?? "", answer: find("#f-answer")?.value ?? "" };
    const there = new Set();
    const rows = findAll("#overview tbody tr");
    for (const row of rows) {
      const names = `${row.cells[0].textContent} ${row.cells[1].textContent}`.toLowerCase();
      const fits = names.includes(text) &&
        Object.entries(wanted).every(([key, value]) => value === "" || row.dataset[key] === value);
      row.hidden = !fits;
      if (fits) there.add(row.dataset.e);
    }
    for (const section of findAll("details.evaluation")) section.hidden = !there.has(section.dataset.e);
    const some = there.size < rows.length;
    find("#f-count").textContent = some ? `${count(there.size)} of ${count(rows.length)} shown` : "";
    for (const point of findAll("svg [data-link]")) {
      const [kind, target] = point.dataset.link.split(":");
      if (kind === "benchmark") point.classList.toggle("dim", some && !rows.some((r) => !r.hidden && r.dataset.b === target));
      if (kind === "evaluation") point.classList.toggle("dim", !there.has(target));
    }
  },
  choose(benchmark) {
    const select = find("#f-b");
    if (!select) return;
    select.value = select.value === benchmark ? "" : benchmark;
    this.apply();
    find("#all")?.scrollIntoView();
  },
  start() {
    if (!this.form) return;
    this.form.hidden = false;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", later(() => this.apply(), 60));
    this.form.addEventListener("reset", () => setTimeout(() => this.apply()));
  },
};
