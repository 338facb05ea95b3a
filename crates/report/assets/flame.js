// The call tree as a flame graph with its roots on top: of the outlier, of what is typical, and of the difference. In
// the difference a function is as wide as it is in the one that spends more there, so nothing that only the other one
// calls is missing; its colour shows the relative excess of the outlier.

const LAYERS = ["user", "kernel", "waiting"];
const ROW = 18;
const VIEWS = [["outlier", capital(payload.sides.own)], ["typical", capital(payload.sides.other)],
  ["difference", "Difference"]];

// The tree with totals and children; `width` is what the view draws.
function treeOf(outlier) {
  const { parent, name, layer, self, typical, calls } = outlier.calls;
  const nodes = name.map((index, at) => ({ at, name: text(index), layer: LAYERS[layer[at]], self: self[at],
    typicalSelf: typical[at], total: self[at], typical: typical[at], calls: calls[at], children: [] }));
  const root = { name: "all", layer: "user", self: 0, typicalSelf: 0, total: 0, typical: 0, calls: 0, children: [], depth: -1 };
  for (let at = nodes.length - 1; at >= 0; at--) {
    const node = nodes[at];
    node.parent = parent[at] === null ? root : nodes[parent[at]];
    node.parent.total += node.total;
    node.parent.typical += node.typical;
    node.parent.children.push(node);
  }
  for (const node of nodes) node.depth = node.parent.depth + 1;
  for (const node of nodes) node.children.sort((a, b) => Math.max(b.total, b.typical) - Math.max(a.total, a.typical));
  return { root, nodes };
}

// Callers come before what they call, so one pass from the back adds up.
function measure(tree, view) {
  const own = { outlier: (node) => node.self, typical: (node) => node.typicalSelf,
    difference: (node) => Math.max(node.self, node.typicalSelf) }[view];
  for (const node of [tree.root, ...tree.nodes]) node.width = own(node);
  for (let at = tree.nodes.length - 1; at >= 0; at--) tree.nodes[at].parent.width += tree.nodes[at].width;
}

class Flame {
  constructor(place, outlier) {
    this.outlier = outlier;
    this.tree = treeOf(outlier);
    this.top = this.tree.root;
    this.chosen = null;
    this.wanted = "";
    this.draw = eachFrame(() => this.redraw());
    this.build(place);
    this.view(place.dataset.view ?? "outlier");
    this.listen();
    new ResizeObserver(this.draw).observe(this.canvas);
  }

  build(place) {
    this.buttons = VIEWS.map(([view, title]) => button(title, `Flame graph: ${title}`, () => this.view(view)));
    this.find = make("input", { type: "search", "aria-label": "Find functions", placeholder: "find function",
      input: () => { this.wanted = this.find.value.toLowerCase(); this.draw(); },
      keydown: (event) => { if (event.key === "Enter") this.findNext(); } });
    this.canvas = make("div", { class: "canvas", tabindex: "0", role: "application", "aria-roledescription": "flame graph",
      "aria-label": "Flame graph: arrow keys move, Enter zooms into a function, Escape goes back; the table below " +
      "holds the same" });
    this.details = make("div", { class: "details", "aria-live": "polite" }, make("p", { class: "note" },
      "Click a function to zoom into it; ", make("kbd", {}, "Esc"), " goes back. ",
      make("kbd", {}, "←"), " ", make("kbd", {}, "→"), " ", make("kbd", {}, "↑"), " ", make("kbd", {}, "↓"), " move, ",
      make("kbd", {}, "Enter"), " zooms; ", linkToKeys()));
    place.append(make("div", { class: "bench flame" }, make("div", { class: "tools" }, make("h3", {}, "Flame graph"),
      ...this.buttons, make("span", { class: "push" }, this.find)), this.canvas, this.details));
  }

