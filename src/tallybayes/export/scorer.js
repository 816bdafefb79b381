// Scores rows with a model that is described as data: see docs/model-json.md.
//
//   const model = scorer(description);
//   model.proba({ colour: "green", weight: 3.5 });        // P(class | x), in the order of model.classes
//
// A row is an object by the names of the columns, or an array in their order. A value that is not there, null or NaN
// is missing; a date is a string of ISO 8601 or a Date, or its parts by their names. Every answer takes { prior: [...] } as a second argument: other shares of the classes.

import { average } from "./average.js";
import { block } from "./block.js";
import { ensemble } from "./ensemble.js";
import { OVERFLOW_SCALE, kernel, linear, logNormalOrZero, logs, normal, normalised, table } from "./forms.js";
import { spreader } from "./given.js";
import { network } from "./network.js";
import { words } from "./words.js";

const VERSION = 4;
const FORMS = {
  table, normal, "log-normal": logNormalOrZero, linear, kernel, block, network, average, ensemble, words,
};

export class UnseenError extends Error {}

// 3 and 3.0 are one label; true is 1 where the labels are numbers, and 1 is true where they are not
function levelsOf(labels) {
  const code = new Map(labels.map((label, i) => [label, i]));
  return (value) => {
    if (code.has(value)) return code.get(value);
    if (typeof value === "boolean") return code.get(Number(value)) ?? -2;
    if (value === 0 || value === 1) return code.get(Boolean(value)) ?? -2;
    return -2;
  };
}

function number(value, name) {
  const found = typeof value === "boolean" ? Number(value) : value;
  if (typeof found !== "number") throw new TypeError("column " + name + " takes numbers; got " + JSON.stringify(value));
  if (found === Infinity || found === -Infinity) throw new RangeError("column " + name + " has an infinite value");
  return found;
}

// How a column is read: a number, a code, or a text.
function reader(column) {
  if (column.reads === "number") return (value) => (value === null ? NaN : number(value, column.name));
  if (column.reads === "text") {
    return (value) => {
      if (value === null || Number.isNaN(value)) return null;
      if (typeof value !== "string") throw new TypeError("column " + column.name + " takes texts; got " + JSON.stringify(value));
      return value;
    };
  }
  if (column.reads === "levels") {
    const find = levelsOf(column.levels);
    return (value) => (value === null || Number.isNaN(value) ? -1 : find(value));
  }
  return (value) => {
    const x = value === null ? NaN : number(value, column.name);
    if (Number.isNaN(x)) return -1;
    let low = 0;
    let high = column.cuts.length; // how many cuts are at most x
    while (low < high) {
      const middle = (low + high) >> 1;
      if (column.cuts[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

export function scorer(description) {
  if (description.format !== "tallybayes.model" || description.version !== VERSION) {
    throw new TypeError("not a description of a model of version " + VERSION + ": export the model again");
  }
  const { classes, columns, beta, unseen, absent } = description;
  const K = classes.length;
  const ownStart = logs(description.start);
  const readers = columns.map(reader);
  const terms = description.terms.map((term) => ({ columns: term.columns, form: FORMS[term.form](term, K) }));

  const names = new Set(columns.map((column) => column.name));
  const spread = spreader(description.given ?? [], columns);

  function values(given) {
    const row = spread(given);
    const strange = Array.isArray(row) ? [] : Object.keys(row).filter((name) => !names.has(name));
    if (strange.length) throw new TypeError("the model has no column " + JSON.stringify(strange[0]));
    return columns.map((column, j) => {
      const value = Array.isArray(row) ? row[j] : Object.hasOwn(row, column.name) ? row[column.name] : absent;
      const found = readers[j](value ?? null);
      if (found === -2 && unseen === "error") {
        throw new UnseenError("column " + column.name + " has an unseen category: " + JSON.stringify(value));
      }
      return found;
    });
  }

  function start(options) {
    if (!options || !options.prior) return ownStart;
    return options.prior.map((p) => Math.log(p));
  }

  // relative: up to a term that all classes share
  function logJoint(row, options, relative) {
    const x = values(row);
    const from = start(options);
    const out = new Array(K).fill(0);
    for (const { columns: which, form } of terms) form.add(which.map((j) => x[j]), out, relative);
    return out.map((v, k) => from[k] + beta * v);
  }

  // The log joint, divided by the square of OVERFLOW_SCALE, of a row whose densities are all 0 as doubles.
  function farJoint(row, from) {
    const x = values(row);
    const out = from.map((v) => (v === -Infinity ? v : 0));
    for (const { columns: which, form } of terms) {
      const own = which.map((j) => x[j]);
      const found = new Array(K).fill(0);
      (form.addFar ?? form.add)(own, found);
      for (let k = 0; k < K; k++) out[k] += form.addFar ? beta * found[k] : (beta * found[k]) / OVERFLOW_SCALE / OVERFLOW_SCALE;
    }
    return out.map((v) => (Number.isNaN(v) ? -Infinity : v));
  }

  function logProba(row, options) {
    const possible = (joint) => joint.some((v) => v > -Infinity);
    const joint = logJoint(row, options, true).map((v) => (Number.isNaN(v) ? -Infinity : v));
    if (possible(joint)) return normalised(joint);
    const from = start(options);
    const far = farJoint(row, from);
    if (!possible(far)) return normalised(from); // impossible in every class: the prior stands
    const top = Math.max(...far);
    return normalised(far.map((v) => (v === top ? 0 : -Infinity)));
  }

  return {
    classes,
    columns,
    prior: ownStart.map(Math.exp),
    logJoint: (row, options) => logJoint(row, options, false),
    logProba,
    proba: (row, options) => logProba(row, options).map(Math.exp),
    predict(row, options) {
      const found = logProba(row, options);
      return classes[found.indexOf(Math.max(...found))];
    },
    // (columns, classes): what each column adds to the log joint; of an ensemble one more, which belongs to no column
    evidence(row) {
      const x = values(row);
      const out = columns.map(() => new Array(K).fill(0));
      const rest = [];
      for (const { columns: which, form } of terms) {
        const found = form.terms(which.map((j) => x[j])).map((own) => own.map((v) => beta * v));
        which.forEach((j, i) => (out[j] = found[i]));
        rest.push(...found.slice(which.length));
      }
      if (rest.length) out.push(rest.reduce((a, b) => a.map((v, k) => v + b[k])));
      return out;
    },
    // names of the columns whose category was unseen
    unseen(row) {
      const x = values(row);
      return columns.filter((_, j) => x[j] === -2).map((column) => column.name);
    },
  };
}
