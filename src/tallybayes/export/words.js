// Texts by their words: multinomial, complement or Bernoulli, as distributions/text/word_counts.py has it.
//
// A text is split as CountVectorizer does, \w\w+ of Python: letters and digits are those of the browser's Unicode.

// Blocks of scripts that are written without spaces between words: the list of cpp/core/text/make_characters.py.
const BLOCKS =
  "\\u0E00-\\u0FFF\\u1000-\\u109F\\u1780-\\u17FF\\u1950-\\u19DF\\u1A20-\\u1AAF\\u3005-\\u3007\\u3040-\\u30FF\\u31F0-\\u31FF" +
  "\\u3400-\\u4DBF\\u4E00-\\u9FFF\\uA9E0-\\uA9FF\\uAA60-\\uAADF\\uF900-\\uFAFF\\uFF66-\\uFF9F\\u{1B000}-\\u{1B16F}\\u{20000}-\\u{323AF}";
const RUNS = new RegExp(`((?:(?=[\\p{L}\\p{N}\\p{M}])[${BLOCKS}])+)|((?:(?![${BLOCKS}])[\\p{L}\\p{N}_])+)`, "gu");
const WORDS = /()([\p{L}\p{N}_]+)/gu;
const WHITE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]{2,}/g; // what Python calls white

function grams(units, low, high, between, out) {
  for (let n = low; n <= high; n++) for (let i = 0; i + n <= units.length; i++) out.push(units.slice(i, i + n).join(between));
}

export function pieces(text, { analyzer, ngrams: [low, high], lowercase }) {
  const small = lowercase ? text.toLowerCase() : text;
  const out = [];
  if (analyzer === "char") {
    grams([...small.replace(WHITE, " ")], low, high, "", out);
    return out;
  }
  let words = []; // since the last character of a script without spaces
  for (const [, unspaced, word] of small.matchAll(analyzer === "auto" ? RUNS : WORDS)) {
    if (unspaced) {
      grams(words, low, high, " ", out);
      words = [];
      grams([...unspaced], 1, 2, "", out);
    } else if ([...word].length > 1) words.push(word);
  }
  grams(words, low, high, " ", out);
  return out;
}

export function words(term, K) {
  const { alpha, counts, weight, model } = term;
  const rows = Array.from(term.rows);
  const V = term.words.length;
  const code = new Map(term.words.map((word, v) => [word, v]));
  const classes = rows.map((_, k) => k);
  const inAll = (v) => classes.reduce((sum, k) => sum + counts[k * V + v], 0);
  // the count that the weight of a word for a class comes from
  const count = model === "complement" ? (k, v) => Math.max(inAll(v) - counts[k * V + v], 0) : (k, v) => counts[k * V + v];
  const once = model === "bernoulli";
  const total = new Array(K).fill(alpha * V);
  const base = new Array(K).fill(0); // what a text without words says
  const no = (k, v) => Math.log(Math.max(rows[k] - counts[k * V + v], 0) + alpha) - Math.log(rows[k] + 2 * alpha);
  for (let v = 0; v < V; v++) {
    for (let k = 0; k < K; k++) {
      if (once) base[k] += no(k, v);
      else total[k] += count(k, v);
    }
  }
  const times = (w) => (w === 0 ? 0 : weight * w);
  const of = (k, v) => {
    if (once) return times(Math.log(counts[k * V + v] + alpha) - Math.log(rows[k] + 2 * alpha) - no(k, v));
    const log = total[k] > 0 ? Math.log(count(k, v) + alpha) - Math.log(total[k]) : -Math.log(Math.max(V, 1));
    return times(model === "complement" ? -Math.max(log, -708.3964185322641) : log); // the smallest normal double
  };
  function says(text) {
    const out = base.map(times);
    if (text === null) return out.fill(0);
    const found = pieces(text, term);
    const known = [...(once ? new Set(found) : found)].map((piece) => code.get(piece)).filter((v) => v !== undefined);
    for (const v of known) for (let k = 0; k < K; k++) out[k] += of(k, v);
    // words of one text are not independent
    const factor = term.length_normalized ? Math.min(1, 3.5 / Math.max(known.length, 1) ** 0.75) : 1;
    return out.map((own) => factor * own);
  }
  return {
    add: ([text], joint) => says(text).forEach((own, k) => (joint[k] += own)),
    terms: ([text]) => [says(text)],
  };
}
