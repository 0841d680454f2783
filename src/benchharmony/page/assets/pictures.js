// Words beside the mark that the pointer is on, and marks that lead somewhere.

const tip = {
  box: null,
  show(text, x, y) {
    this.box ??= document.body.appendChild(make("div", { id: "tip", "aria-hidden": "true" }));
    this.box.textContent = text.split("; ").join("\n");
    this.box.hidden = false;
    const wide = this.box.offsetWidth, tall = this.box.offsetHeight;
    this.box.style.left = `${Math.max(Math.min(x + 14, innerWidth - wide - 8), 4)}px`;
    this.box.style.top = `${y + tall + 22 > innerHeight ? Math.max(y - tall - 12, 4) : y + 14}px`;
  },
  hide() {
    if (this.box) this.box.hidden = true;
  },
};

function watchPictures() {
  document.addEventListener("pointermove", (event) => {
    const mark = event.target instanceof Element && event.target.closest("svg [data-tip]");
    if (mark) tip.show(mark.dataset.tip, event.clientX, event.clientY);
    else if (!(event.target instanceof HTMLCanvasElement)) tip.hide();
  });
  document.addEventListener("click", (event) => {
    const source = event.target instanceof Element && event.target.closest("[data-link]");
    if (!source) return;
    const [kind, target] = source.dataset.link.split(":");
    if (kind === "benchmark") chooseBenchmark(target);
    else if (kind === "evaluation") openSection(`e${target}`, true);
    else if (kind === "subdomain") chooseSubdomain(source.closest("details.evaluation"), Number(target), true);
  });
}

function chooseBenchmark(target) {
  filters.choose(target);
  const there = findAll("details.evaluation:not([hidden])");
  if (there.length === 1) openSection(there[0].id);
}

function openSection(id, go = false) {
  const section = document.getElementById(id);
  if (!section) return;
  section.hidden = false;
  for (let at = section; at; at = at.parentElement) if (at instanceof HTMLDetailsElement) at.open = true;
  if (go) {
    section.scrollIntoView();
    find("summary", section)?.focus({ preventScroll: true });
  }
}
