// The what-if part of a page: controls for a row and a prior, probabilities and evidence that follow them.
// Uses scorer(description) of export/scorer.js. Strings of the data only ever become text, never markup.

const MOST_WORDS = 100; // of a text that are left out one by one
const facts = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") element.textContent = value;
    else if (key in element && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// a text of the data inside a sentence: what it says of its direction ends with it
const apart = (text) => (/[^\x00-\x7f]/.test(text) ? "\u2068" + text + "\u2069" : String(text));

const shortened = (value) => (String(value).length > 60 ? String(value).slice(0, 59) + "…" : value);

// What each column adds to the log-odds of class k against the rest: see Explanation in Python.
function againstRest(terms, joint, start, k) {
  const others = joint.map((_, l) => l).filter((l) => l !== k);
  const pick = (a) => others.map((l) => a[l]);
  let rest = pick(joint);
  for (const instead of [pick(start), others.map(() => 0)]) if (rest.every((v) => v === -Infinity)) rest = instead;
  const top = Math.max(...rest);
  const each = rest.map((v) => Math.exp(v - top));
  const total = each.reduce((a, b) => a + b, 0);
  const share = each.map((v) => v / total);
  return terms.map((own) => {
    const against = others.reduce((sum, l, i) => sum + (share[i] > 0 ? share[i] * own[l] : 0), 0);
    return own[k] === -Infinity && against === -Infinity ? 0 : own[k] - against;
  });
}

function whatIf(first) {
  let model = scorer(first);
  const { columns } = first;
  const { classes } = model;
  const row = Object.create(null); // a column may be called __proto__
  const shown = new Map(); // column → its control
  let prior = model.prior.slice();

  // --- controls ------------------------------------------------------------------------------------------------

  function levels(j, column) {
    const long = column.levels.length > 200;
    const hidden = new Set(facts.controls.columns[j].hidden); // levels that only forgotten rows had
    const input = long
      ? make("input", { type: "text", id: "value-" + j, list: "levels-" + j, autocomplete: "off" })
      : make("select", { id: "value-" + j }, ...(facts.controls.columns[j].sorted ?? column.levels.map((_, i) => i)).map((i) => make("option", { value: String(i), text: levelName(column.levels[i]), hidden: hidden.has(i) })));
    const parts = [input];
    if (long) {
      const some = column.levels.filter((_, i) => !hidden.has(i)).slice(0, 1000).map((v) => make("option", { value: String(v) }));
      parts.push(make("datalist", { id: "levels-" + j }, ...some));
    }
    const byText = new Map(column.levels.map((v) => [String(v), v]));
    return {
      parts,
      input,
      read: () => (input.value === "" ? null : long ? (byText.get(input.value) ?? input.value) : column.levels[Number(input.value)]),
      write(value) {
        if (value === null) input.value = "";
        else if (long) input.value = String(value);
        else input.value = String(column.levels.indexOf(value));
      },
    };
  }

  // a date, a moment or a time of day has one picker, which sets all its parts
  const dated = (first.given ?? []).filter((g) => g.what !== "duration" && (g.parts["days since 1970"] || g.parts.hours));
  const picker = (given) => (given.what === "time" ? "time" : given.what === "date" || !given.parts.hour ? "date" : "datetime-local");
  const partOf = new Map(dated.flatMap((g) => Object.values(g.parts).map((name) => [name, g])));

  // the text of a picker from the parts of a row; "" where they do not say when
  function written(given, of = row) {
    const value = of[given.parts["days since 1970"] ?? given.parts.hours];
    if (value === null || value === undefined) return "";
    const date = new Date(Math.round(Number(value) * (given.what === "time" ? 3600 : 86_400)) * 1000);
    if (Number.isNaN(date.getTime())) return "";
    const text = date.toISOString();
    return { date: text.slice(0, 10), time: text.slice(11, 16) }[picker(given)] ?? text.slice(0, 16);
  }

  function addPicker(given) {
    const id = "date-" + dated.indexOf(given);
    const input = make("input", { type: picker(given), id, step: "any" });
    const missing = make("input", { type: "checkbox", "aria-label": given.name + " is missing" });
    const spread = spreader([given], columns);
    const take = () => {
      const empty = missing.checked || input.value === "";
      missing.checked = empty;
      const parts = empty ? {} : spread({ [given.name]: input.value });
      for (const name of Object.values(given.parts)) row[name] = parts[name] ?? null;
      answer();
    };
    input.addEventListener("input", () => {
      missing.checked = false;
      take();
    });
    missing.addEventListener("input", take);
    at("controls").append(
      make("div", { class: "control" }, make("label", { for: id }, ...breakable(given.name)), make("span", { class: "inputs" }, input), make("label", { class: "gap" }, missing, " missing")),
    );
    const set = () => {
      input.value = written(given);
      missing.checked = input.value === "";
    };
    Object.values(given.parts).forEach((name) => {
      const j = columns.findIndex((column) => column.name === name);
      if (j >= 0) shown.set(j, { set(value) { row[name] = value ?? null; set(); } });
    });
    set();
  }

  function number(j, column) {
    const { low, high, step } = facts.controls.columns[j];
    const input = make("input", { type: "number", id: "value-" + j, step: step === 1 ? "1" : "any", inputmode: "decimal" });
    const range = make("input", {
      type: "range", min: String(low), max: String(high), step: String(step), "aria-label": column.name + ", slider",
    });
    range.addEventListener("input", () => {
      input.value = String(Number(Number(range.value).toPrecision(12)));
      input.dispatchEvent(new Event("input"));
    });
    const slides = high > low ? [range] : [make("span", { class: "note", text: "the same in every row" })];
    const show = () => {
      range.value = input.value;
    };
    return {
      parts: [...slides, input],
      input,
      read: () => (input.value === "" ? null : Number(input.value)),
      write(value) {
        input.value = value === null || value === undefined ? "" : String(Number(value));
        show();
      },
      follow: show,
    };
  }

  function prose(j) {
    const input = make("textarea", { id: "value-" + j, rows: "4" });
    return {
      parts: [input],
      input,
      read: () => (input.value === "" ? null : input.value),
      write(value) {
        input.value = value ?? "";
      },
    };
  }

  function addControl(j) {
    const column = columns[j];
    if (shown.has(j)) return;
    if (partOf.has(column.name)) {
      addPicker(partOf.get(column.name));
      listMore();
      return;
    }
    const control = { levels, text: prose }[column.reads]?.(j, column) ?? number(j, column);
    const missing = make("input", { type: "checkbox", "aria-label": column.name + " is missing" });
    const problem = make("span", { class: "problem", role: "alert" });
    const line = make(
      "div",
      { class: "control" },
      make("label", { for: "value-" + j }, ...breakable(column.name)),
      make("span", { class: "inputs" }, ...control.parts),
      make("label", { class: "gap" }, missing, " missing"),
      problem,
    );
    const changed = () => {
      const value = missing.checked ? null : control.read();
      problem.textContent = "";
      if (typeof value === "number" && !Number.isFinite(value)) {
        problem.textContent = "not a number";
        return;
      }
      if (control.follow) control.follow();
      row[column.name] = value;
      answer();
    };
    control.input.addEventListener("input", () => {
      missing.checked = control.input.value === "";
      changed();
    });
    missing.addEventListener("input", () => {
      const { start } = facts.controls.columns[j];
      if (!missing.checked && control.read() === null) control.write(column.reads === "levels" ? column.levels[start] : start);
      changed();
    });
    at("controls").append(line);
    shown.set(j, {
      set(value) {
        const gone = value === null || value === undefined;
        missing.checked = gone;
        control.write(gone ? null : value);
        row[column.name] = gone ? null : value;
      },
    });
    listMore();
  }

  function listMore() {
    const rest = facts.controls.order.filter((j) => !shown.has(j));
    at("more-names").replaceChildren(...rest.slice(0, 1000).map((j) => make("option", { value: partOf.get(columns[j].name)?.name ?? columns[j].name })));
    at("more").placeholder = rest.length + " more, by name";
    at("more-line").hidden = !rest.length;
  }

  function usual() {
    const out = Object.fromEntries(
      columns.map((column, j) => {
        const { start, missing } = facts.controls.columns[j];
        return [column.name, missing ? null : column.reads === "levels" ? (column.levels[start] ?? null) : start];
      }),
    );
    // the parts of one date, not the most frequent of each
    for (const given of dated) {
      const text = written(given, out);
      if (text !== "") Object.assign(out, spreader([given], columns)({ [given.name]: text }));
    }
    return out;
  }

  function load(values) {
    columns.forEach((column, j) => {
      const value = Object.hasOwn(values, column.name) ? values[column.name] : null;
      if (shown.has(j)) shown.get(j).set(value);
      else row[column.name] = value;
    });
    answer();
  }

  // --- prior ---------------------------------------------------------------------------------------------------

  const sliders = new Map(); // class → its slider
  const many = classes.length > 12;

  function addPrior(k) {
    const label = classes[k];
    const range = make("input", {
      type: "range", min: "0", max: "1", step: "0.001", id: "prior-" + k, "aria-label": "prior of " + label,
    });
    const shown = make("output", { for: "prior-" + k });
    at("priors").append(
      make("div", { class: "control" }, make("label", { for: "prior-" + k, text: String(label) }), range, shown),
    );
    range.addEventListener("input", () => {
      const mine = Math.min(Math.max(Number(range.value), 0.0005), 0.9995);
      const rest = prior.reduce((sum, p, l) => sum + (l === k ? 0 : p), 0);
      prior = prior.map((p, l) => (l === k ? mine : rest > 0 ? (p / rest) * (1 - mine) : (1 - mine) / (prior.length - 1)));
      if (prior.length === 1) prior = [1];
      showPrior();
      answer();
    });
    sliders.set(k, { range, shown });
  }

  // the class that a search field names, or -1
  const named = (field) => classes.findIndex((label) => String(label) === field.value);
  if (many) {
    at("class-names").replaceChildren(...classes.map((label) => make("option", { value: String(label) })));
    at("prior-line").hidden = false;
    at("prior-of").addEventListener("input", () => {
      const k = named(at("prior-of"));
      if (k < 0 || sliders.has(k)) return;
      addPrior(k);
      showPrior();
    });
  } else classes.forEach((_, k) => addPrior(k));

  function showPrior() {
    sliders.forEach(({ range, shown }, k) => {
      range.value = String(prior[k]);
      shown.textContent = percent(prior[k]);
    });
  }

  // --- predictions -------------------------------------------------------------------------------------------------

  function bars(list, lines) {
    list.replaceChildren(
      ...lines.map(({ name, value, width, side }) => {
        const bar = make("span", { class: "bar " + side, "aria-hidden": "true" });
        bar.style.setProperty("--width", (100 * width).toFixed(2) + "%");
        return make("li", {}, make("span", { class: "name" }, ...breakable(name)), make("span", { class: "track" }, bar), make("span", { class: "value", text: value }));
      }),
    );
  }

  function answer() {
    let found;
    try {
      found = model.proba(row, { prior });
    } catch (e) {
      at("said").textContent = "No prediction: " + e.message;
      at("probabilities").replaceChildren();
      at("evidence").replaceChildren();
      return;
    }
    const best = found.indexOf(Math.max(...found));
    const never = model.unseen(row);
    at("said").textContent =
      "Prediction: " + apart(classes[best]) + ", " + percent(found[best]) + (never.length ? ". Unseen: " + never.map(apart).join(", ") : "");
    const order = found.map((_, k) => k).sort((a, b) => found[b] - found[a]);
    const asked = named(at("find-class"));
    const some = many ? [...new Set([...order.slice(0, 10), ...(asked >= 0 ? [asked] : [])])] : found.map((_, k) => k);
    bars(at("probabilities"), some.map((k) => ({ name: String(classes[k]), value: percent(found[k]), width: found[k], side: "share" })));
    at("answers").dataset.proba = JSON.stringify(found);
    const k = at("for").value !== "" ? Number(at("for").value) : asked >= 0 ? asked : best;
    const terms = model.evidence(row);
    const start = prior.map(Math.log);
    const joint = model.logJoint(row, { prior });
    const values = classes.length > 1 ? againstRest(terms, joint, start, k) : terms.map(() => 0);
    const sorted = values.map((v, j) => ({ v, j })).filter(({ v }) => Math.abs(v) > 5e-4).sort((a, b) => Math.abs(b.v) - Math.abs(a.v));
    const lines = sorted.slice(0, 20);
    const rest = sorted.slice(20).reduce((sum, { v }) => sum + v, 0);
    if (sorted.length > 20) lines.push({ v: rest, j: -1 });
    const most = Math.max(1, ...lines.map(({ v }) => Math.min(Math.abs(v), 50)));
    bars(
      at("evidence"),
      lines.map(({ v, j }) => {
        const more = `${sorted.length - 20} more together`;
        const together = j === columns.length; // what belongs to no column
        const value = together || j < 0 ? null : row[columns[j].name];
        const given = together || j < 0 ? null : partOf.get(columns[j].name);
        const day = given && columns[j].name === given.parts["days since 1970"] && typeof value === "number";
        const shownValue = day ? new Date(864e5 * Math.floor(Math.max(-1e8, Math.min(1e8, value)))).toISOString().slice(0, 10) : typeof value === "number" ? Number(value.toPrecision(6)) : shortened(value);
        return {
          name: j < 0 ? more : together ? "interactions of columns" : apart(day ? given.name : columns[j].name) + (value === null || value === undefined ? ": missing" : " = " + apart(levelName(shownValue))),
          value: factor(v),
          width: Math.min(Math.abs(v), 50) / most,
          side: v > 0 ? "for" : "against",
        };
      }),
    );
    if (!lines.length) at("evidence").append(make("li", { class: "none", text: "Nothing in this row is evidence for or against it." }));
    clearTimeout(waiting);
    waiting = setTimeout(() => showWords(joint, k), 150);
  }

  // log P(k) − log P(not k), from log joint probabilities
  function logOdds(joint, k) {
    const others = joint.filter((_, l) => l !== k);
    const top = Math.max(...others);
    return top === -Infinity ? Infinity : joint[k] - top - Math.log(others.reduce((sum, v) => sum + Math.exp(v - top), 0));
  }

  // of each text what its words do to the log-odds of class k: how these change when a word is left out
  const texts = columns.filter((column) => column.reads === "text");
  let waiting = 0;
  at("words-line").hidden = !texts.length || classes.length < 2 || !segmenter;
  function showWords(joint, k) {
    if (at("words-line").hidden) return;
    const all = logOdds(joint, k);
    const found = texts.flatMap(({ name }) =>
      withoutEach(row[name] ?? "", MOST_WORDS).map(({ word, rest }) => ({ word, v: all - logOdds(model.logJoint({ ...row, [name]: rest }, { prior }), k) })),
    );
    const some = found.filter(({ v }) => Math.abs(v) > 0.005).sort((a, b) => Math.abs(b.v) - Math.abs(a.v)).slice(0, 15);
    const most = Math.max(1, ...some.map(({ v }) => Math.min(Math.abs(v), 50)));
    bars(at("words"), some.map(({ word, v }) => ({ name: apart(word), value: factor(v), width: Math.min(Math.abs(v), 50) / most, side: v > 0 ? "for" : "against" })));
    if (!some.length) at("words").append(make("li", { class: "none", text: "No word of this row changes the odds." }));
  }

  // --- start ---------------------------------------------------------------------------------------------------

  for (const j of facts.controls.shown) addControl(j);
  const examples = [{ name: "typical row (medians and modes)", row: usual() }, ...facts.examples];
  at("examples").replaceChildren(...examples.map((e, i) => make("option", { value: String(i), text: e.name })));
  at("examples").addEventListener("input", () => load(examples[Number(at("examples").value)].row));
  at("clear").addEventListener("click", () => load({}));
  at("more").addEventListener("input", () => {
    const name = at("more").value;
    const j = facts.controls.order.find((i) => !shown.has(i) && (columns[i].name === name || partOf.get(columns[i].name)?.name === name));
    if (j === undefined) return;
    const value = row[columns[j].name] ?? null;
    addControl(j);
    shown.get(j).set(value);
    at("more").value = "";
  });
  at("find-class").addEventListener("input", () => answer());
  at("learned").addEventListener("click", () => {
    prior = model.prior.slice();
    showPrior();
    answer();
  });
  at("for").addEventListener("input", () => answer());
  for (const button of document.querySelectorAll("[data-example]")) {
    button.addEventListener("click", () => {
      const i = Number(button.dataset.example) + 1;
      at("examples").value = String(i);
      load(examples[i].row);
      at("what-if").scrollIntoView();
    });
  }
  const total = prior.reduce((a, b) => a + b, 0);
  prior = prior.map((p) => p / total);
  showPrior();
  // a usual text there is none: the first row of the report says more
  const from = columns.some((column) => column.reads === "text") && examples.length > 1 ? 1 : 0;
  at("examples").value = String(from);
  load(examples[from].row);
  at("no-script").hidden = true;
  at("play").hidden = false;

  return {
    // another state of the same model: what was typed stays; other columns or classes need a new page
    replace(description) {
      const same = JSON.stringify([description.classes, description.columns.map((c) => c.name)]);
      if (same !== JSON.stringify([classes, columns.map((c) => c.name)])) location.reload();
      const wasLearned = prior.every((p, k) => Math.abs(p - model.prior[k]) < 1e-12);
      model = scorer(description);
      if (wasLearned) prior = model.prior.slice();
      showPrior();
      answer();
    },
  };
}

if (facts.model) {
  const play = whatIf(await unpack(facts.model));
  if (facts.source) {
    let last = "";
    setInterval(async () => {
      if (document.hidden) return;
      try {
        const text = await (await fetch(facts.source, { cache: "no-store" })).text();
        if (text !== last && last !== "") play.replace(await unpack(JSON.parse(text)));
        last = text;
        at("live").textContent = "The model is asked for every few seconds: what it learns shows here.";
      } catch {
        at("live").textContent = "The server does not answer; this is the model as it was.";
      }
      at("live").hidden = false;
    }, 5000);
  }
}
