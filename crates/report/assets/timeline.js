// The time line of one outlier: a lane per thread and per CPU, stages above, functions below. A view is a range of
// time; everything drawn is a function of it, of the chosen bar, of the measured range and of what is searched for.

const LANE = 20;
const GUTTER = 128;
const DEEPEST_LANES = 14;

// One object per bar of the payload; those below a wait know it, and it knows them.
function barsOf(outlier) {
  const bars = [];
  for (const [at, duration, cause, certainty, detail, cpu, tid, edge, count, evidence, under] of outlier.bars) {
    const [wait, part, takes, whom] = under ?? [null, null, 0, null];
    const bar = { at, duration, cause: text(outlier.causes[cause][0]), family: outlier.causes[cause][1],
      shade: outlier.causes[cause][2],
      certainty: CERTAINTIES[certainty], detail: text(detail), cpu, tid, edge, count, evidence: evidence.map(text), below: [],
      wait: under && bars[wait], level: under ? bars[wait].level + 1 : 0, part, takes: takes === 1, whom: whom === null ? "" : text(whom) };
    bar.wait?.below.push(bar);
    bars.push(bar);
  }
  return bars;
}

function threadName(outlier, tid) {
  if (tid === null) return "unknown thread";
  const name = outlier.threads[tid];
  return name === undefined ? `tid ${tid}` : `${text(name)} ${tid}`;
}

// Threads of the interval first, then those that acted while it waited, each below the one that waited for it, then CPUs.
function lanesOf(outlier, bars) {
  const lanes = new Map();
  const lane = (key, title, more) => lanes.get(key) ?? lanes.set(key, { title, bars: [], ...more }).get(key);
  for (const bar of bars.filter((bar) => bar.level === 0)) {
    bar.lane = lane(`own ${bar.tid}`, threadName(outlier, bar.tid));
    bar.lane.bars.push(bar);
  }
  for (const bar of bars.filter((bar) => bar.level > 0)) {
    const title = `${"↳".repeat(bar.level)} ${bar.tid === null ? "interrupt" : threadName(outlier, bar.tid)}`;
    bar.lane = lane(`during ${bar.level} ${bar.tid}`, title, { parts: [] });
    bar.lane.bars.push(bar);
  }
  for (const lane of lanes.values()) if (lane.parts) lane.parts = partsOf(lane.bars);
  if (outlier.machine.cpus.length) {
    return [...stageLanes(outlier), ...lanes.values(), ...machineLanes(outlier, bars), ...codeLanes(outlier)];
  }
  const onCpu = bars.filter((bar) => bar.cpu !== null && !bar.cause.startsWith("offcpu."));
  for (const cpu of [...new Set(onCpu.map((bar) => bar.cpu))].sort((a, b) => a - b)) {
    const there = onCpu.filter((bar) => bar.cpu === cpu).sort((a, b) => a.at - b.at);
    lane(`cpu ${cpu}`, `CPU ${cpu}`).bars = there;
  }
  return [...stageLanes(outlier), ...lanes.values(), ...codeLanes(outlier)];
}

function stageLanes(outlier) {
  const stages = outlier.stages.map(([at, duration, name]) => ({ at, duration, cause: text(name), family: "stage" }));
  return stages.length ? [{ title: "stages", bars: stages }] : [];
}

// The call stack over time, a lane per depth; adjacent ones under the same caller are one bar.
function codeLanes(outlier) {
  const { parent, name, layer, stretches } = outlier.calls;
  const lanes = [];
  for (const [at, duration, node] of stretches) {
    const chain = [];
    for (let up = node; up !== null; up = parent[up]) chain.push(up);
    chain.reverse().slice(0, DEEPEST_LANES).forEach((node, depth) => {
      lanes[depth] ??= { title: depth ? "" : "functions", bars: [], tight: true };
      const last = lanes[depth].bars.at(-1);
      if (last && last.node === node && last.at + last.duration === at) last.duration += duration;
      else lanes[depth].bars.push({ at, duration, node, cause: text(name[node]), code: LAYERS[layer[node]] });
    });
  }
  return lanes;
}

