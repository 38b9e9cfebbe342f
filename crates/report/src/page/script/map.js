// The zoomable map: cells on a canvas. Wheel, buttons or + and − zoom, dragging moves, arrows walk from cell to cell.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const plain = new DataView(await new Response(stream).arrayBuffer());
  return Uint16Array.from({ length: plain.byteLength / 2 }, (_, i) => plain.getUint16(2 * i, true));
}

// Weights are packed as places on a logarithmic scale from low to high; 0 is none, and LOST are rows that are NaN.
const LOST = 65535;
const weight = (packed, scale) => (packed === 0 ? 0 : scale.low * (scale.high / scale.low) ** ((packed - 1) / 65533));

async function viewer(element) {
  const data = JSON.parse(one("script.maps", element).textContent);
  const palette = data.palette.match(/.{6}/g).map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  const canvas = one("canvas", element);
  const [where, choose] = [one(".where", element), one("select", element)];
  const pixels = canvas.getContext("2d");
  const cache = new Map();
  let [map, kind, view, cursor, image] = [null, state.get("map") === "max" ? "max" : "mean", null, null, null];

  const meaning = () => (kind === "mean" ? "mean weight" : "largest weight") + " of a cell (logarithmic)";
  const whole = () => ({ x: 0, y: 0, w: map.cols, h: map.rows });

  async function load(head) {
    const index = Math.max(0, data.maps.findIndex((entry) => entry.head === head));
    if (!cache.has(index)) {
      const entry = data.maps[index];
      const [mean, max] = await Promise.all([unpack(entry.mean), unpack(entry.max)]);
      cache.set(index, { ...entry, mean, max });
    }
    map = cache.get(index);
    choose.value = map.head;
    cursor = null;
    view = whole();
    paintCells();
    all(".head").forEach((group) => group.classList.toggle("chosen", group.dataset.head === map.head));
  }

  // The cells once, at one pixel each; the view then shows a part of it.
  function paintCells() {
    const cells = new ImageData(map.cols, map.rows);
    const packed = map[kind];
    for (let i = 0; i < packed.length; i++) {
      if (packed[i] === 0 || packed[i] === LOST) continue;
      const [r, g, b] = palette[Math.min(255, packed[i] >> 8)];
      cells.data.set([r, g, b, 255], 4 * i);
    }
    image = make("canvas", { width: map.cols, height: map.rows });
    image.getContext("2d").putImageData(cells, 0, 0);
    const scale = map[kind + "Scale"];
    one(".ends", element).replaceChildren(make("span", {}, readable(scale.low, 3)), make("span", {}, readable(scale.high, 3)));
    one(".meaning", element).textContent = meaning();
    paint();
  }

  function paint() {
    const width = canvas.clientWidth || 640;
    const height = Math.max(80, Math.min(width, (width * map.queries) / map.keys));
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    pixels.imageSmoothingEnabled = false;
    pixels.drawImage(image, view.x, view.y, view.w, view.h, 0, 0, canvas.width, canvas.height);
    if (cursor) {
      pixels.strokeStyle = getComputedStyle(element).getPropertyValue("--serious");
      pixels.lineWidth = 2 * ratio;
      const [cw, ch] = [canvas.width / view.w, canvas.height / view.h];
      pixels.strokeRect((cursor.x - view.x) * cw, (cursor.y - view.y) * ch, cw, ch);
    }
    tell();
  }

  const span = (cell, by, count) => {
    const [from, to] = [Math.floor(cell * by), Math.min(count, Math.ceil((cell + 1) * by)) - 1];
    return to > from ? from + " to " + to : String(from);
  };

  function words(at) {
    const [perQuery, perKey] = [map.queries / map.rows, map.keys / map.cols];
    if (at) {
      const i = at.y * map.cols + at.x;
      const number = (name) => readable(weight(map[name][i], map[name + "Scale"]), 3);
      const place = "query " + span(at.y, perQuery, map.queries) + ", key " + span(at.x, perKey, map.keys);
      if (map.mean[i] === LOST) return place + ": lost to a NaN";
      return place + ": " + (map.max[i] === 0 ? "no weight" : "mean " + number("mean") + ", largest " + number("max"));
    }
    const pooled = perQuery * perKey > 1
      ? "each cell pools " + readable(perQuery, 3) + " × " + readable(perKey, 3) + " weights"
      : "each cell is one weight";
    const mean = map.entries > 1 ? ", the " + (kind === "max" ? "largest" : "mean") + " of " + map.entries + " batch entries" : "";
    return map.label + ": queries " + Math.floor(view.y * perQuery) + " to " + (Math.ceil((view.y + view.h) * perQuery) - 1)
      + ", keys " + Math.floor(view.x * perKey) + " to " + (Math.ceil((view.x + view.w) * perKey) - 1) + "; " + pooled + mean;
  }

  function tell(aloud) {
    where.textContent = words(cursor);
    if (aloud) say(where.textContent);
  }

  function look(next) {
    const w = Math.min(map.cols, Math.max(Math.min(4, map.cols), next.w));
    const h = Math.min(map.rows, Math.max(Math.min(4, map.rows), next.h));
    view = { w, h, x: Math.max(0, Math.min(map.cols - w, next.x)), y: Math.max(0, Math.min(map.rows - h, next.y)) };
    const full = w === map.cols && h === map.rows;
    state.set("view", full ? null : [view.x, view.y, view.w, view.h].map((v) => +v.toFixed(2)).join(","));
    paint();
  }

  function zoom(factor, at) {
    const [fx, fy] = at ?? (cursor ? [(cursor.x + 0.5 - view.x) / view.w, (cursor.y + 0.5 - view.y) / view.h] : [0.5, 0.5]);
    const [w, h] = [view.w * factor, view.h * factor];
    look({ x: view.x + fx * (view.w - Math.min(w, map.cols)), y: view.y + fy * (view.h - Math.min(h, map.rows)), w, h });
  }

  const share = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };

  function walk(dx, dy) {
    const from = cursor ?? { x: Math.floor(view.x), y: Math.floor(view.y) };
    cursor = {
      x: Math.max(0, Math.min(map.cols - 1, from.x + (cursor ? dx : 0))),
      y: Math.max(0, Math.min(map.rows - 1, from.y + (cursor ? dy : 0))),
    };
    const into = (c, v, w) => (c < v ? c : c + 1 > v + w ? c + 1 - w : v);
    look({ ...view, x: into(cursor.x, view.x, view.w), y: into(cursor.y, view.y, view.h) });
    tell(true);
  }

  // What is in view as a drawing of its own: the cells, where they lie, and what the colours mean.
  function drawing() {
    const part = make("canvas", { width: Math.ceil(view.w), height: Math.ceil(view.h) });
    const steps = make("canvas", { width: 256, height: 1 });
    part.getContext("2d").drawImage(image, view.x, view.y, view.w, view.h, 0, 0, part.width, part.height);
    palette.forEach(([r, g, b], i) => {
      const brush = steps.getContext("2d");
      brush.fillStyle = `rgb(${r} ${g} ${b})`;
      brush.fillRect(i, 0, 1, 1);
    });
    const [wide, high] = [560, 560 * (canvas.height / canvas.width)];
    const svg = draw("svg", { viewBox: `0 0 600 ${Math.ceil(high + 110)}` });
    const text = (x, y, words, more = {}) => svg.append(draw("text", { class: "t", x, y, ...more }, words));
    text(20, 18, words(null));
    text(20, 36, "query ↓   key →", { class: "f" });
    const picture = (y, height, width, source) => svg.append(draw("image", {
      class: "map", x: 20, y, width, height, preserveAspectRatio: "none", href: source.toDataURL("image/png"),
    }));
    picture(44, high, wide, part);
    svg.append(draw("rect", { class: "frame", x: 20, y: 44, width: wide, height: high }));
    text(20, high + 64, meaning());
    picture(high + 72, 8, 280, steps);
    const scale = map[kind + "Scale"];
    text(20, high + 96, readable(scale.low, 3), { class: "f" });
    text(300, high + 96, readable(scale.high, 3), { class: "f", "text-anchor": "end" });
    return svg;
  }
  element.closest("figure").inView = drawing;

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = { at: share(event), view }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = share(event);
    if (drag) {
      look({ ...drag.view, x: drag.view.x - (x - drag.at[0]) * view.w, y: drag.view.y - (y - drag.at[1]) * view.h });
      return;
    }
    const cell = { x: Math.floor(view.x + x * view.w), y: Math.floor(view.y + y * view.h) };
    cursor = cell.x >= 0 && cell.y >= 0 && cell.x < map.cols && cell.y < map.rows ? cell : null;
    paint();
  });
  canvas.addEventListener("pointerleave", () => { cursor = null; paint(); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return; // the page scrolls until the map is chosen
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, share(event));
  }, { passive: false });
  canvas.addEventListener("blur", () => { cursor = null; paint(); });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (steps) walk(...steps);
    else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0" || event.key === "Escape") look(whole());
    else return;
    event.preventDefault();
  });
  element.addEventListener("click", (event) => {
    const action = event.target.dataset.do;
    if (action === "in") zoom(0.5);
    if (action === "out") zoom(2);
    if (action === "whole") look(whole());
    if (action === "mean" || action === "max") {
      kind = action;
      state.set("map", kind === "max" ? "max" : null);
      pressed();
      paintCells();
    }
  });
  const pressed = () => all("[data-do=mean],[data-do=max]", element).forEach((button) => {
    button.setAttribute("aria-pressed", String(button.dataset.do === kind));
  });
  async function select(head) {
    await load(head);
    state.set("view", null);
    state.set("head", map.head);
  }
  choose.addEventListener("change", () => select(choose.value));
  all(".head").forEach((group) => group.addEventListener("click", () => select(group.dataset.head)));
  const bar = one(".bar", element);
  bar.style.background = "linear-gradient(90deg," + palette.filter((_, i) => i % 15 === 0).map(([r, g, b]) => `rgb(${r} ${g} ${b})`) + ")";
  pressed();
  const kept = (state.get("view") ?? "").split(",").map(Number);
  await load(state.get("head") ?? data.maps[0].head);
  if (kept.length === 4 && kept.every(Number.isFinite)) look({ x: kept[0], y: kept[1], w: kept[2], h: kept[3] });
  new ResizeObserver(() => { if (Math.abs(canvas.width / (window.devicePixelRatio || 1) - canvas.clientWidth) > 1) paint(); }).observe(canvas);
  document.addEventListener("themed", paint);
}
