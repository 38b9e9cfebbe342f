// Figures as files: the drawing on the page with the colours written into it.
const dark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "dark" || (chosen === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
};

function file(svg) {
  const copy = svg.cloneNode(true);
  all(".halo", copy).forEach((halo) => halo.remove());
  const { width, height } = svg.viewBox.baseVal;
  copy.removeAttribute("class");
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const style = draw("style", {}, JSON.parse(one("#styles").textContent)[dark() ? "dark" : "light"]);
  copy.prepend(style, draw("rect", { class: "paper", width, height }));
  return new XMLSerializer().serializeToString(copy);
}

function picture(svg, name) {
  const { width, height } = svg.viewBox.baseVal;
  const image = new Image();
  image.onload = () => {
    const canvas = make("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    canvas.toBlob((blob) => save(blob, name), "image/png");
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(file(svg));
}
