// The table of rows: search in it.

if (at("search")) {
  const lines = [...document.querySelectorAll("#row-table tbody tr")];
  const plain = (text) => text.replaceAll("\u2212", "-"); // what is typed for a minus
  const texts = lines.map((line) => plain(line.textContent).toLowerCase() + (line.querySelector(".wrong") ? " wrong" : " right"));
  const first = 10; // shown without a search
  const show = () => {
    const wanted = plain(at("search").value).toLowerCase().trim();
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
