// Tables sort by the column whose head is pressed, numbers as numbers; what is missing stays last.
function sortable(table, id) {
  const heads = all("thead th", table);
  const body = one("tbody", table);
  const rows = [...body.rows];
  const value = (row, column) => {
    const cell = row.cells[column];
    if (!heads[column].classList.contains("n")) return cell.textContent;
    const number = parseFloat((cell.dataset.value ?? "").replace("∞", "Infinity"));
    return Number.isNaN(number) ? null : number;
  };

  function sort(column, down) {
    const order = rows.map((row, i) => [value(row, column), i]);
    order.sort(([a, i], [b, j]) => {
      if (a === null || b === null) return (a === null) - (b === null) || i - j;
      const sign = typeof a === "string" ? a.localeCompare(b) : a - b;
      return (down ? -sign : sign) || i - j;
    });
    body.append(...order.map(([, i]) => rows[i]));
    heads.forEach((head, i) => head.setAttribute("aria-sort", i === column ? (down ? "descending" : "ascending") : "none"));
    state.set("sort." + id, column + (down ? "d" : "a"));
  }

  heads.forEach((head, column) => {
    head.setAttribute("aria-sort", "none");
    one("button", head).addEventListener("click", () => sort(column, head.getAttribute("aria-sort") === "ascending"));
  });
  const kept = /^(\d+)([ad])$/.exec(state.get("sort." + id) ?? "");
  if (kept && Number(kept[1]) < heads.length) sort(Number(kept[1]), kept[2] === "d");
}

function table(element) {
  const inner = one("table", element);
  sortable(inner, element.id);
  const text = (cell) => cell.dataset.value ?? cell.textContent;
  const rows = () => [
    all("thead th", inner).map((head) => head.dataset.name),
    ...all("tbody tr", inner).map((row) => [...row.cells].map(text)),
  ];
  one(".tools", element).addEventListener("click", (event) => {
    const action = event.target.dataset.do;
    if (action === "copy") copy(csv(rows()), "table");
    if (action === "save") save(new Blob([csv(rows())], { type: "text/csv" }), element.id + ".csv");
  });
}