  view(view) {
    this.shown = view;
    this.buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(VIEWS[at][0] === view)));
    measure(this.tree, view);
    this.draw();
  }

  // From one function that is found to the next.
  findNext() {
    const found = this.wanted ? this.tree.nodes.filter((node) => node.width > 0 && this.finds(node)) : [];
    if (!found.length) this.details.replaceChildren(make("p", {}, "nothing found"));
    else this.show(found[(found.indexOf(this.chosen) + 1) % found.length]);
  }

  finds(node) { return node.name.toLowerCase().includes(this.wanted); }

  // Makes `node` the whole.
  enter(node) {
    this.top = node;
    this.choose(node === this.tree.root ? null : node);
  }

  // Shows the function with this number in the payload, zoomed into its callers if it would be too narrow.
  reveal(at) {
    const node = this.tree.nodes[at];
    if (!node) return;
    if (this.shown === "typical") this.view("outlier");
    this.show(node);
  }

  show(node) {
    const narrow = node.width * this.canvas.clientWidth < 3 * this.tree.root.width;
    this.top = narrow ? node : this.tree.root;
    this.choose(node);
  }

  // The same, and the reader goes there.
  visit(at) {
    this.reveal(at);
    this.canvas.scrollIntoView({ block: "center" });
    this.canvas.focus({ preventScroll: true });
  }

  choose(node) {
    this.chosen = node;
    if (node) this.details.replaceChildren(...this.words(node));
    this.draw();
  }

  words(node) {
    const { ticks } = this.outlier;
    const difference = signed(node.total - node.typical, ticks);
    const own = `itself ${length(node.self, ticks)}, ${payload.sides.other} ${length(node.typicalSelf, ticks)}`;
    const calls = node.calls ? ` · entered ${node.calls} times` : "";
    return [make("p", {}, make("b", {}, node.name), ` ${length(node.total, ticks)}, ` +
      `${payload.sides.other} ${length(node.typical, ticks)}, ${difference}`), make("p", { class: "note" }, `${node.layer} · ${own}${calls}`)];
  }

  listen() {
    offerTooltip(this.canvas, ({ node }) => node && `${node.name}, ${length(node.total, this.outlier.ticks)}; ` +
      `${payload.sides.other} ${length(node.typical, this.outlier.ticks)}`);
    this.canvas.addEventListener("click", (event) => event.target.node && this.enter(event.target.node));
    const keys = {
      ArrowDown: () => this.choose((this.chosen ?? this.tree.root).children.find((node) => node.width > 0) ?? this.chosen),
      ArrowUp: () => this.chosen && this.chosen.parent !== this.tree.root && this.choose(this.chosen.parent),
      ArrowLeft: () => this.beside(-1), ArrowRight: () => this.beside(1),
      Enter: () => this.chosen && this.enter(this.chosen), "?": () => goToKeys(this.canvas),
      Escape: () => this.enter(this.top === this.tree.root ? this.tree.root : this.top.parent),
    };
    this.canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  beside(by) {
    if (!this.chosen) return;
    const row = this.chosen.parent.children.filter((node) => node.width > 0);
    this.choose(row[row.indexOf(this.chosen) + by] ?? this.chosen);
  }

  redraw() {
    const whole = this.canvas.clientWidth;
    const parts = [];
    let deepest = 0;
    // Callers of the function that is the whole, each as wide as everything.
    const above = [];
    for (let node = this.top; node !== this.tree.root; node = node.parent) above.unshift(node);
    above.forEach((node, depth) => parts.push(...this.box(node, 0, whole, depth)));
    const place = (node, x, scale, depth) => {
      for (const child of node.children) {
        const width = child.width * scale;
        if (width < 0.5) continue;
        deepest = Math.max(deepest, depth);
        parts.push(...this.box(child, x, width, depth));
        place(child, x, scale, depth + 1);
        x += width;
      }
    };
    place(this.top, 0, whole / Math.max(this.top.width, 1), above.length);
    const height = (Math.max(deepest, above.length - 1) + 1) * ROW;
    this.canvas.replaceChildren(picture(whole, height, parts));
  }

  box(node, x, width, depth) {
    const classes = ["code", this.color(node)];
    if (node === this.chosen) classes.push("chosen");
    if (this.wanted) classes.push(this.finds(node) ? "found" : "faded");
    const rect = draw("rect", { class: classes.join(" "), x, y: depth * ROW, width: Math.max(width - 0.6, 0.5),
      height: ROW - 1 });
    rect.node = node;
    const label = fitting(node.name, width);
    return label ? [rect, draw("text", { x: x + 4, y: depth * ROW + 12 }, label)] : [rect];
  }

  // In the difference: more or less than typical by a tenth of the function's own width, else alike.
  color(node) {
    if (this.shown !== "difference") return node.layer;
    const excess = node.total - node.typical;
    const counts = Math.abs(excess) > Math.max(node.total, node.typical) / 10;
    return counts ? (excess > 0 ? "more" : "less") : "same";
  }
}
