// A slider over the percentiles: what the intervals around the chosen one spent their time on, as a table below the picture.

function offerPercentiles() {
  const figure = document.querySelector(".composition");
  const { curve } = payload;
  if (!figure || !curve.length) return;
  const columns = [...figure.querySelectorAll(".column")];
  const slider = make("input", { type: "range", min: 0, max: curve.length - 1, step: 1, "aria-label": "Percentile" });
  const said = make("output", {});
  const rows = make("tbody", {});
  const table = make("table", {}, make("thead", {}, make("tr", {}, make("th", { class: "number" }, "mean"),
    make("th", { class: "number" }, "share"), make("td", {}), make("th", {}, "cause"))), rows);
  const show = () => {
    const at = Number(slider.value);
    const point = curve[at];
    const words = `${text(point.name)}: ${length(point.took, point.ticks)}`;
    said.textContent = `${words}, mean of ${point.intervals} ${point.intervals === 1 ? "interval" : "intervals"} around it`;
    slider.setAttribute("aria-valuetext", words);
    columns.forEach((column, index) => column.classList.toggle("chosen", index === at));
    rows.replaceChildren(...point.causes.map((cause) => percentileRow(cause, point)));
  };
  slider.addEventListener("input", eachFrame(show));
  columns.forEach((column, at) => column.addEventListener("click", () => { slider.value = at; show(); }));
  // The slowest hundredth, where there is one: what is typical is the same in most columns.
  const start = curve.findIndex((point) => point.percentile >= 99);
  slider.value = start < 0 ? curve.length - 1 : start;
  figure.append(make("label", { class: "slider" }, slider, said), make("div", { class: "wide", tabindex: 0, role: "group",
    "aria-label": "Causes at this percentile" }, table));
  show();
}

function percentileRow([name, family, shade, mean], point) {
  const share = 100 * mean / Math.max(point.mean, 1);
  const bar = draw("svg", { class: "share", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { class: `bar ${family}${shade ? ` shade-${shade}` : ""}`, width: share.toFixed(1), height: 8 }));
  return make("tr", {}, make("td", { class: "number" }, length(Math.round(mean), point.ticks)),
    make("td", { class: "number" }, `${share.toFixed(1)} %`), make("td", {}, bar), make("th", { scope: "row", class: "long" }, text(name)));
}
