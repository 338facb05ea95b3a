// What is known of one segment in words, and the table of all of them.

const MOST_ROWS = 1000;

// The lines of the panel below the time line.
function describe(timeline, bar) {
  const { outlier } = timeline;
  const { ticks } = outlier;
  const when = `from ${exact(bar.at, ticks)}`;
  const head = make("p", {}, make("b", {}, bar.cause), ` ${length(bar.duration, ticks)}, ${when}`);
  if (bar.code) {
    const show = button("Show in the flame graph", "Go to this function there", () => timeline.flame()?.visit(bar.node));
    return [head, make("p", { class: "note" }, `function, ${bar.code} code `, show)];
  }
  if (bar.run) {
    const woken = timeline.wakes.filter((wake) => wake.run === bar).map((wake) => make("p", {}, wake.hint));
    return [head, make("p", { class: "note" }, `on CPU ${bar.cpu}, by the scheduler's records`), ...woken];
  }
  if (bar.family === "stage") return [head, make("p", { class: "note" }, "stage that the program marked")];
  const place = [bar.certainty, bar.cpu === null ? "on no CPU" : `CPU ${bar.cpu}`, threadName(outlier, bar.tid)];
  if (bar.wait) place.push("while the interval waited; not part of its sum");
  if (bar.edge > 0) place.push(`edges within ${length(bar.edge, ticks)}`);
  if (bar.count > 1) place.unshift(`${bar.count} short segments, named by their longest`);
  const number = outlier.number + 1;
  const link = make("a", { href: `#segment-${number}-${timeline.bars.indexOf(bar)}` }, "link to this segment");
  const lines = [head, make("p", { class: "note" }, `${place.join(" · ")} · `, link)];
  if (bar.part !== null) {
    const [name, words] = payload.parts[bar.part];
    const takes = bar.takes ? "; the request is read here" : "";
    lines.push(make("p", {}, make("b", {}, name), `: ${words}${bar.whom ? `, ${bar.whom}` : ""}${takes}`));
  }
  const arrows = timeline.arrows.filter((arrow) => arrow.wait === bar);
  if (arrows.length) lines.push(make("p", {}, arrows.map((arrow) => arrow.title).join("; ")));
  if (bar.below.length) {
    const name = stretchName(outlier, bar.below.at(-1).tid);
    lines.push(make("p", { class: "note" }, make("kbd", {}, "↓"), ` what ${name} did during this time`));
  }
  if (bar.detail) lines.push(make("p", {}, bar.detail));
  if (bar.evidence.length) lines.push(make("ul", {}, ...bar.evidence.map((words) => make("li", {}, words))));
  return lines;
}

// Below the server's table of the longest: a button that puts all in their place.
function offerAllSegments(table, timeline) {
  const { outlier, own } = timeline;
  if (own.length <= table.tBodies[0].rows.length) return;
  const rest = own.length > MOST_ROWS ? `first ${MOST_ROWS} of ${own.length}` : `all ${own.length}`;
  const more = button(`Show ${rest} segments`, "In order of time", () => {
    const shown = own.slice(0, MOST_ROWS);
    const at = digits(shown.map((bar) => bar.at), outlier.ticks);
    table.tBodies[0].replaceChildren(...shown.map((bar) => segmentRow(outlier, bar, at)));
    more.remove();
  });
  table.parentElement.after(make("p", {}, more));
}

function segmentRow(outlier, bar, at) {
  const number = (value, strong = "") => make("td", { class: `number${strong}` }, value);
  const detail = bar.count > 1 ? `${bar.count} short segments; ${bar.detail}` : bar.detail;
  return make("tr", {}, number(at(bar.at)), number(length(bar.duration, outlier.ticks), " strong"),
    number(bar.cpu === null ? "-" : String(bar.cpu)), make("td", {}, bar.certainty),
    make("th", { scope: "row" }, bar.cause), make("td", {}, detail), make("td", {}, bar.evidence[0] ?? ""));
}
