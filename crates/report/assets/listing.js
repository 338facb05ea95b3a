// The hottest code: source lines with the instructions made of them, and what each block cost beside the typical one.
// A table is made when its range is first opened.

class Listing {
  constructor(place, outlier) {
    this.ticks = outlier.ticks;
    place.append(...outlier.code.map((range) => this.range(range)));
  }

  range(range) {
    const name = text(range.name);
    const first = text(range.blocks[0]?.[6][0]?.[0] ?? -1);
    const place = make("details", {}, make("summary", {}, `Disassembly and source of ${name}`,
      make("span", { class: "note" }, first ? ` from 0x${first}` : "")));
    place.addEventListener("toggle", () => {
      if (!place.open || place.children.length > 1) return;
      place.append(this.table(range, name));
      if (range.left) place.append(make("p", { class: "note" }, `${range.left} colder instructions are left out`));
    });
    return place;
  }

  table(range, name) {
    const head = ["time", "typical", "cycles", "typical", "runs", "typical", "address", "instruction"];
    const heads = head.map((name, at) => make("th", at < 6 ? { class: "number" } : {}, name));
    const body = make("tbody");
    let line = "";
    for (const [own, typical, cycles, typicalCycles, runs, typicalRuns, instructions] of range.blocks) {
      instructions.forEach(([address, words, place], at) => {
        const here = place ? `${text(place[0])}:${place[1]}` : "";
        if (here && here !== line) body.append(this.source(place));
        line = here || line;
        const figures = at ? make("td", { colspan: "6" }) : [[own, typical], [cycles, typicalCycles], [runs, typicalRuns]]
          .flatMap(([mine, theirs], kind) => this.pair(mine, theirs, kind));
        body.append(make("tr", at ? {} : { class: "leader" }, ...[figures].flat(), make("td", { class: "mono" },
          text(address)), make("th", { scope: "row", class: "mono" }, text(words))));
      });
    }
    const table = make("table", { class: "asm" }, make("thead", {}, make("tr", {}, ...heads)), body);
    return make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": `Disassembly of ${name}` }, table);
  }

  // Ours and the typical figure; ours stands out where it is more than a tenth above.
  pair(own, typical, kind) {
    const show = (value) => value === null ? "-" : kind ? String(value) : length(value, this.ticks);
    const plus = own > typical * 1.1 ? " plus" : "";
    return [make("td", { class: `number${plus}` }, show(own)), make("td", { class: "number" }, show(typical))];
  }

  source([file, number, words]) {
    const place = `${text(file).split("/").pop()}:${number}`;
    return make("tr", { class: "source" }, make("th", { colspan: "8", scope: "rowgroup", title: text(file) },
      make("b", {}, place), words === null ? "" : make("code", {}, text(words))));
  }
}
