// Looking closer at a time line: a tooltip, a measured range, a search.

// The words beside the pointer, for whoever has one; the panel below the canvas says the same by keyboard.
function offerTooltip(canvas, hintOf) {
  const tip = make("div", { class: "tip", "aria-hidden": "true" });
  tip.hidden = true;
  canvas.parentElement.append(tip);
  const hide = () => { tip.hidden = true; };
  canvas.addEventListener("pointermove", (event) => {
    const words = event.buttons ? null : hintOf(event.target);
    tip.hidden = !words;
    if (!words) return;
    tip.textContent = words;
    const box = canvas.parentElement.getBoundingClientRect();
    const x = Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 4);
    tip.style.left = `${Math.max(x, 4)}px`;
    tip.style.top = `${event.clientY - box.top + 16}px`;
  });
  canvas.addEventListener("pointerleave", hide);
  canvas.addEventListener("pointerdown", hide);
}

// What a bar of the time line is, in a line.
function hintOf(timeline, target) {
  const { bar, hint } = target;
  if (hint) return hint;
  // Arrows and parts have a title of their own.
  if (!bar || target.parentElement.querySelector(":scope > title") || target.querySelector("title")) return null;
  const { ticks } = timeline.outlier;
  const where = bar.run ? `on CPU ${bar.cpu}` : bar.detail ?? "";
  const words = `${bar.cause}, ${length(bar.duration, ticks)}, from ${exact(bar.at, ticks)}${where ? `; ${where}` : ""}`;
  return words.length > 240 ? `${words.slice(0, 239)}…` : words;
}

// A time to the nanosecond.
function exact(time, ticks) {
  return length(time, ticks, 9);
}

// A measured range in words: how long, and of what it consists.
function measured(timeline) {
  const [from, to] = [...timeline.measure].sort((a, b) => a - b);
  const { ticks } = timeline.outlier;
  const sums = new Map();
  for (const bar of timeline.own) {
    const part = Math.min(bar.at + bar.duration, to) - Math.max(bar.at, from);
    if (part > 0) sums.set(bar.cause, (sums.get(bar.cause) ?? 0) + part);
  }
  const parts = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([cause, time]) => `${cause} ${length(time, ticks)}`);
  return [make("p", {}, make("b", {}, "measured"), ` ${length(to - from, ticks, 2)}, from ${exact(Math.round(from), ticks)} to ` +
    exact(Math.round(to), ticks)), make("p", { class: "note" }, parts.join(" · "))];
}

function drawMeasure(timeline, height) {
  if (!timeline.measure) return [];
  const [from, to] = [...timeline.measure].sort((a, b) => a - b);
  if (to < timeline.from || from > timeline.to) return [];
  const { left, width } = timeline.span(from, to - from);
  return [draw("rect", { class: "measure", x: left, y: 14, width, height: Math.max(height - 14, 0) })];
}

// Whether a search finds a bar.
function finds(wanted, bar) {
  return `${bar.cause} ${bar.detail ?? ""} ${bar.whom ?? ""}`.toLowerCase().includes(wanted);
}