class Timeline {
  constructor(place, outlier) {
    this.outlier = outlier;
    this.bars = barsOf(outlier);
    this.own = this.bars.filter((bar) => bar.level === 0);
    this.lanes = lanesOf(outlier, this.bars);
    for (const { bars } of this.lanes) for (const bar of bars) bar.row ??= bars;
    this.arrows = arrowsOf(outlier, this.bars);
    this.wakes = wakesOf(outlier, this.lanes);
    this.measure = null;
    this.wanted = "";
    this.whole = Math.max(outlier.duration, 1);
    this.from = 0;
    this.to = this.whole;
    this.chosen = null;
    this.draw = eachFrame(() => this.redraw());
    this.build(place);
    this.listen();
    new ResizeObserver(this.draw).observe(this.canvas);
  }

  build(place) {
    const zoom = (factor) => () => this.zoom(factor, (this.from + this.to) / 2);
    this.range = make("span", { class: "note push" });
    this.canvas = make("div", { class: "canvas", tabindex: "0", role: "application", "aria-roledescription": "timeline",
      "aria-label": "Timeline: plus and minus zoom, left and right pan, n and p choose the next and previous segment, " +
      "down goes to what another thread did during a wait, up goes back to the wait, l and L go to the lanes below and above, " +
      "m measures from the chosen segment to another, f shows a function in the flame graph, 0 shows everything, " +
      "N and P go to the next and previous outlier" });
    this.details = make("div", { class: "details", "aria-live": "polite" });
    place.append(make("div", { class: "bench" },
      make("div", { class: "tools" }, make("h3", {}, "Timeline"), button("+", "Zoom in", zoom(0.5)),
        button("−", "Zoom out", zoom(2)), button("All", "Show everything", () => this.show(0, this.whole)),
        this.searchField(), this.range), this.canvas, this.legend(), this.details));
    offerTooltip(this.canvas, (target) => hintOf(this, target));
    this.details.append(make("p", { class: "note" }, "Click a bar for its evidence. Click, then use the wheel or ",
      make("kbd", {}, "+"), " ", make("kbd", {}, "−"), " to zoom, drag or ", make("kbd", {}, "←"), " ",
      make("kbd", {}, "→"), " to pan, ", make("kbd", {}, "n"), " ", make("kbd", {}, "p"),
      " for the next and previous segment, ", ...this.wayDown(), make("kbd", {}, "l"), " ", make("kbd", {}, "L"),
      " for the lane below and above, ", make("kbd", {}, "Shift"), " and drag, or ", make("kbd", {}, "m"),
      " at one segment and at another, to measure, ", make("kbd", {}, "f"), " on a function to see it in the flame graph, ",
      make("kbd", {}, "0"), " for everything; ", linkToKeys()));
    this.redraw();
  }

  // What is found stands out; Enter goes from one to the next.
  searchField() {
    const field = make("input", { type: "search", "aria-label": "Find in the timeline", placeholder: "find",
      input: () => { this.wanted = field.value.toLowerCase(); this.draw(); },
      keydown: (event) => { if (event.key === "Enter") this.findNext(); } });
    return field;
  }

  findNext() {
    if (!this.wanted) return;
    const found = this.lanes.flatMap((lane) => lane.bars).filter((bar) => finds(this.wanted, bar));
    if (!found.length) {
      this.details.replaceChildren(make("p", {}, "nothing found"));
      return;
    }
    this.choose(found[(found.indexOf(this.chosen) + 1) % found.length]);
  }

