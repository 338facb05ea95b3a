// The call tree as a table: what the flame graph shows, for those who want figures or cannot see it. Rows are made when
// their caller is opened.

// What is open at first: the path along the largest excess, this deep.
const OPEN_AT_FIRST = 5;

class CallTable {
  constructor(place, outlier, tree) {
    this.outlier = outlier;
    const { own, other, excess } = payload.sides;
    const head = ["function", own, other, excess, "itself", "entered"];
    const heads = head.map((name, at) => make("th", at ? { class: "number" } : {}, name));
    this.body = make("tbody");
    const table = make("table", { class: "tree" }, make("thead", {}, make("tr", {}, ...heads)), this.body);
    place.append(make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Call tree" }, table));
    this.body.append(...this.byExcess(tree.root).map((node) => this.row(node)));
    let next = this.byExcess(tree.root)[0];
    for (let depth = 0; next && depth < OPEN_AT_FIRST; depth++) {
      this.toggle(next, true);
      next = this.byExcess(next)[0];
    }
  }

  byExcess(node) {
    return [...node.children].sort((a, b) => (b.total - b.typical) - (a.total - a.typical));
  }

  row(node) {
    const { ticks } = this.outlier;
    const number = (value, more = "") => make("td", { class: `number${more}` }, value);
    const name = make("th", { scope: "row" });
    name.style.paddingLeft = `${node.depth * 14}px`;
    node.opener = node.children.length ? make("button", { type: "button", "aria-expanded": "false",
      "aria-label": `What ${node.name} called`, click: () => this.toggle(node) }, "▸") : make("span", { class: "leaf" });
    name.append(node.opener, node.name);
    const excess = node.total - node.typical;
    node.row = make("tr", {}, name, number(length(node.total, ticks)), number(length(node.typical, ticks)),
      number(signed(excess, ticks), excess > node.typical / 10 ? " plus" : ""), number(length(node.self, ticks)),
      number(node.calls ? String(node.calls) : "-"));
    return node.row;
  }

  // Opens or closes what `node` called; a closed row forgets those below it.
  toggle(node, open = node.opener.getAttribute("aria-expanded") !== "true") {
    if (!node.children.length || !node.row) return;
    node.opener.setAttribute("aria-expanded", String(open));
    node.opener.textContent = open ? "▾" : "▸";
    if (open) node.row.after(...this.byExcess(node).map((child) => this.row(child)));
    else this.close(node);
  }

  close(node) {
    for (const child of node.children.filter((child) => child.row)) {
      this.close(child);
      child.row.remove();
      child.row = null;
    }
  }
}
