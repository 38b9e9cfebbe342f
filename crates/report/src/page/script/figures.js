// Figures answer where they are pointed at or stepped through: the nearest mark shows its numbers.
function figure(element) {
  const data = JSON.parse(one("script.data", element).textContent);
  const plot = one(".plot", element);
  const tip = make("div", { class: "tip", hidden: "" });
  plot.append(tip);
  let current = -1;

  const drawn = () => all("svg", plot).find((svg) => svg.getClientRects().length > 0);
  const places = (svg) => (svg.classList.contains("wide") ? data.wide : data.narrow);
  const words = (mark) => data.fields
    .map((field, i) => (mark[i] === "" ? "" : field.name + " " + (field.numeric ? readable(mark[i]) : mark[i])))
    .filter((line) => line !== "");

  function show(index, aloud) {
    const svg = drawn();
    if (!svg || index < 0 || index >= data.marks.length) return hide();
    current = index;
    const at = places(svg);
    const [x, y] = [at[2 * index], at[2 * index + 1]];
    if (x === undefined) return hide(); // a narrow drawing may have no room for all
    all(".halo", svg).forEach((halo) => halo.remove());
    svg.append(draw("circle", { class: "halo", cx: x, cy: y, r: 7 }));
    const lines = words(data.marks[index]);
    tip.textContent = lines.join("\n");
    tip.hidden = false;
    const [box, frame] = [svg.getBoundingClientRect(), plot.getBoundingClientRect()];
    const scale = box.width / svg.viewBox.baseVal.width;
    const [left, top] = [box.left - frame.left + x * scale, box.top - frame.top + y * scale];
    const room = frame.width - tip.offsetWidth;
    tip.style.left = Math.max(0, Math.min(room, left + (left > frame.width / 2 ? -tip.offsetWidth - 12 : 12))) + "px";
    tip.style.top = Math.max(-8, top - tip.offsetHeight - 10) + "px";
    if (aloud) say(lines.join(", "));
  }

  function hide() {
    current = -1;
    tip.hidden = true;
    all(".halo", plot).forEach((halo) => halo.remove());
  }

  function nearest(event) {
    const svg = drawn();
    if (!svg) return -1;
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const [px, py] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const at = places(svg);
    let [best, least] = [-1, 60 * 60];
    for (let i = 0; i < at.length / 2; i++) {
      const distance = (at[2 * i] - px) ** 2 + (at[2 * i + 1] - py) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  const point = (event) => {
    const index = nearest(event);
    if (index !== current) show(index, false);
  };
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("focus", () => { if (plot.matches(":focus-visible")) show(Math.max(0, current), true); });
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const last = places(drawn()).length / 2 - 1;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) show(Math.min(last, Math.max(0, current + step)), true);
    else if (event.key === "Home") show(0, true);
    else if (event.key === "End") show(last, true);
    else if (event.key === "Escape") hide();
    else return;
    event.preventDefault();
  });

  // A map is saved as its viewer shows it: the drawing behind the viewer is of one head.
  const saved = () => drawn() ?? element.inView?.() ?? one("svg", plot);
  const named = () => [data.fields.map((field) => field.name), ...data.marks];
  // The viewer of a map has tools of its own.
  one(":scope > .tools", element).addEventListener("click", (event) => {
    const action = event.target.dataset.do;
    if (action === "svg") save(new Blob([file(saved())], { type: "image/svg+xml" }), element.id + ".svg");
    if (action === "png") picture(saved(), element.id + ".png");
    if (action === "csv") copy(csv(named()), "numbers");
    if (action === "numbers") numbers(event.target, element, data);
  });
}

// The numbers behind a figure as a table, made when it is first asked for.
function numbers(button, element, data) {
  let table = one(".numbers", element);
  if (!table) {
    table = make("div", { class: "numbers scroll", tabindex: "0", role: "region" });
    table.setAttribute("aria-label", "Numbers of this figure");
    const [head, body] = [make("tr"), make("tbody")];
    data.fields.forEach((field) => {
      const cell = make("th", { scope: "col", class: field.numeric ? "n" : "" });
      cell.append(make("button", { type: "button" }, field.name));
      head.append(cell);
    });
    for (const mark of data.marks) {
      const row = make("tr");
      mark.forEach((value, i) => {
        const numeric = data.fields[i].numeric;
        const cell = make("td", { class: numeric ? "n" : "" }, numeric ? readable(value) : value);
        if (numeric) cell.dataset.value = value;
        row.append(cell);
      });
      body.append(row);
    }
    const inner = make("table");
    const top = make("thead");
    top.append(head);
    inner.append(top, body);
    table.append(inner);
    table.hidden = true;
    element.append(table);
    sortable(inner, element.id + "-numbers");
  }
  table.hidden = !table.hidden;
  button.setAttribute("aria-expanded", String(!table.hidden));
}
