// What happens when the page opens: controls come to life; without a script it is all there to read.

function fillEvaluation(section) {
  listOf(section);
  const map = find("[data-map]", section);
  if (map && !maps.has(map.dataset.map)) maps.set(map.dataset.map, new ItemMap(map));
}

function startTheme() {
  const button = find("#theme"), root = document.documentElement;
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const word = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.setAttribute("aria-label", "change between light and dark");
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; word(); });
  word();
}

// A printer gets what is open; of a short report, everything.
function startPrint() {
  let opened = [];
  addEventListener("beforeprint", () => {
    const all = findAll("details").filter((d) => !d.closest("ol.items"));
    const sections = findAll("details.evaluation:not([hidden])");
    if (sections.length <= 6) opened = all.filter((d) => !d.open);
    else opened = all.filter((d) => !d.open && d.classList.contains("more") && d.closest("details.evaluation")?.open);
    for (const d of opened) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of opened) d.open = false; });
}

function start() {
  document.documentElement.classList.add("live");
  findAll("table.sortable").forEach(makeSortable);
  for (const button of findAll("button.plain[hidden]")) button.hidden = false;
  for (const still of findAll("span.static")) still.hidden = true;
  filters.start();
  watchPictures();
  startTheme();
  startPrint();
  const follow = () => { if (location.hash.length > 1) openSection(location.hash.slice(1)); };
  addEventListener("hashchange", follow);
  follow();
  for (const section of findAll("details.evaluation")) {
    section.addEventListener("toggle", () => { if (section.open) fillEvaluation(section); });
  }
  // After the first paint: lists may hold thousands of items.
  setTimeout(() => findAll("details.evaluation[open]").forEach(fillEvaluation), 50);
}

start();
