// Small helpers, and the state of the page: it lives in the address, as #name=value&name=value.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);
const make = (name, attributes = {}, text = "") => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
};
const SVG = "http://www.w3.org/2000/svg";
const draw = (name, attributes = {}, text = "") => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
};

const isState = (hash) => hash.includes("=");
const state = {
  values: new URLSearchParams(isState(location.hash) ? location.hash.slice(1) : ""),
  get: (name) => state.values.get(name),
  set(name, value) {
    if (value === null || value === "") state.values.delete(name);
    else state.values.set(name, value);
    const hash = state.values.toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  },
};

// Five digits are enough to read; what is copied or saved keeps all of them.
const readable = (text, digits = 5) => {
  const value = Number(text);
  if (text === "" || !Number.isFinite(value)) return String(text);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value).replace("-", "−");
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e9) return String(Number(value.toPrecision(digits))).replace("-", "−");
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const raised = [...power.replace("+", "")].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");
  return (Number(mantissa) + "·10" + raised).replace("-", "−");
};

const say = (text) => { one("#said").textContent = text; };

const csvField = (text) => (/[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
const csv = (rows) => rows.map((row) => row.map(csvField).join(",")).join("\n") + "\n";

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages opened from disk may not have the clipboard of the browser; a selected text area still works.
    const area = make("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(what + " copied");
}

function save(blob, name) {
  const link = make("a", { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  say(name + " saved");
}

function theme() {
  const button = one("#theme");
  const order = ["auto", "dark", "light"];
  const show = (name) => {
    document.documentElement.dataset.theme = name;
    button.textContent = "Theme: " + name;
    state.set("theme", name === "auto" ? null : name);
    document.dispatchEvent(new Event("themed"));
  };
  button.addEventListener("click", () => {
    show(order[(order.indexOf(document.documentElement.dataset.theme) + 1) % order.length]);
  });
  if (order.includes(state.get("theme"))) show(state.get("theme"));
}

// Links within the page keep the state: the place becomes a part of it.
function places() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    go(link.getAttribute("href").slice(1), true);
  });
  if (state.get("at")) go(state.get("at"), false);
}

function go(id, focus) {
  const target = document.getElementById(id);
  if (!target) return;
  state.set("at", id);
  target.scrollIntoView();
  if (focus) {
    target.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
  }
}
