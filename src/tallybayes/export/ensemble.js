// The stacked ensemble of a BayesClassifier: back-off chains, target encoding, nearest neighbors, a Gaussian discriminant.
//
// A binning joins the levels of a column into bins; a chain has a child (or none: a tree for the class) and parents,
// each read through a binning, and one table for no parent, one, two, ...: where a parent has no bin, the table before
// it is used. A row with missing values in columns that were complete is scored by the stack and by the plain mean of
// the networks; the fewer values are known, the more by the latter.

import { coder, logs } from "./forms.js";

const NO_BIN = 255;
const MIN_PROBABILITY = 1e-37; // of a probability

// A chain reads one bin of its child: child(x) gives step(l, context), log P with the first l parents, called for
// l = 0, 1, ... in turn.
function fromLogs(log, bins) {
  const table = log.map(logs);
  return (x) => (l, context) => table[l][context * bins + x];
}

// The same from counts. sizes: bins of the parents; n: (cells of parents, bins, classes), from cell `start` on.
function fromCounts({ child, concentration }, bins, sizes, n, start, worth, K) {
  const row = bins * K;
  const last = sizes.length;
  const orders = [{ n, start }];
  for (let l = last; l > 0; l--) {
    const above = sizes.slice(0, l - 1).reduce((a, b) => a * b, 1) * row;
    const from = orders[0];
    const sum = new Float64Array(above);
    let e = from.start;
    for (let to = 0; to < above; to += row) {
      for (let b = 0; b < sizes[l - 1]; b++) for (let i = 0; i < row; i++) sum[to + i] += from.n[e++];
    }
    orders.unshift({ n: sum, start: 0 });
  }
  const first = Array.from({ length: row }, (_, e) => orders[0].n[orders[0].start + e]);
  const all = first.reduce((a, b) => a + b, 0);
  const rate = concentration.map((a) => Math.max(Math.fround(Math.min(a, 1e30)), 1e-30));
  const log = (p) => p.map((v) => Math.log(Math.max(v, MIN_PROBABILITY)));
  if (child < 0) {
    const base = first.map((v) => Math.fround((v + 1 / K) / (all + 1)));
    return () => {
      let p = base;
      return (l, context) => {
        if (l === 0) return log(p);
        const at = orders[l].start + context * row;
        let total = 0;
        for (let k = 0; k < K; k++) total += orders[l].n[at + k];
        p = p.map((v, k) => Math.fround((orders[l].n[at + k] + rate[l] * v) / (total + rate[l])));
        return log(p);
      };
    };
  }
  return (x) => {
    const here = first.slice(x * K, (x + 1) * K).reduce((a, b) => a + b, 0);
    let p = new Array(K).fill(Math.fround((here + 1 / bins) / (all + 1)));
    return (l, context) => {
      const { n: own, start: begin } = orders[l];
      const at = begin + context * row;
      const a = rate[l];
      const next = new Array(K);
      for (let k = 0; k < K; k++) {
        const v = p[k];
        let total = 0;
        for (let e = at + k; e < at + row; e += K) total += own[e];
        next[k] = Math.fround((v * (own[at + x * K + k] + (a * v + worth))) / ((total + a) * v + worth));
      }
      p = next;
      return log(p);
    };
  };
}

// the normal scores of a row; the last value is that of a missing one
function numbers(scale, code) {
  return scale.map(({ column, value }) => {
    const v = code[column];
    return value[v < 0 || v >= value.length - 1 ? value.length - 1 : v];
  });
}

// (code, joint): joint += weight * log (n_k + r prior_k) / ((n + r) prior_k), where neighbors of class k count n_k
function nearestNeighbors({ weight, scale, root, rows, label, row_weight, prior, k, pseudo_count: r }, K) {
  const turned = (code) => {
    const z = numbers(scale, code);
    return root ? root.map((row) => row.reduce((sum, v, i) => sum + v * z[i], 0)) : z;
  };
  const points = rows.map(turned);

  return (code, joint) => {
    const z = turned(code);
    const away = points.map((point) => point.reduce((sum, v, i) => sum + (v - z[i]) ** 2, 0));
    const near = away.map((_, i) => i).sort((a, b) => away[a] - away[b] || a - b);
    const h = near.length > k ? away[near[k]] : Infinity;
    const n = new Array(K).fill(0);
    for (const i of near.slice(0, k)) n[label[i]] += row_weight[i] * (h > 0 ? Math.max(1 - away[i] / h, 0) ** 2 : 1);
    const total = n.reduce((sum, v) => sum + v, 0) + r;
    for (let c = 0; c < K; c++) joint[c] += weight * Math.log((n[c] + r * prior[c]) / (total * prior[c]));
  };
}

