// Fills the empty places of the page when they come near the screen, and lets the reader choose the theme.

const built = new Map();

// Fills a place that is still empty; returns what draws there.
function ensure(place) {
  if (!built.has(place)) built.set(place, build(place));
  return built.get(place);
}

function build(place) {
  const number = Number(place.dataset.outlier);
  const outlier = payload.outliers[number];
  if (!outlier) return null;
  outlier.number = number;
  if (place.classList.contains("timeline")) {
    const timeline = new Timeline(place, outlier);
    const table = place.parentElement.querySelector("table.segments");
    if (table) offerAllSegments(table, timeline);
    return timeline;
  } else if (place.classList.contains("listing")) {
    new Listing(place, outlier);
  } else if (outlier.calls.name.length) {
    const flame = new Flame(place, outlier);
    new CallTable(place, outlier, flame.tree);
    return flame;
  }
  return null;
}

function offerThemes() {
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches
    ? "dark" : "light")) === "dark";
  const toggle = button("", "Light or dark", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    name();
  });
  const name = () => { toggle.textContent = dark() ? "Light theme" : "Dark theme"; };
  name();
  document.querySelector(".brand").append(linkToKeys(), toggle);
}

// A place that prints must be there, seen or not.
function start() {
  offerKeys();
  offerThemes();
  offerStories();
  offerBins();
  offerPercentiles();
  offerSections();
  const places = [...document.querySelectorAll(".timeline, .calls, .listing")];
  const watch = new IntersectionObserver((entries) => {
    for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
      watch.unobserve(target);
      ensure(target);
      places.splice(places.indexOf(target), 1);
    }
  }, { rootMargin: "400px" });
  places.forEach((place) => watch.observe(place));
  addEventListener("beforeprint", () => {
    places.splice(0).forEach((place) => { watch.unobserve(place); ensure(place); });
  });
  followLink();
}

start();
