// The page's help: what the mouse does, and the keys that do the same.

const KEYS = [
  ["anywhere", [
    ["click a button, a link, a story", "Tab to it, Enter"],
    ["point at a bar of a histogram", "Tab to the histogram, ← → Home End"],
    ["click a bar of the histogram", "Enter on it: only the outliers of that length; again: all"],
    ["scroll a wide table sideways", "Tab to it, ← →"],
  ]],
  ["in a timeline", [
    ["click a bar, or point at it", "n p: next and previous segment; l L: the lanes below and above; ↓ ↑: into what happened during a wait, and back"],
    ["point at an arrow", "choose the wait, or the run of a thread, that it leads to"],
    ["double-click a bar", "Enter: zoom to it"],
    ["wheel", "+ −: zoom"],
    ["drag", "← → Home End: pan"],
    ["Shift and drag", "m at one segment, m at another: measure"],
    ["Show in the flame graph", "f on a function"],
    ["All", "0: everything"],
    ["", "Esc: choose nothing, measure nothing"],
    ["Next, Previous", "N P: the timeline of the next and the previous outlier"],
    ["find", "Tab back to the field; Enter: from one found to the next"],
  ]],
  ["in a flame graph", [
    ["point at a function", "↓ ↑: into what it calls, and back to its caller; ← →: beside it"],
    ["click a function", "Enter: zoom into it"],
    ["click a caller above", "Esc: zoom out to the caller"],
    ["find", "Tab back to the field; Enter: from one found to the next"],
  ]],
];

// Where one came from, to go back there.
let cameFrom = null;

function linkToKeys() {
  return make("a", { href: "#keys", class: "help", click: (event) => { event.preventDefault(); goToKeys(event.currentTarget); } }, "Keys");
}

function goToKeys(from) {
  cameFrom = from;
  const title = document.getElementById("keys");
  title.scrollIntoView({ block: "start" });
  title.focus({ preventScroll: true });
}

// At the end of the page; Esc goes back.
function offerKeys() {
  const row = ([mouse, keys]) => make("tr", {}, make("td", {}, mouse), make("td", {}, keys));
  const body = ([where, rows]) => make("tbody", {}, make("tr", {}, make("th", { colspan: "2", scope: "rowgroup" }, where)), ...rows.map(row));
  const title = make("h2", { id: "keys", tabindex: "-1" }, "Keys");
  const section = make("section", { class: "keys", "aria-labelledby": "keys" }, title,
    make("p", { class: "note" }, "Keys of a timeline or a flame graph work once it has the focus: Tab to it, or click there; ", make("kbd", {}, "?"),
      " in it leads here, ", make("kbd", {}, "Esc"), " goes back."),
    make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "mouse"), make("th", {}, "keyboard"))), ...KEYS.map(body)));
  section.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !cameFrom) return;
    cameFrom.scrollIntoView({ block: "center" });
    cameFrom.focus({ preventScroll: true });
  });
  document.getElementById("main").append(section);
}
