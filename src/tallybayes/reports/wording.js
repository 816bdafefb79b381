// How names, probabilities and evidence are written on the report and the live page. Uses make(name, …), which each has.

// a name in a narrow place: a line may end after an underscore, a hyphen or a dot, else words would be split anywhere
const breakable = (text) => String(text).split(/(?<=[_/.-])(?=\p{L})/u).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));

const percent = (p) => (p > 0.9995 && p < 1 ? ">99.9" : p < 0.0005 && p > 0 ? "<0.1" : (100 * p).toFixed(1)) + "%";

function factor(evidence) {
  const size = Math.abs(evidence);
  const sign = evidence >= 0 ? "×" : "÷";
  if (size === Infinity) return sign + "∞";
  const ratio = Math.exp(size);
  if (size < 0.005) return "×1.00";
  if (size < Math.log(9999.5)) return sign + ratio.toFixed(ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0);
  return sign + "10^" + (size / Math.LN10).toFixed(1);
}

// a category that would not be seen is named
const levelName = (value) => (String(value).trim() === "" ? "(empty)" : String(value));

// the first distinct words of a text, and the text without each of them
const segmenter = Intl.Segmenter ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;
function withoutEach(text, most) {
  const parts = [...segmenter.segment(text)].map(({ segment, isWordLike }) => ({ segment, word: isWordLike ? segment.toLowerCase() : null }));
  const words = [...new Set(parts.map(({ word }) => word))].filter((word) => word !== null).slice(0, most);
  return words.map((word) => ({ word, rest: parts.map((part) => (part.word === word ? " " : part.segment)).join("") }));
}
