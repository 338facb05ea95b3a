// The bar that stays at the top: previous and next outlier, the filter by story, collapsing; and for each section its collapse and copy
// buttons and the links to single segments.

const sections = [...document.querySelectorAll("section.outlier")];
// With more sections all but the first few are collapsed when the page opens.
const OPEN_SECTIONS = 20;
const FIRST_OPEN = 3;

function collapse(section, closed) {
  section.querySelector(".body").hidden = closed;
  const opener = section.querySelector(".opener");
  opener.setAttribute("aria-expanded", String(!closed));
  opener.textContent = closed ? "▸" : "▾";
}

const isCollapsed = (section) => section.querySelector(".body").hidden;

function offerCollapse(section) {
  const name = section.querySelector(".eyebrow").textContent;
  const opener = button("▾", "Collapse or expand", () => collapse(section, !isCollapsed(section)));
  opener.className = "opener";
  opener.setAttribute("aria-label", `Details of ${name}`);
  opener.setAttribute("aria-expanded", "true");
  const { id } = section;
  section.querySelector(".eyebrow").prepend(opener, " ");
  section.querySelector(".eyebrow").append(" ", make("a", { href: `#${id}`, class: "anchor", "aria-label": `Link to ${name}` }, "#"));
}

// The clipboard of a page from disk may be refused: then what a selection copies will do.
async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    const field = make("textarea", { class: "away", "aria-hidden": "true" });
    field.value = words;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

function offerCopies() {
  for (const command of document.querySelectorAll("pre.command")) {
    const one = button("Copy", "Copy this command", async () => {
      one.textContent = await copy(command.textContent) ? "Copied" : "Select it and copy";
    });
    command.before(make("p", { class: "copy", "aria-live": "polite" }, one));
  }
}

// The section at the top of the window, or the next one below it.
function current(shown) {
  const under = document.querySelector(".guide").getBoundingClientRect().bottom + 8;
  const at = shown.findIndex((section) => section.getBoundingClientRect().bottom > under);
  return at < 0 ? shown.length - 1 : at;
}

function goTo(section) {
  if (!section) return;
  collapse(section, false);
  history.replaceState(null, "", `#${section.id}`);
  section.scrollIntoView({ block: "start" });
  const title = section.querySelector("h2");
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
}

function step(by) {
  const shown = sections.filter((section) => !section.hidden);
  if (!shown.length) return;
  const here = current(shown);
  const top = document.querySelector(".guide").getBoundingClientRect().bottom;
  // Before the first one the next is the first.
  const isBefore = shown[here].getBoundingClientRect().top > top + 40;
  const next = by > 0 ? here + (isBefore ? 0 : 1) : here - 1;
  goTo(shown[Math.min(Math.max(next, 0), shown.length - 1)]);
}

// From a time line to that of the next or previous outlier that is shown.
function stepToTimeline(canvas, by) {
  const shown = sections.filter((section) => !section.hidden);
  const section = shown[shown.indexOf(canvas.closest("section")) + by];
  if (!section) return;
  goTo(section);
  ensure(section.querySelector(".timeline"))?.canvas.focus();
}

function offerGuide() {
  if (sections.length < 2) return;
  const stories = [...document.querySelectorAll(".stories tr[data-of]")].map((row) => (
    make("option", { value: row.dataset.of }, row.querySelector("th").textContent)));
  const choice = make("select", { class: "story", "aria-label": "Filter by story",
    change: () => filterBy({ ...noFilter, story: choice.value === "" ? null : choice.value }) },
    make("option", { value: "" }, "all stories"), ...stories);
  const reset = button("Show all", "Take the filter back", () => filterBy(noFilter));
  reset.className = "reset";
  reset.hidden = true;
  document.querySelector("main").prepend(make("nav", { class: "guide", "aria-label": "Outliers" },
    button("↑ Previous", "Previous outlier", () => step(-1)), button("↓ Next", "Next outlier", () => step(1)),
    make("a", { href: "#list" }, "List"), ...(stories.length > 1 ? [choice] : []), reset,
    make("span", { class: "count note", "aria-live": "polite" }),
    make("span", { class: "push" },
      button("Collapse all", "Leave only the headlines", () => sections.forEach((section) => collapse(section, true))), " ",
      button("Expand all", "Show all details", () => sections.forEach((section) => collapse(section, false))))));
}

// `#outlier-3` and `#segment-3-17`: the third outlier, and the 17th bar of its time line.
function followLink() {
  const [, number, bar] = location.hash.match(/^#(?:outlier|segment)-(\d+)(?:-(\d+))?$/) ?? [];
  const section = document.getElementById(`outlier-${number}`);
  if (!section) return;
  filterBy(noFilter);
  collapse(section, false);
  if (bar === undefined) return;
  const place = section.querySelector(".timeline");
  const timeline = ensure(place);
  const chosen = timeline?.bars[Number(bar)];
  if (!chosen) return;
  place.scrollIntoView({ block: "center" });
  timeline.choose(chosen);
  timeline.canvas.focus({ preventScroll: true });
}

function offerSections() {
  sections.forEach(offerCollapse);
  offerGuide();
  if (sections.length > OPEN_SECTIONS) sections.slice(FIRST_OPEN).forEach((section) => collapse(section, true));
  offerCopies();
  addEventListener("hashchange", followLink);
}
