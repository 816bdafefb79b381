// The mean over sets of parents of the networks in which they are everyone's parents (AODE, AnDE):
// P(x | class) = sum of W P(x_S | class) prod P(x_j | class, x_S) / sum of W, over the sets S whose values were met.

import { coder, logNormal, logNormalFar, logSumExp, logs } from "./forms.js";

export function average(term, K) {
  const { sizes } = term;
  const d = sizes.length;
  const known = coder(term);
  const follows = new Map(term.follows.map(([a, b]) => [a.join() + ">" + b.join(), true]));
  const sets = term.sets.map((s) => ({ ...s, own: logs(s.own), log: logs(s.log) }));
  const naive = { log: logs(term.naive.log), reals: term.naive.reals };

  // without what is missing, unseen, gone, or follows from another value of the row
  function codes(x) {
    const code = known(x);
    if (!follows.size) return code;
    const isThere = (a, b) => follows.has(a.join() + ">" + b.join());
    return code.map((v, j) => {
      if (v < 0) return v;
      const drop = code.some((u, i) => {
        if (i === j || u < 0 || !isThere([j, v], [i, u])) return false;
        return !(isThere([i, u], [j, v]) && j < i); // of two that follow from each other the first stays
      });
      return drop ? -1 : v;
    });
  }

  const densities = (list, cell, x, density) =>
    list.map(({ mean, variance }, i) => {
      if (Number.isNaN(x[d + i])) return new Array(K).fill(0);
      return mean[cell].map((m, k) => density(x[d + i], m, variance[cell][k]));
    });

  // (columns, K): what each column adds in the network of one set; s null: without parents
  function network(s, code, x, density) {
    if (s === null) {
      const own = code.map((v, j) => (v < 0 ? new Array(K).fill(0) : naive.log[j][v]));
      return [...own, ...densities(naive.reals, 0, x, density)];
    }
    const cell = s.parents.reduce((at, j) => at * sizes[j] + code[j], 0);
    const own = code.map((v, j) => {
      const place = s.parents.indexOf(j);
      if (place >= 0) return s.own[place][cell];
      return v < 0 ? new Array(K).fill(0) : s.log[j][cell * sizes[j] + v];
    });
    const above = s.real_parents.reduce((at, j) => at * sizes[j] + code[j], 0);
    return [...own, ...densities(s.reals, above, x, density)];
  }

  function members(code, x, density = logNormal) {
    const found = [];
    for (const s of sets) {
      if (s.parents.some((j) => code[j] < 0)) continue;
      const cell = s.parents.reduce((at, j) => at * sizes[j] + code[j], 0);
      if (s.met[cell]) found.push({ weight: s.weight, own: network(s, code, x, density) });
    }
    return found.length ? found : [{ weight: 1, own: network(null, code, x, density) }];
  }

  const totals = (own) => Array.from({ length: K }, (_, k) => own.reduce((sum, each) => sum + each[k], 0));

  function joined(all) {
    const weight = all.reduce((sum, m) => sum + m.weight, 0);
    const each = all.map((m) => totals(m.own).map((v) => v + Math.log(m.weight)));
    return Array.from({ length: K }, (_, k) => logSumExp(each.map((e) => e[k])) - Math.log(weight));
  }

  return {
    add(x, joint) {
      const found = joined(members(codes(x), x));
      for (let k = 0; k < K; k++) joint[k] += found[k];
    },
    // the classes that are the least far in one of the networks
    addFar(x, joint) {
      const near = members(codes(x), x, logNormalFar).map((m) => {
        const far = [...m.own.slice(0, d).map((own) => own.map((v) => (v === -Infinity ? v : 0))), ...m.own.slice(d)];
        const found = totals(far);
        const top = Math.max(...found);
        return found.map((v) => v === top && v > -Infinity);
      });
      for (let k = 0; k < K; k++) if (!near.some((own) => own[k])) joint[k] = -Infinity;
    },
    // the mean of the terms of all networks, by their shares in the answer; what is left, evenly
    terms(x) {
      const code = codes(x);
      const all = members(code, x);
      const joint = joined(all);
      const sums = all.map((m) => totals(m.own));
      const there = [...code.map((v) => v >= 0), ...x.slice(d).map((v) => !Number.isNaN(v))];
      const n = Math.max(1, there.filter(Boolean).length);
      const out = x.map(() => new Array(K).fill(0));
      for (let k = 0; k < K; k++) {
        const share = all.map((m, i) => m.weight * (joint[k] === -Infinity ? 1 : Math.exp(sums[i][k] - joint[k])));
        const whole = share.reduce((a, b) => a + b, 0);
        let total = 0;
        x.forEach((_, j) => {
          const mean = all.reduce((sum, m, i) => sum + (share[i] > 0 ? share[i] * m.own[j][k] : 0), 0) / whole;
          out[j][k] = whole > 0 ? mean : 0;
          total += out[j][k];
        });
        const rest = (joint[k] - total) / n;
        if (Number.isFinite(rest)) there.forEach((is, j) => is && (out[j][k] += rest));
      }
      return out;
    },
  };
}
