// The table of rows: search in it.

if (at("search")) {
  const lines = [...document.querySelectorAll("#row-table tbody tr")];
  const texts = lines.map((line) => line.textContent.toLowerCase() + (line.querySelector(".wrong") ? " wrong" : " right"));
  const first = 10; // shown without a search
  const show = () => {
    const wanted = at("search").value.toLowerCase().trim();
    let found = 0;
    lines.forEach((line, i) => {
      const fits = texts[i].includes(wanted);
      found += fits;
      line.hidden = !fits || (!wanted && found > first);
    });
    at("searched").textContent = wanted ? found + " of " + lines.length + " rows" : "the first " + Math.min(first, lines.length) + " of " + lines.length;
  };
  at("search").addEventListener("input", show);
  at("search-line").hidden = false;
  show();
}
