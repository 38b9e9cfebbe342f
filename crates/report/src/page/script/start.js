document.documentElement.classList.add("js");
theme();
all("figure[data-figure]").forEach(figure);
all(".table").forEach(table);
all(".viewer").forEach(viewer);
one("[data-do=command]")?.addEventListener("click", () => copy(one(".command").textContent, "command"));
places();
