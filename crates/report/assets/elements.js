// Building elements, reading the payload, and words for lengths. Text reaches the page only as text: nothing here or
// below writes markup, and the page's Trusted Types policy refuses it.

const payload = JSON.parse(document.getElementById("payload").textContent);
const text = (index) => payload.texts[index];
const CERTAINTIES = ["unknown", "inferred", "decoded", "measured"];
const SVG = "http://www.w3.org/2000/svg";

// An element with attributes and children; a child that is a string becomes text.
function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

function button(label, title, click) {
  return make("button", { type: "button", title, click }, label);
}

// The rows of SCALES in crates/report/src/units.rs: rounding first, so 999960 ns is 1.00 ms.
const SCALES = [["ns", 1, 0, 1000], ["us", 1e3, 2, 10], ["us", 1e3, 1, 1000], ["ms", 1e6, 2, 10], ["ms", 1e6, 1, 1000],
  ["s", 1e9, 2, 10], ["s", 1e9, 1, Infinity]];

// With so many decimals `more` than usual, to the nanosecond at most.
function length(value, ticks, more = 0) {
  if (ticks) return `${Math.round(value)} ticks`;
  for (const [unit, size, usual, below] of SCALES) {
    const decimals = Math.min(usual + more, Math.log10(size));
    const power = 10 ** decimals;
    const rounded = Math.floor((value * power + size / 2) / size) / power;
    if (rounded < below) return `${rounded.toFixed(decimals)} ${unit}`;
  }
  return `${value} ns`;
}

// Words for times that stand beside one another: as many digits as distinguish those that differ. As Digits in units.rs.
function digits(times, ticks) {
  const sorted = [...new Set(times.map(Math.round))].sort((a, b) => a - b);
  const shown = (more) => sorted.map((time) => length(time, ticks, more));
  let more = 0;
  while (more < 9 && shown(more).some((words, at, all) => at > 0 && words === all[at - 1])) more++;
  return (time) => length(Math.round(time), ticks, more);
}

function signed(value, ticks) {
  return (value > 0 ? "+" : value < 0 ? "-" : "") + length(Math.abs(value), ticks);
}

// Bars on which dark letters would be hard to read, in either theme.
const DARK_BARS = new Set(["extra", "spin", "queued", "kernel", "power"]);

function barText(family) {
  if (family === "gap" || family === "expected" || family === "unknown") return "plain";
  return DARK_BARS.has(family) ? "on-dark" : "on-light";
}

// A picture of so many pixels, which shrinks where the page is narrower than when it was drawn: on paper.
function picture(width, height, parts) {
  return draw("svg", { height, viewBox: `0 0 ${width} ${Math.max(height, 1)}`, preserveAspectRatio: "xMinYMin meet", "aria-hidden": "true" },
    ...parts);
}

// As much of `label` as fits `width` pixels, at about 6.2 pixels a letter; nothing below three letters.
function fitting(label, width) {
  const letters = Math.floor((width - 8) / 6.2);
  if (letters < 3) return "";
  return label.length <= letters ? label : `${label.slice(0, letters - 1)}…`;
}

// Redraws at most once per frame.
function eachFrame(redraw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; redraw(); });
  };
}
