// The machine around the interval: a lane per CPU with the threads that were on it, and arrows from wake-ups to the runs after them.

// CPUs that are drawn at first where there are more: those that the interval's threads were on.
const MOST_CPUS = 8;
// More wake-ups in view than these would hide the lanes.
const MOST_WAKES = 40;

// The lanes of all CPUs: runs are bars without a cause.
function machineLanes(outlier, bars) {
  const own = new Set(bars.filter((bar) => bar.level === 0).map((bar) => bar.tid));
  const acts = new Set(bars.map((bar) => bar.tid));
  const kind = (tid) => tid === 0 ? "idle" : own.has(tid) ? "own" : acts.has(tid) ? "acts" : "other";
  const lanes = outlier.machine.cpus.map(([cpu, runs]) => {
    const lane = { title: `CPU ${cpu}`, cpu, bars: [] };
    lane.bars = runs.map(([at, duration, tid, name]) => (
      { at, duration, tid, cpu, cause: text(name), run: kind(tid), row: lane.bars, lane }));
    lane.bars.forEach((bar) => { bar.row = lane.bars; });
    lane.matters = lane.bars.some((bar) => own.has(bar.tid) || acts.has(bar.tid));
    return lane;
  });
  return lanes.length > MOST_CPUS ? lanes.filter((lane) => lane.matters) : lanes;
}

// Wake-ups with the lane of the waker's CPU and the run that they led to, where both are drawn.
function wakesOf(outlier, lanes) {
  const cpus = new Map(lanes.filter((lane) => lane.cpu !== undefined).map((lane) => [lane.cpu, lane]));
  const runs = new Map();
  for (const bar of [...cpus.values()].flatMap((lane) => lane.bars).sort((a, b) => a.at - b.at)) {
    if (!runs.has(bar.tid)) runs.set(bar.tid, []);
    runs.get(bar.tid).push(bar);
  }
  const wakes = [];
  for (const [at, cpu, waker, target] of outlier.machine.wakes) {
    const lane = cpus.get(cpu);
    const run = runs.get(target)?.find((run) => run.at >= at);
    if (!lane || !run) continue;
    const by = lane.bars.find((bar) => bar.at <= at && at < bar.at + bar.duration)?.cause ?? `tid ${waker}`;
    wakes.push({ at, lane, run, matters: run.run === "own" || run.run === "acts",
      hint: `${by} woke ${run.cause}, which ran ${length(run.at - at, outlier.ticks)} later` });
  }
  return wakes;
}

function drawWakes(timeline) {
  const inView = timeline.wakes.filter((wake) => wake.run.at >= timeline.from && wake.at <= timeline.to);
  const shown = inView.length > MOST_WAKES ? inView.filter((wake) => wake.matters) : inView;
  return shown.slice(0, MOST_WAKES).map((wake) => {
    const clip = (time) => Math.min(Math.max(timeline.x(time), GUTTER), GUTTER + timeline.width());
    const [x0, x1] = [clip(wake.at), clip(wake.run.at)];
    const [from, to] = [wake.lane, wake.run.lane];
    const down = to.y >= from.y;
    const [y0, y1] = from === to ? [from.y + 4, to.y + 4] : down ? [from.bottom - 3, to.y + 2] : [from.y + 3, to.bottom - 2];
    const tip = from === to ? `M${x1 - 5} ${y1 - 3}v6l5 -3z` : `M${x1 - 3.5} ${y1 + (down ? -5 : 5)}h7L${x1} ${y1}z`;
    const d = `M${x0} ${y0}L${x1} ${y1}`;
    const paths = [draw("path", { class: "halo", d }), draw("path", { class: "shaft", d }), draw("path", { class: "head", d: tip }),
      draw("circle", { class: "head", cx: x0, cy: y0, r: 2 })];
    paths.forEach((path) => { path.bar = wake.run; path.hint = wake.hint; });
    return draw("g", { class: "arrow wake" }, ...paths);
  });
}

function wakeLegend(wakes) {
  return wakes.length ? [make("span", {}, arrowPicture("wake"), "wake-up")] : [];
}

function machineLegend(timeline) {
  if (!timeline.lanes.some((lane) => lane.cpu !== undefined)) return [];
  const entry = (kind, words) => make("span", {}, draw("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
    draw("rect", { class: `run ${kind}`, width: 10, height: 10 })), words);
  const kinds = new Set(timeline.lanes.flatMap((lane) => lane.cpu === undefined ? [] : lane.bars.map((bar) => bar.run)));
  const words = { own: "CPU: this interval's thread", acts: "CPU: a thread that it waited for", other: "CPU: another thread", idle: "CPU: idle" };
  const { left } = timeline.outlier.machine;
  return [...Object.keys(words).filter((kind) => kinds.has(kind)).map((kind) => entry(kind, words[kind])),
    ...(left ? [make("span", {}, `${left} short stays on a CPU and wake-ups are not drawn`)] : [])];
}
