// The cost slider: the best threshold on the rows of the report, for what a false negative costs.

if (facts.thresholds) {
  const { n, each } = facts.thresholds;
  const several = (count, what) => count + " " + what + (count === 1 ? "" : "s");
  const tell = () => {
    const ratio = 10 ** Number(at("cost-ratio").value);
    const { missed, alarms } = each[Number(at("cost-class").value)];
    const last = missed.length - 1;
    const costs = missed.map((m, i) => ratio * m + alarms[i]);
    const least = Math.min(...costs);
    const theory = 1 / (1 + ratio);
    let best = -1;
    costs.forEach((c, i) => {
      if (c <= least + 1e-9 && (best < 0 || Math.abs(i / last - theory) < Math.abs(best / last - theory))) best = i;
    });
    const per = (i) => ((100 * costs[i]) / n).toFixed(2);
    at("cost-said").textContent =
      "A false negative costs as much as " + several(Number(ratio.toPrecision(3)), "false positive") + ". By the probabilities the threshold is " + theory.toFixed(3) +
      ", which costs " + per(Math.round(theory * last)) + " per 100 rows, in false positives. Best on these rows is " + (best / last).toFixed(2) + ": " + several(missed[best], "false negative") +
      " and " + several(alarms[best], "false positive") + " cost " + per(best) + ". A threshold of 0.5 costs " + per(Math.round(last / 2)) + ".";
  };
  at("cost-ratio").addEventListener("input", tell);
  at("cost-class").addEventListener("input", tell);
  tell();
}
