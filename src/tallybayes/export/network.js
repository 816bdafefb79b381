// A Bayesian network: log P(x | class) is the sum over families, and missing values are summed out exactly.

import { coder, logNormal, logNormalFar, logs } from "./forms.js";

const MAX_TABLE_NUMBERS = 1 << 22; // numbers in one table: more, and too many missing values hang together

// The cells of a table over `columns` that have the levels of a row; code: of all columns, below 0 where missing.
function agreeing(columns, code, sizes) {
  let at = [0];
  for (const j of columns) {
    const n = sizes[j];
    at = code[j] < 0 ? at.flatMap((a) => Array.from({ length: n }, (_, v) => a * n + v)) : at.map((a) => a * n + code[j]);
  }
  return at;
}

// A factor: { over: places of missing columns, the last fastest; log: (cells, classes) flat }.
class Elimination {
  constructor(sizes, K) {
    this.sizes = sizes;
    this.K = K;
    this.factors = [];
    this.joint = new Array(K).fill(0);
  }

  cells(over) {
    const n = over.reduce((product, j) => product * this.sizes[j], this.K);
    if (n > MAX_TABLE_NUMBERS) throw new RangeError("too many missing values hang together: a table of " + n + " numbers");
    return n;
  }

  // read(cell): the K logs at a cell of the table over `columns`
  take(columns, code, read) {
    const over = columns.filter((j) => code[j] < 0);
    this.cells(over);
    const log = [];
    for (const cell of agreeing(columns, code, this.sizes)) for (const v of read(cell)) log.push(v);
    this.keep({ over, log });
  }

  keep(factor) {
    if (factor.over.length) this.factors.push(factor);
    else for (let k = 0; k < this.K; k++) this.joint[k] += factor.log[k];
  }

  together(j) {
    return [...new Set(this.factors.filter((f) => f.over.includes(j)).flatMap((f) => f.over))];
  }

  // the column whose removal makes the smallest table
  cheapest() {
    let best = -1;
    let least = Infinity;
    for (const j of new Set(this.factors.flatMap((f) => f.over))) {
      const n = this.together(j).reduce((product, i) => product * this.sizes[i], this.K);
      if (n < least || (n === least && j < best)) [least, best] = [n, j];
    }
    return best;
  }

  run() {
    while (this.factors.length) this.sumOut(this.cheapest());
    return this.joint;
  }

  sumOut(j) {
    const over = [...this.together(j).filter((i) => i !== j), j];
    const product = new Float64Array(this.cells(over));
    const mine = this.factors.filter((f) => f.over.includes(j));
    this.factors = this.factors.filter((f) => !f.over.includes(j));
    for (const f of mine) this.multiply(f, over, product);
    const { K } = this;
    const run = this.sizes[j];
    const sum = new Array(product.length / run);
    for (let i = 0; i < sum.length; i++) {
      const first = Math.floor(i / K) * run * K + (i % K);
      let top = -Infinity;
      for (let v = 0; v < run; v++) top = Math.max(top, product[first + v * K]);
      let total = 0;
      if (Number.isFinite(top)) for (let v = 0; v < run; v++) total += Math.exp(product[first + v * K] - top);
      sum[i] = Number.isFinite(top) ? top + Math.log(total) : top;
    }
    this.keep({ over: over.slice(0, -1), log: sum });
  }

  multiply(f, over, product) {
    const stride = over.map((j) => {
      const at = f.over.indexOf(j);
      return at < 0 ? 0 : f.over.slice(at + 1).reduce((n, i) => n * this.sizes[i], this.K);
    });
    const value = over.map(() => 0);
    let at = 0;
    for (let i = 0; i < product.length; i += this.K) {
      for (let k = 0; k < this.K; k++) product[i + k] += f.log[at + k];
      for (let m = over.length - 1; m >= 0; m--) {
        at += stride[m];
        if (++value[m] < this.sizes[over[m]]) break;
        at -= stride[m] * value[m];
        value[m] = 0;
      }
    }
  }
}

export function network(term, K) {
  const { sizes } = term;
  const d = sizes.length;
  const families = term.families.map((f) => ({ ...f, log: logs(f.log) }));
  const reals = term.reals;
  const codes = coder(term);

  function score(code, x) {
    const work = new Elimination(sizes, K);
    const wanted = new Set(); // a missing column that nothing hangs on sums to one
    const want = (columns) => columns.forEach((j) => code[j] < 0 && wanted.add(j));
    reals.forEach((real, i) => {
      const value = x[d + i];
      if (Number.isNaN(value)) return;
      want(real.parents);
      work.take(real.parents, code, (cell) =>
        real.mean[cell].map((mean, k) => logNormal(value, mean, real.variance[cell][k])),
      );
    });
    for (let i = families.length - 1; i >= 0; i--) {
      const { child, parents, log } = families[i];
      if (code[child] < 0 && !wanted.has(child)) continue;
      want([...parents, child]);
      work.take([...parents, child], code, (cell) => log[cell]);
    }
    return work.run();
  }

  return {
    add(x, joint) {
      const found = score(codes(x), x);
      for (let k = 0; k < K; k++) joint[k] += found[k];
    },
    // a missing parent counts as its likeliest level: beside the distance nothing else does
    addFar(x, joint) {
      const code = codes(x);
      const possible = score(code, x.map((v, j) => (j < d ? v : NaN)));
      for (let k = 0; k < K; k++) if (possible[k] === -Infinity) joint[k] = -Infinity;
      reals.forEach((real, i) => {
        const value = x[d + i];
        if (Number.isNaN(value)) return;
        const cells = agreeing(real.parents, code, sizes);
        for (let k = 0; k < K; k++) {
          joint[k] += cells.reduce((best, c) => Math.max(best, logNormalFar(value, real.mean[c][k], real.variance[c][k])), -Infinity);
        }
      });
    },
    // log P(x_j | the columns before it, class), parents before children
    terms(x) {
      const code = codes(x);
      const shown = code.map(() => -1);
      const values = x.map((v, j) => (j < d ? v : NaN));
      const out = x.map(() => new Array(K).fill(0));
      let before = new Array(K).fill(0);
      for (const j of [...families.map((f) => f.child), ...reals.map((_, i) => d + i)]) {
        if (j < d ? code[j] < 0 : Number.isNaN(x[j])) continue;
        if (j < d) shown[j] = code[j];
        else values[j] = x[j];
        const now = score(shown, values);
        for (let k = 0; k < K; k++) out[j][k] = before[k] === -Infinity ? 0 : now[k] - before[k];
        before = now;
      }
      return out;
    },
  };
}
