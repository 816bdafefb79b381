// A Gaussian over several columns at once; what is missing is integrated out.
//
// factor: lower triangular F with F'F the inverse of the covariance. Of the columns that are there, with L the inverse
// of F and Lo its rows for them, the covariance is Lo Lo' = R'R, R from the QR decomposition of Lo'.

import { OVERFLOW_SCALE } from "./forms.js";

const LOG_2PI = Math.log(2 * Math.PI);

function inverseLower(f) {
  const n = f.length;
  const out = f.map(() => new Float64Array(n));
  for (let j = 0; j < n; j++) {
    out[j][j] = 1 / f[j][j];
    for (let i = j + 1; i < n; i++) {
      let sum = 0;
      for (let m = j; m < i; m++) sum += f[i][m] * out[m][j];
      out[i][j] = -sum / f[i][i];
    }
  }
  return out;
}

// R of the QR decomposition of the transpose of some rows, by Householder's reflections; as rows, upper triangular.
function triangle(rows) {
  const n = rows.length;
  const a = rows.map((r) => Float64Array.from(r)); // a[j] is column j
  const length = n ? a[0].length : 0;
  for (let j = 0; j < n; j++) {
    let size = 0;
    for (let i = j; i < length; i++) size += a[j][i] * a[j][i];
    size = Math.sqrt(size);
    if (size === 0) continue;
    const alpha = a[j][j] > 0 ? -size : size;
    const v = a[j].slice();
    v[j] -= alpha;
    let square = 0;
    for (let i = j; i < length; i++) square += v[i] * v[i];
    for (let c = j; c < n; c++) {
      let dot = 0;
      for (let i = j; i < length; i++) dot += v[i] * a[c][i];
      for (let i = j; i < length; i++) a[c][i] -= ((2 * dot) / square) * v[i];
    }
  }
  return a.map((_, i) => a.map((column, j) => (j < i ? 0 : column[i])));
}

// The root of the inverse covariance of some columns, and half the log determinant of the covariance.
function rootOf(lower, there) {
  const r = triangle(there.map((i) => lower[i]));
  const transposed = r.map((_, i) => r.map((row) => row[i]));
  let half = 0;
  for (let i = 0; i < r.length; i++) half += Math.log(Math.abs(r[i][i]));
  return { root: inverseLower(transposed), half };
}

export function block(term, K) {
  const { keep, mean, low } = term;
  const lower = term.factor.map(inverseLower);
  const memo = new Map(); // the same columns are asked for again and again
  function roots(there) {
    const key = there.join();
    if (!memo.has(key)) {
      if (memo.size > 64) memo.clear();
      memo.set(
        key,
        lower.map((each, k) => {
          if (there.length < keep.length) return rootOf(each, there);
          const root = term.factor[k];
          return { root, half: -root.reduce((sum, row, i) => sum + Math.log(Math.abs(row[i])), 0) };
        }),
      );
    }
    return memo.get(key);
  }
  // root times what x is away from the mean of class k
  const turned = (root, away) =>
    away.map((_, i) => {
      let sum = 0;
      for (let m = 0; m <= i; m++) sum += root[i][m] * away[m];
      return sum;
    });
  const setting = (x) => {
    const there = keep.map((_, i) => i).filter((i) => !Number.isNaN(x[keep[i]]));
    const found = roots(there);
    return {
      there,
      each: (k) => {
        const { root, half } = found[found.length > 1 ? k : 0];
        const away = there.map((i) => x[keep[i]] - mean[k][keep[i]] - low[k][keep[i]]);
        return { root, half, away, z: turned(root, away) };
      },
    };
  };
  const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
  const square = (z) => dot(z, z);
  const centre = keep.map((j) => mean.reduce((sum, m) => sum + m[j] / K, 0));
  const means = mean.map((m, k) => turned(term.factor[0], keep.map((j, i) => m[j] - centre[i] + low[k][j])));
  return {
    // relative: up to a term that all classes share. With one covariance for all, that term is the square of the
    // distance; without it, what tells the classes apart is not lost beside 1e40.
    add(x, joint, relative) {
      const { there, each } = setting(x);
      if (relative && term.factor.length === 1 && there.length === keep.length) {
        const root = term.factor[0];
        const found = (scale) => {
          const z = turned(root, there.map((i) => (x[keep[i]] - centre[i]) * scale));
          return means.map((m) => dot(z, m) - 0.5 * square(m) * scale);
        };
        let own = found(1);
        if (!own.every(Number.isFinite)) own = found(2 ** -200); // beside numbers of 1e308 nothing else counts
        for (let k = 0; k < K; k++) joint[k] += own[k];
        return;
      }
      for (let k = 0; k < K; k++) {
        const { half, z } = each(k);
        joint[k] += -half - 0.5 * there.length * LOG_2PI - 0.5 * square(z);
      }
    },
    addFar(x, joint) {
      const { there, each } = setting(x);
      if (there.length < keep.length) return joint.fill(-Infinity);
      for (let k = 0; k < K; k++) {
        const away = there.map((i) => x[keep[i]] / OVERFLOW_SCALE - mean[k][keep[i]] / OVERFLOW_SCALE);
        joint[k] -= 0.5 * square(turned(each(k).root, away));
      }
    },
    // see "Evidence" in the guide: each column has its share of the distance and of the correlation
    terms(x) {
      const out = term.columns.map(() => new Array(K).fill(0));
      const { there, each } = setting(x);
      for (let k = 0; k < K && there.length; k++) {
        const { root, half, away, z } = each(k);
        const n = there.length;
        const rows = lower[lower.length > 1 ? k : 0];
        const variance = there.map((i) => rows[i].reduce((sum, v) => sum + v * v, 0));
        const precision = there.map((_, j) => root.reduce((sum, row) => sum + (row[j] ?? 0) ** 2, 0));
        const pull = there.map((_, j) => root.reduce((sum, row, i) => sum + (row[j] ?? 0) * z[i], 0));
        const spread = variance.map((v, j) => Math.log(Math.max(v * precision[j], 1)));
        const total = spread.reduce((a, b) => a + b, 0);
        const rest = 2 * half - variance.reduce((sum, v) => sum + Math.log(v), 0);
        there.forEach((i, j) => {
          const share = total > 0 ? spread[j] / total : 1 / n;
          const said = -0.5 * (away[j] * pull[j] + LOG_2PI + Math.log(variance[j]) + share * rest);
          out[keep[i]][k] = Number.isFinite(said) ? said : -Infinity;
        });
      }
      return out;
    },
  };
}