export function ensemble(term, K) {
  const d = term.columns.length;
  const { binnings, chains, bias, gaussian } = term;
  const nearest = term.neighbors ? nearestNeighbors(term.neighbors, K) : null;
  const rule = term.missing ?? { complete: [], columns: d, weights: [] };
  const levels = (term.target_encoding ?? []).map(({ column, log }) => ({ column, log: logs(log) }));
  let cells = 0;
  const tables = chains.map((chain) => {
    const bins = chain.child < 0 ? 1 : binnings[chain.child].bins;
    if (chain.log) return fromLogs(chain.log, bins);
    const sizes = chain.parents.map((v) => binnings[v].bins);
    const start = cells;
    cells += sizes.reduce((a, b) => a * b, bins * K);
    return fromCounts(chain, bins, sizes, term.counts, start, term.value_rows, K);
  });
  const codes = coder(term);

  // a level that a binning does not know is missing to it; the last entry of a map is for missing values
  function bin(binning, code) {
    const { column, map } = binnings[binning];
    const v = code[column];
    return map[v < 0 || v >= map.length - 1 ? map.length - 1 : v];
  }

  const last = chains.map(() => ({ key: "", logs: [] })); // one value changes at a time: most chains read the same again

  // the estimates of a chain with 0, 1, ... parents, as far as these have bins; none where the child has no bin
  function estimates(c, code) {
    const chain = chains[c];
    const path = [chain.child < 0 ? 0 : bin(chain.child, code)];
    if (path[0] === NO_BIN) return [];
    for (const parent of chain.parents) {
      const b = bin(parent, code);
      if (b === NO_BIN) break;
      path.push(b);
    }
    const key = path.join();
    if (last[c].key !== key) {
      const step = tables[c](path[0]);
      let at = 0;
      const logs = path.map((b, l) => {
        if (l > 0) at = at * binnings[chain.parents[l - 1]].bins + b;
        return step(l, at);
      });
      last[c] = { key, logs };
    }
    return last[c].logs;
  }

  // each(l, log): the estimate of a chain with l parents, or with as many as there are
  function climb(c, code, each) {
    const found = estimates(c, code);
    for (let l = 0; found.length && l <= chains[c].parents.length; l++) each(l, found[Math.min(l, found.length - 1)]);
  }

  function distances(code) {
    const z = numbers(gaussian.scale, code);
    return gaussian.mean.map((mean, k) => {
      const e = z.map((v, i) => v - mean[i]);
      const turned = gaussian.root[k].map((row) => row.reduce((sum, r, i) => sum + r * e[i], 0));
      const own = e.map((v, i) => v * turned.reduce((sum, t, r) => sum + t * (gaussian.root[k][r][i] ?? 0), 0));
      const distance = turned.reduce((sum, t) => sum + t * t, 0);
      const nu = gaussian.freedom;
      const tail = nu === null ? distance / 2 : ((nu + z.length) / 2) * Math.log1p(distance / nu);
      return { own, distance, tail };
    });
  }

  const missing = (code) => rule.complete.filter((j) => code[j] < 0);
  const trust = (lost) => Math.max(rule.columns - lost.length - 1, 0) / Math.max(rule.columns - 1, 1);

  // put(column, log, scale): what each chain adds to its child in the mean of the networks
  function alone(code, put) {
    chains.forEach((chain, c) => {
      if (!rule.weights[c]) return;
      climb(c, code, (l, log) => {
        if (l === chain.parents.length) put(binnings[chain.child].column, log, rule.weights[c]);
      });
    });
  }

  // joint += the stacked score
  function weighted(code, joint) {
    chains.forEach((chain, c) => {
      climb(c, code, (l, log) => {
        if (l === chain.parents.length) for (let k = 0; k < K; k++) joint[k] += chain.scale * log[k];
      });
    });
    for (let k = 0; k < K; k++) joint[k] += bias[k];
    for (const { column, log } of levels) {
      const own = log[code[column]];
      if (own) for (let k = 0; k < K; k++) joint[k] += own[k];
    }
    if (nearest) nearest(code, joint);
    if (gaussian) {
      distances(code).forEach(({ tail }, k) => {
        joint[k] += gaussian.weight * (gaussian.constant[k] - tail);
      });
    }
  }

  // the same column by column, and last what belongs to none
  function weightedTerms(code, lost) {
    const out = code.map(() => new Array(K).fill(0));
    const rest = bias.slice();
    const put = (column, log, scale) => {
      const to = column < 0 ? rest : out[column];
      for (let k = 0; k < K; k++) to[k] += scale * log[k];
    };
    chains.forEach((chain, c) => {
      const last = chain.parents.length;
      climb(c, code, (l, log) => {
        if (chain.child >= 0) {
          if (l === last) put(binnings[chain.child].column, log, chain.scale);
          return;
        }
        put(l === 0 ? -1 : binnings[chain.parents[l - 1]].column, log, chain.scale);
        if (l < last) put(binnings[chain.parents[l]].column, log, -chain.scale);
      });
    });
    for (const { column, log } of levels) if (log[code[column]]) put(column, log[code[column]], 1);
    if (nearest) nearest(code, rest);
    if (gaussian) {
      distances(code).forEach(({ own, distance, tail }, k) => {
        const share = distance > 0 ? tail / distance : 0;
        gaussian.scale.forEach(({ column }, i) => {
          out[column][k] -= gaussian.weight * own[i] * share;
        });
        rest[k] += gaussian.weight * gaussian.constant[k];
      });
    }
    for (const j of lost) {
      put(-1, out[j], 1);
      out[j].fill(0);
    }
    return [...out, rest];
  }

  return {
    add(x, joint) {
      const code = codes(x);
      const lost = missing(code);
      if (!lost.length) {
        weighted(code, joint);
        return;
      }
      const t = trust(lost);
      const whole = new Array(K).fill(0);
      if (t > 0) weighted(code, whole);
      for (let k = 0; k < K; k++) joint[k] += t * whole[k];
      alone(code, (column, log, scale) => {
        for (let k = 0; k < K; k++) joint[k] += (1 - t) * scale * log[k];
      });
    },
    terms(x) {
      const code = codes(x);
      const lost = missing(code);
      if (!lost.length) return weightedTerms(code, lost);
      const t = trust(lost);
      const out = (t > 0 ? weightedTerms(code, lost) : [...x, null].map(() => new Array(K).fill(0))).map((a) => a.map((v) => t * v));
      alone(code, (column, log, scale) => {
        for (let k = 0; k < K; k++) out[column][k] += (1 - t) * scale * log[k];
      });
      return out;
    },
  };
}
