// The first screen answers: a click on a bar of the histogram or on a story leaves only its outliers in the list and on the page.

const filter = { story: null, from: 0, to: Infinity };

// Whether the filter leaves a row or a section, by what the server wrote there.
function passes({ dataset }) {
  const took = Number(dataset.took);
  return (filter.story === null || dataset.story === filter.story) && took >= filter.from && took < filter.to;
}

function applyFilter() {
  const filtered = [...document.querySelectorAll("[data-took]")];
  filtered.forEach((one) => { one.hidden = !passes(one); });
  const sections = filtered.filter((one) => one.matches("section"));
  const shown = sections.filter((one) => !one.hidden).length;
  const all = document.querySelector(".guide .count");
  if (all) all.textContent = shown === sections.length ? "" : `${shown} of ${sections.length} shown`;
  const reset = document.querySelector(".guide .reset");
  if (reset) reset.hidden = shown === sections.length;
  document.querySelectorAll(".stories button").forEach((one) => {
    one.setAttribute("aria-pressed", String(one.closest("tr").dataset.of === filter.story));
  });
  document.querySelectorAll(".histogram .bin[data-from]").forEach((bin) => {
    const pressed = Number(bin.dataset.from) === filter.from && Number(bin.dataset.to) === filter.to;
    if (bin.matches(".holds")) bin.setAttribute("aria-pressed", String(pressed));
    bin.classList.toggle("chosen", pressed);
  });
  const choice = document.querySelector(".guide select.story");
  if (choice) choice.value = filter.story ?? "";
  onFiltered.forEach((tell) => tell());
}

const onFiltered = [];

function filterBy(change) {
  Object.assign(filter, change);
  applyFilter();
}

const noFilter = { story: null, from: 0, to: Infinity };

// The button of a story stands in its row; a second click takes the filter back.
function offerStories() {
  for (const row of document.querySelectorAll(".stories tr[data-of]")) {
    const { of } = row.dataset;
    const only = button("only these", "Show only the intervals of this story", () => {
      filterBy({ ...noFilter, story: filter.story === of ? null : of });
    });
    only.setAttribute("aria-pressed", "false");
    row.cells[0].append(" ", only);
  }
}

// Bars that hold an outlier are buttons.
function offerFilters(figure) {
  const lengths = [...document.querySelectorAll("section[data-took]")].map((one) => Number(one.dataset.took));
  for (const bin of figure.querySelectorAll(".bin[data-from]")) {
    const [from, to] = [Number(bin.dataset.from), Number(bin.dataset.to)];
    const held = lengths.filter((took) => took >= from && took < to).length;
    if (!held) continue;
    const press = () => filterBy(bin.classList.contains("chosen") ? noFilter : { story: null, from, to });
    bin.classList.add("holds");
    bin.setAttribute("role", "button");
    bin.setAttribute("aria-pressed", "false");
    bin.setAttribute("aria-label", `Show only those of ${bin.textContent}; ${held} explained here`);
    bin.addEventListener("click", press);
    bin.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      press();
    });
  }
}

// One bar of a histogram takes part in the order of Tab; arrows go from there to those beside it, each of which says what the pointer
// would show.
function offerBins() {
  for (const figure of document.querySelectorAll(".histogram")) {
    const bins = [...figure.querySelectorAll(".bin")];
    if (!bins.length) continue;
    bins.forEach((bin) => {
      bin.setAttribute("role", "img");
      bin.setAttribute("aria-label", bin.textContent);
      bin.setAttribute("tabindex", "-1");
    });
    if (figure.matches(".population")) offerFilters(figure);
    (bins.find((bin) => bin.matches(".holds")) ?? bins[0]).setAttribute("tabindex", "0");
    figure.querySelector("svg").setAttribute("role", "group");
    offerWalk(figure, bins);
  }
}

function offerWalk(figure, bins) {
  const said = make("span", { class: "said" });
  figure.querySelector("figcaption").append(said);
  const go = (to) => {
    const bin = bins[Math.min(Math.max(to, 0), bins.length - 1)];
    bins.forEach((one) => one.setAttribute("tabindex", one === bin ? "0" : "-1"));
    bin.focus();
  };
  const keys = { ArrowLeft: (at) => at - 1, ArrowRight: (at) => at + 1, Home: () => 0, End: () => bins.length - 1 };
  figure.addEventListener("keydown", (event) => {
    const at = bins.indexOf(event.target);
    if (at < 0 || !keys[event.key]) return;
    event.preventDefault();
    go(keys[event.key](at));
  });
  figure.addEventListener("focusin", ({ target }) => { said.textContent = bins.includes(target) ? ` · ${target.textContent}` : ""; });
  figure.addEventListener("focusout", () => { said.textContent = ""; });
}