  legend() {
    const entries = this.outlier.causes.slice(0, 24).map(([name, family, shade]) => make("span", {},
      draw("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
        draw("rect", { class: `bar ${family} shade-${shade}`, width: 10, height: 10 })), text(name)));
    return make("div", { class: "legend" }, ...stretchLegend(this.arrows), ...wakeLegend(this.wakes), ...entries, ...machineLegend(this));
  }

  // The keys that lead below a wait, where there is one.
  wayDown() {
    if (!this.bars.some((bar) => bar.wait)) return [];
    return [make("kbd", {}, "↓"), " ", make("kbd", {}, "↑"), " to go to what another thread did during a wait and back, "];
  }

  // The pixels that time has.
  width() { return Math.max(this.canvas.clientWidth - GUTTER, 50); }
  x(time) { return GUTTER + (time - this.from) / (this.to - this.from) * this.width(); }
  // Where a time lies in the view, in pixels.
  span(at, duration) {
    const left = Math.max(this.x(at), GUTTER);
    const right = Math.min(this.x(at + duration), GUTTER + this.width());
    return { left, width: Math.max(right - left, 0.8) };
  }
  timeAt(x) { return this.from + (x - GUTTER) / this.width() * (this.to - this.from); }

  show(from, to) {
    const least = Math.min(10, this.whole);
    const span = Math.min(Math.max(to - from, least), this.whole);
    this.from = Math.min(Math.max(from, 0), this.whole - span);
    this.to = this.from + span;
    this.draw();
  }

  zoom(factor, around) { this.show(around - (around - this.from) * factor, around + (this.to - around) * factor); }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  // Chooses a bar, shows what is known of it, and brings it into view.
  choose(bar) {
    this.chosen = bar;
    this.details.replaceChildren(...(bar ? describe(this, bar) : []));
    if (bar?.node !== undefined) this.flame()?.reveal(bar.node);
    if (bar && (bar.at + bar.duration < this.from || bar.at > this.to)) {
      const half = (this.to - this.from) / 2;
      this.show(bar.at + bar.duration / 2 - half, bar.at + bar.duration / 2 + half);
    }
    this.draw();
  }

  // The next or previous one of the same thread: of the interval's, or of what took place during the same wait.
  step(by) {
    const row = this.chosen?.wait?.below ?? (this.chosen?.family === undefined || this.chosen.family === "stage"
      ? this.chosen?.row : undefined) ?? this.own;
    if (!row.length) return;
    const at = row.indexOf(this.chosen);
    this.choose(row[Math.min(Math.max(at < 0 ? 0 : at + by, 0), row.length - 1)]);
  }

  // The bar of the next lane, or the previous one, at the chosen one's time.
  changeLane(by) {
    const lanes = this.lanes.filter((lane) => lane.bars.length);
    if (!lanes.length) return;
    const here = lanes.findIndex((lane) => lane.bars.includes(this.chosen));
    const time = this.chosen?.at ?? this.from;
    const lane = lanes[here < 0 ? 0 : Math.min(Math.max(here + by, 0), lanes.length - 1)];
    this.choose(lane.bars.find((bar) => bar.at + bar.duration > time) ?? lane.bars.at(-1));
  }

  // The first time it begins a measure at the chosen bar, the second time it ends there.
  measureByKey() {
    const bar = this.chosen;
    if (!bar) return;
    if (this.measureFrom === undefined) {
      this.measureFrom = bar.at;
      this.details.append(make("p", { class: "note" }, `measuring from ${exact(bar.at, this.outlier.ticks)}: choose another segment, then m`));
      return;
    }
    this.showMeasure(this.measureFrom, bar.at + bar.duration);
    this.measureFrom = undefined;
  }

  showMeasure(from, to) {
    const within = (time) => Math.min(Math.max(time, 0), this.whole);
    this.measure = [within(from), within(to)];
    this.details.replaceChildren(...measured(this));
    this.draw();
  }

  flame() {
    const place = this.canvas.closest("section")?.querySelector(".calls");
    return place ? ensure(place) : null;
  }

