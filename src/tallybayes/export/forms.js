// Terms whose columns do not know of each other: tables, normal densities, weighted counts, kernel densities.
//
// A form takes a term of the description and gives { add(x, joint), terms(x) }. x: what was read of its columns, a
// number (NaN: missing) or a code (-1: missing, -2: a category unseen). joint: log P(x, class) so far.

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);

// null stands for minus infinity, which JSON has not
export function logs(a) {
  if (Array.isArray(a)) return a.map(logs);
  return a === null ? -Infinity : a;
}

// The codes of a term's columns; below 0 what is missing, was unseen, or is gone.
export function coder(term) {
  const gone = new Set(term.gone.map(([j, v]) => j + ":" + v));
  const { sizes } = term;
  return (x) => sizes.map((n, j) => (x[j] >= 0 && x[j] < n && !gone.has(j + ":" + x[j]) ? x[j] : -1));
}

// Where every density is 0 as a double, forms add their log densities again divided by the square of this: then the
// square of any distance is a number, and the class that is nearest wins.
export const OVERFLOW_SCALE = 2 ** 1000;

// log(a / sum of a) from log a. The largest is subtracted first: beside 1e40, log 3 would be lost.
export function normalised(a) {
  const top = Math.max(...a);
  const away = a.map((v) => (v === top ? 0 : v - top));
  const total = Math.log(away.reduce((sum, v) => sum + Math.exp(v), 0));
  return away.map((v) => v - total);
}

export function logSumExp(a) {
  let top = -Infinity;
  for (const v of a) if (v > top) top = v;
  if (!Number.isFinite(top)) return top;
  let total = 0;
  for (const v of a) total += Math.exp(v - top);
  return top + Math.log(total);
}

// A form from a function: log P(x of column i | class), class by class; null: x is missing. far: the same divided by
// the square of OVERFLOW_SCALE, for densities that may be 0 as a double.
function byColumn(columns, K, says, far) {
  const nothing = () => new Array(K).fill(0);
  const adder = (each) => (x, joint) => {
    for (let i = 0; i < columns.length; i++) {
      const found = each(i, x[i]);
      if (found !== null) for (let k = 0; k < K; k++) joint[k] += found[k];
    }
  };
  return {
    add: adder(says),
    addFar: far && adder(far),
    terms(x) {
      return columns.map((_, i) => says(i, x[i]) ?? nothing());
    },
  };
}

export function table(term, K) {
  const log = logs(term.log);
  const other = term.other ? logs(term.other) : null;
  return byColumn(term.columns, K, (i, code) => {
    if (code === -1) return null;
    return log[i][code] ?? (other ? other[i] : null);
  });
}

export function logNormal(x, mean, variance) {
  if (!(variance > 0)) return 0; // it never varies: it says nothing
  const delta = (x - mean) / Math.sqrt(2 * variance);
  return -HALF_LOG_2PI - 0.5 * Math.log(variance) - delta * delta;
}

// the same far away: beside the distance nothing else counts
export function logNormalFar(x, mean, variance) {
  if (!(variance > 0)) return 0;
  const delta = (x / OVERFLOW_SCALE - mean / OVERFLOW_SCALE) / Math.sqrt(2 * variance);
  return -delta * delta;
}

export function normal(term, K) {
  const { mean, low, variance } = term;
  const says = (i, x) => {
    if (Number.isNaN(x)) return null;
    return mean[i].map((m, k) => logNormal(x - m, low[i][k], variance[i][k]));
  };
  const far = (i, x) => (Number.isNaN(x) ? null : mean[i].map((m, k) => logNormalFar(x, m, variance[i][k])));
  return byColumn(term.columns, K, says, far);
}

// the logarithm of a positive number is normal; numbers that are not have a share of their own
export function logNormalOrZero(term, K) {
  const { mean, low, variance } = term;
  const zero = logs(term.zero);
  const above = logs(term.above);
  return byColumn(term.columns, K, (i, x) => {
    if (Number.isNaN(x)) return null;
    if (x <= 0) return zero[i];
    const t = Math.log(x);
    return mean[i].map((m, k) => above[i][k] + logNormal(t - m, low[i][k], variance[i][k]));
  });
}

export function linear(term, K) {
  const weight = logs(term.weight);
  const bias = term.bias;
  return byColumn(term.columns, K, (i, x) => {
    if (Number.isNaN(x)) return null;
    if (x < 0) throw new RangeError("counts and shares must be at least 0; got " + x);
    // 0 times minus infinity counts as 0
    return weight[i].map((w, k) => (x === 0 ? 0 : x * w) + (bias ? bias[i][k] : 0));
  });
}

export function kernel(term, K) {
  const { value, weight, bandwidth } = term;
  const total = weight.map((column) => column.map((w) => w.reduce((a, b) => a + b, 0)));
  const density = (x, i, k) => {
    const h = bandwidth[i][k];
    const each = value[i][k].map((v, n) => {
      const delta = (x - v) / h;
      return Math.log(weight[i][k][n] / total[i][k]) - 0.5 * delta * delta;
    });
    return logSumExp(each) - Math.log(h) - HALF_LOG_2PI;
  };
  const nearest = (x, i, k) => {
    const deltas = value[i][k].map((v) => Math.abs((x / OVERFLOW_SCALE - v / OVERFLOW_SCALE) / bandwidth[i][k]));
    const delta = deltas.reduce((a, b) => Math.min(a, b), Infinity);
    return -0.5 * delta * delta;
  };
  const each = (of) => (i, x) => {
    if (Number.isNaN(x) || !value[i].some((v) => v.length)) return null;
    return value[i].map((_, k) => of(x, i, k));
  };
  return byColumn(term.columns, K, each(density), each(nearest));
}
