// What another thread did during a wait: a lane of its own below the waiting one, the parts of the wait below its bars,
// an arrow to where it read the request, and one back from its answer.

const PART = 14;
const ARROWS = 16;
const HEAD = 5;
// A wait of fewer pixels has no arrows: they would hide it.
const NARROWEST_WAIT = 8;

// Adjacent bars of one part of one wait as one; where the part is not known there is none.
function partsOf(bars) {
  const parts = [];
  for (const bar of bars.filter((bar) => bar.part !== null)) {
    const last = parts.at(-1);
    const goesOn = last && last.part === bar.part && last.first.wait === bar.wait && last.at + last.duration === bar.at;
    if (goesOn) last.duration += bar.duration;
    else parts.push({ at: bar.at, duration: bar.duration, part: bar.part, first: bar });
  }
  return parts;
}

// The arrows of all waits: from where the wait begins to where the request was read, and from the last that the other
// thread did to the end of the wait. One that reads no request was not asked: a lock's holder, a timer.
function arrowsOf(outlier, bars) {
  const arrows = [];
  for (const wait of bars.filter((bar) => bar.below.length)) {
    const taken = wait.below.find((bar) => bar.takes);
    const last = wait.below.at(-1);
    const name = stretchName(outlier, last.tid);
    if (taken) {
      const title = `request, read by ${name} ${length(taken.at - wait.at, outlier.ticks)} after the wait began`;
      arrows.push({ kind: "request", wait, bar: taken, from: wait.at, to: taken.at, title });
    }
    const end = wait.at + wait.duration;
    const title = `${taken ? `answer of ${name}` : `woken by ${name}`} after ${length(wait.duration, outlier.ticks)}`;
    arrows.push({ kind: "answer", wait, bar: last, from: end, to: end, title });
  }
  return arrows;
}

// Whose time a lane below a wait is; time without a thread is an interrupt's.
function stretchName(outlier, tid) {
  return tid === null ? "an interrupt" : threadName(outlier, tid);
}

function arrowPicture(kind) {
  return draw("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
    draw("g", { class: `arrow ${kind}` }, draw("path", { class: "shaft", d: "M5 0V6" }), draw("path", { class: "head", d: "M1 5h8l-4 5z" })));
}

function stretchLegend(arrows) {
  if (!arrows.length) return [];
  const picture = arrowPicture("answer");
  const asked = arrows.some((arrow) => arrow.kind === "request");
  return [make("span", {}, picture, asked ? "request, and answer that ended the wait" : "what ended the wait")];
}

// The parts of a lane's waits, below its bars.
function drawParts(timeline, lane, y) {
  const drawn = [];
  for (const part of timeline.visible(lane.parts)) {
    const { left, width } = timeline.span(part.at, part.duration);
    const [name, words] = payload.parts[part.part];
    const title = `${name}: ${words}, ${length(part.duration, timeline.outlier.ticks)}`;
    const rect = draw("rect", { class: "part", x: left, y, width: Math.max(width - 1, 0.8), height: PART - 3 }, draw("title", {}, title));
    rect.bar = part.first;
    drawn.push(rect);
    // In full or not at all: the names are short.
    if (fitting(name, width) === name) drawn.push(draw("text", { class: "dim part-name", x: left + 4, y: y + PART - 5 }, name));
  }
  return drawn;
}

// An arrow with one bend in the room above the lower lane; what lies beside the view is left out.
function drawArrow(timeline, arrow) {
  const { wait, bar, kind } = arrow;
  const whole = timeline.x(wait.at + wait.duration) - timeline.x(wait.at);
  const inView = (time) => time >= timeline.from && time <= timeline.to;
  if (whole < NARROWEST_WAIT || !wait.lane || !bar.lane || !(inView(arrow.from) || inView(arrow.to))) return [];
  const clip = (time) => Math.min(Math.max(timeline.x(time), GUTTER), GUTTER + timeline.width());
  const [x0, x1] = [clip(arrow.from), clip(arrow.to)];
  const [top, bottom] = [wait.lane.bottom, bar.lane.y];
  const bend = bottom - ARROWS / 2;
  const down = inView(arrow.from) ? `M${x0} ${top}V${bend}` : `M${x0} ${bend}`;
  const shaft = `${down}H${x1}${inView(arrow.to) ? `V${bottom}` : ""}`;
  const tip = kind === "request" ? [x1, bottom, -HEAD] : [x0, top, HEAD];
  const head = `M${tip[0] - 4} ${tip[1] + tip[2]}h8L${tip[0]} ${tip[1]}z`;
  const paths = [draw("path", { class: "halo", d: shaft }), draw("path", { class: "shaft", d: shaft })];
  if (inView(kind === "request" ? arrow.to : arrow.from)) paths.push(draw("path", { class: "head", d: head }));
  paths.forEach((path) => { path.bar = bar; });
  return [draw("g", { class: `arrow ${kind}` }, draw("title", {}, arrow.title), ...paths)];
}