  // Chooses `bar`; says whether there is one.
  follow(bar) {
    if (bar) this.choose(bar);
    return Boolean(bar);
  }

  listen() {
    const keys = {
      "+": () => this.zoom(0.5, (this.from + this.to) / 2), "=": () => this.zoom(0.5, (this.from + this.to) / 2),
      "-": () => this.zoom(2, (this.from + this.to) / 2), "0": () => this.show(0, this.whole),
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), Home: () => this.show(0, this.to - this.from),
      End: () => this.show(this.whole - (this.to - this.from), this.whole), n: () => this.step(1), p: () => this.step(-1),
      Enter: () => this.chosen && this.show(this.chosen.at, this.chosen.at + this.chosen.duration),
      Escape: () => { this.measure = null; this.measureFrom = undefined; this.choose(null); },
      N: () => stepToTimeline(this.canvas, 1), P: () => stepToTimeline(this.canvas, -1), "?": () => goToKeys(this.canvas),
      l: () => this.changeLane(1), L: () => this.changeLane(-1), m: () => this.measureByKey(),
      f: () => this.chosen?.node !== undefined && this.flame()?.visit(this.chosen.node), ArrowDown: () => this.follow(this.chosen?.below?.[0]),
      ArrowUp: () => this.follow(this.chosen?.wait),
    };
    this.canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      // Where there is nothing below or above, the page scrolls.
      if (keys[event.key]() !== false) event.preventDefault();
    });
    // The page scrolls until one has clicked here: a wheel that is caught on its way down a page only annoys.
    this.canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== this.canvas && !event.ctrlKey) return;
      event.preventDefault();
      const x = event.clientX - this.canvas.getBoundingClientRect().left;
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(Math.sign(event.deltaX) * 0.1);
      else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(x));
    }, { passive: false });
    this.listenToDrags();
  }

  listenToDrags() {
    let drag = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const x = event.clientX - this.canvas.getBoundingClientRect().left;
      drag = { x: event.clientX, from: this.from, to: this.to, moved: false, measure: event.shiftKey ? this.timeAt(x) : null };
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!drag || (!drag.moved && Math.abs(event.clientX - drag.x) < 4)) return;
      // Captured only now: a captured pointer's click would no longer belong to the bar beneath it.
      if (!drag.moved) this.canvas.setPointerCapture(event.pointerId);
      drag.moved = true;
      if (drag.measure !== null) {
        this.showMeasure(drag.measure, this.timeAt(event.clientX - this.canvas.getBoundingClientRect().left));
        return;
      }
      this.canvas.classList.add("dragging");
      const by = (drag.x - event.clientX) / this.width() * (drag.to - drag.from);
      this.show(drag.from + by, drag.to + by);
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const clicked = drag && !drag.moved && event.target.bar;
      this.canvas.classList.remove("dragging");
      drag = null;
      if (clicked) this.choose(clicked);
    });
    this.canvas.addEventListener("pointercancel", () => { drag = null; this.canvas.classList.remove("dragging"); });
    this.canvas.addEventListener("dblclick", (event) => {
      const bar = event.target.bar;
      if (bar) this.show(bar.at - bar.duration * 0.1, bar.at + bar.duration * 1.1);
    });
  }

  redraw() {
    const parts = [hatchPattern(), ...this.axis()];
    let y = 20;
    for (const lane of this.lanes) {
      const height = lane.tight ? 15 : LANE;
      if (lane.parts) y += ARROWS;
      lane.y = y;
      parts.push(draw("text", { class: "dim", x: 0, y: y + height - 6 }, fitting(lane.title, GUTTER)));
      if (!lane.tight) parts.push(draw("rect", { class: "lane", x: GUTTER, y, width: this.width(), height: height - 2 }));
      for (const bar of this.visible(lane.bars)) parts.push(...this.bar(bar, y, height - 2));
      y += height;
      lane.bottom = y - 2;
      if (lane.parts?.length) {
        parts.push(...drawParts(this, lane, y));
        y += PART;
        lane.bottom = y - 3;
      }
      y += lane.tight ? 0 : 2;
    }
    for (const arrow of this.arrows) parts.push(...drawArrow(this, arrow));
    parts.push(...drawWakes(this), ...drawMeasure(this, y));
    this.canvas.replaceChildren(picture(GUTTER + this.width(), y, parts));
    const { ticks } = this.outlier;
    const edge = digits([this.from, this.to], ticks);
    this.range.textContent = this.to - this.from >= this.whole ? `all of ${length(this.whole, ticks)}`
      : `${edge(this.from)} to ${edge(this.to)} of ${length(this.whole, ticks)}`;
  }

  // The bars of a lane within the view; of those that share a pixel the longest.
  visible(bars) {
    const shown = [];
    let pixel = -1;
    for (const bar of bars) {
      const end = bar.at + bar.duration;
      if (end < this.from || bar.at > this.to) continue;
      const x = Math.floor(this.x(bar.at));
      const tiny = this.x(end) - this.x(bar.at) < 1;
      if (tiny && x === pixel && shown.length) {
        if (bar.duration > shown.at(-1).duration) shown[shown.length - 1] = bar;
      } else {
        shown.push(bar);
      }
      pixel = tiny ? x : -1;
    }
    return shown;
  }

  bar(bar, y, height) {
    const { left, width } = this.span(bar.at, bar.duration);
    const kind = bar.code ? `code ${bar.code}` : bar.run ? `run ${bar.run}` : `bar ${bar.family} shade-${bar.shade ?? 0}`;
    const found = this.wanted ? finds(this.wanted, bar) ? " found" : " faded" : "";
    const chosen = (bar === this.chosen ? " chosen" : "") + found;
    const place = { x: left, y, width: Math.max(width - (width > 3 ? 0.6 : 0), 0.8), height };
    const rect = draw("rect", { class: kind + chosen, ...place });
    rect.bar = bar;
    const parts = [rect];
    if (bar.family === "unknown") parts.push(draw("rect", { class: "hatch", ...place }));
    const label = fitting(bar.count > 1 ? `${bar.count} short ones, longest ${bar.cause}` : bar.cause, width);
    const ink = bar.code || bar.run || bar.family === "stage" ? "plain" : barText(bar.family);
    if (label) parts.push(draw("text", { class: ink, x: left + 4, y: y + height - (height < 15 ? 3 : 5) }, label));
    return parts;
  }

  axis() {
    const step = roundStep((this.to - this.from) / Math.max(this.width() / 110, 1));
    const parts = [];
    const marks = [];
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) marks.push(at);
    const words = this.axisWords(marks);
    for (const at of marks) {
      const x = this.x(at);
      parts.push(draw("line", { x1: x, x2: x, y1: 14, y2: 2000 }));
      const room = GUTTER + this.width() - x;
      const label = words(at);
      if (room > label.length * 6 + 6) parts.push(draw("text", { class: "dim", x: x + 3, y: 11 }, label));
    }
    return parts;
  }

  // Of the whole, times from the begin. Zoomed in so far that these would differ in their last digits alone, the first mark's time to
  // the nanosecond and offsets from it.
  axisWords(marks) {
    const { ticks } = this.outlier;
    const [first] = marks;
    if (first === undefined || this.to - this.from > first / 8) return digits(marks, ticks);
    return (at) => at === first ? exact(Math.round(at), ticks) : `+${length(Math.round(at - first), ticks, 3)}`;
  }
}

// 1, 2 or 5 times a power of ten, not below `least`.
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least) ?? 10 * power;
}

// Unexplained time is striped, so that it is not taken for a cause.
function hatchPattern() {
  return draw("defs", {}, draw("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" }, draw("line", { class: "hatch-line", x1: 0, y1: 0, x2: 0, y2: 6 })));
}
