// The live page: a control for each column. Whatever is changed is sent to /explain, which answers with the prediction
// and the evidence of each column. All text enters the page as text, never as HTML.

const SHOWN = 24; // columns that have a control from the start
const MAX_LISTED = 10; // classes, and lines of evidence, that are listed
const MOST_WORDS = 60; // of a row that are left out one by one
const WAIT = 150; // ms without a change before the server is asked
const DAYS = ": days since 1970"; // the part of a date that is shown as the date
const AGAIN = 5000; // ms between two looks at a model that learns

const make = (tag, properties = {}, ...children) => {
  const found = Object.assign(document.createElement(tag), properties);
  found.append(...children);
  return found;
};
const get = async (path, body) => {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, options);
  const found = await response.json();
  if (!response.ok) throw new Error(found.detail || response.statusText);
  return found;
};
const written = (v) => v.toLocaleString("en", { maximumFractionDigits: 2 });
const number = (v) => (v === "Infinity" ? Infinity : v === "-Infinity" ? -Infinity : v);
const bar = (name, share, value, kind = "") => {
  const fill = make("i");
  fill.style.width = `${Math.max(0, Math.min(100, 100 * share))}%`;
  return make("li", { className: `bar ${kind}` }, make("span", {}, ...breakable(name)), make("div", {}, fill),
    make("span", { className: "value", textContent: value }));
};

const prediction = make("p", { id: "prediction" });
const problem = make("p", { className: "error", hidden: true });
const classes = make("ol", { id: "classes" });
const classFilter = make("input", { type: "search", placeholder: "Find a class", ariaLabel: "Find a class", hidden: true });
const notes = make("p", { className: "soft" });
const evidence = make("ol", { id: "evidence" });
const words = make("ol", { id: "words", hidden: true });
const aboutWords = make("p", { className: "soft", hidden: true, textContent: "What each word does to the odds, compared with the text without it." });
const target = make("select", { id: "for", ariaLabel: "Evidence for" });
const prior = make("select", { ariaLabel: "Prior" },
  make("option", { value: "", textContent: "Prior as learned" }), make("option", { value: "uniform", textContent: "Uniform prior" }));
const filter = make("input", { type: "search", placeholder: "Find a column", ariaLabel: "Find a column", hidden: true });
const more = make("button", { type: "button", hidden: true });
const fields = make("fieldset");
const columns = []; // { name, read, write, usual, box }
let last = null; // the newest response
let without = []; // { word, odds }: the log-odds of each class without a word
let asked = 0;
let timer = 0;
let all = false;

function control(spec, k) {
  const id = `c${k}`;
  const box = make("div", { className: "column" }, make("label", { htmlFor: id }, ...breakable(spec.name)));
  const inputs = make("div", { className: "inputs single" });
  const change = () => later();
  let read, write;
  if (spec.kind === "category" && spec.levels.length <= 200) {
    const input = make("select", { id }, make("option", { textContent: "(missing)" }),
      ...spec.levels.map((v) => make("option", { textContent: levelName(v) })));
    read = () => (input.selectedIndex ? spec.levels[input.selectedIndex - 1] : null);
    write = (v) => { input.selectedIndex = v === null ? 0 : spec.levels.indexOf(v) + 1; };
    input.addEventListener("change", change);
    inputs.append(input);
  } else if (spec.kind === "number") {
    const input = make("input", { id, type: "number", step: spec.step, placeholder: "missing" });
    const slider = make("input", { type: "range", min: spec.low, max: spec.high, step: spec.step, ariaLabel: `${spec.name}, slider` });
    slider.disabled = !(spec.high > spec.low);
    read = () => (input.value === "" ? null : Number(input.value));
    const shade = () => slider.classList.toggle("unset", input.value === "");
    write = (v) => { input.value = v === null ? "" : v; if (v !== null) slider.value = v; shade(); };
    input.addEventListener("input", () => { if (input.value !== "") slider.value = input.value; shade(); change(); });
    slider.addEventListener("input", () => { input.value = slider.value; shade(); change(); });
    inputs.className = "inputs";
    inputs.append(input, slider);
  } else {
    const kind = spec.kind === "category" ? "text" : spec.kind;
    const input = spec.kind === "text"
      ? make("textarea", { id, rows: 4, placeholder: "missing" })
      : make("input", { id, type: kind, placeholder: "missing" });
    if (spec.kind === "text") box.classList.add("text");
    const known = new Map((spec.levels || []).map((v) => [String(v), v]));
    read = () => (input.value === "" ? null : known.has(input.value) ? known.get(input.value) : input.value);
    write = (v) => { input.value = v === null ? "" : String(v); };
    input.addEventListener("input", change);
    inputs.append(input);
    if (known.size) {
      input.setAttribute("list", `${id}-levels`);
      inputs.append(make("datalist", { id: `${id}-levels` }, ...[...known.keys()].map((v) => make("option", { value: v }))));
    }
  }
  box.append(inputs);
  return { name: spec.name, kind: spec.kind, usual: spec.usual === undefined ? null : spec.usual, read, write, box };
}

function show() {
  const wanted = filter.value.trim().toLowerCase();
  columns.forEach((c, k) => { c.box.hidden = wanted ? !c.name.toLowerCase().includes(wanted) : !all && k >= SHOWN; });
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(ask, WAIT);
}

// The values of all controls; a column may be called __proto__.
function given() {
  const row = Object.create(null);
  for (const c of columns) {
    const value = c.read();
    if (value !== null) row[c.name] = value;
  }
  const found = { ...row };
  if (Object.hasOwn(row, "__proto__")) Object.defineProperty(found, "__proto__", { value: row.__proto__, enumerable: true });
  return found;
}

const explain = (question) => get("explain", prior.value ? { ...question, prior: prior.value } : question);

async function ask() {
  const turn = ++asked;
  try {
    const row = given();
    const found = await explain({ row });
    if (turn !== asked) return;
    last = found;
    problem.hidden = true;
    draw();
    const left = columns.filter((c) => c.kind === "text" && row[c.name] && segmenter)
      .flatMap((c) => withoutEach(String(row[c.name]), MOST_WORDS).map(({ word, rest }) => ({ word, row: { ...row, [c.name]: rest } }))).slice(0, MOST_WORDS);
    const { rows } = left.length ? await explain({ rows: left.map((l) => l.row) }) : { rows: [] };
    if (turn !== asked) return;
    without = rows.map(({ log_odds }, i) => ({ word: left[i].word, odds: log_odds.map(number) }));
    drawWords();
  } catch (error) {
    if (turn !== asked) return;
    problem.textContent = error.message;
    problem.hidden = false;
  }
}

function draw() {
  const found = last.rows[0];
  const names = last.classes.map(String);
  const best = names.indexOf(String(found.prediction));
  prediction.textContent = `${names[best]}, ${percent(found.probability[best])}`;
  document.body.dataset.proba = JSON.stringify(found.probability);
  notes.textContent = (last.notes || []).join(" ");
  classFilter.hidden = names.length <= MAX_LISTED;
  const wanted = classFilter.value.trim().toLowerCase();
  let order = names.map((_, k) => k);
  if (names.length > MAX_LISTED) order.sort((a, b) => found.probability[b] - found.probability[a]);
  order = order.filter((k) => names[k].toLowerCase().includes(wanted)).slice(0, MAX_LISTED);
  classes.replaceChildren(...order.map((k) => bar(names[k], found.probability[k], percent(found.probability[k]))));
  const chosen = target.value;
  if (target.options.length !== names.length + 1) {
    target.replaceChildren(make("option", { value: "", textContent: "the predicted class" }),
      ...names.map((name, k) => make("option", { value: k, textContent: name })));
    target.value = chosen;
  }
  const k = target.value === "" ? best : Number(target.value);
  const lines = found.evidence.map((e) => ({ e, v: number(e.contribution[k]) })).filter((l) => Math.abs(l.v) > 1e-9);
  lines.push({ e: { column: "prior" }, v: number(found.prior[k]) });
  lines.sort((a, b) => Math.abs(b.v) - Math.abs(a.v));
  const rest = lines.slice(MAX_LISTED + 5);
  const together = rest.reduce((sum, { v }) => sum + v, 0);
  const top = Math.min(Math.max(Math.abs(lines[0].v), Math.abs(together)), 50) || 1;
  evidence.replaceChildren(...lines.slice(0, MAX_LISTED + 5).map(({ e, v }) => {
    const day = e.column.endsWith(DAYS) && typeof e.value === "number" && Math.abs(e.value) < 1e7;
    const shownValue = day ? new Date(864e5 * Math.floor(e.value)).toISOString().slice(0, 10) : e.value;
    const value = e.value === undefined || e.value === null ? (e.value === null && e.column !== "(together)" ? ": missing" : "") : ` = ${levelName(shownValue)}`;
    const name = day ? e.column.slice(0, -DAYS.length) : e.column === "(together)" ? "interactions of columns" : e.column;
    return bar(name + value, Math.abs(v) / top / 2, factor(v), v < 0 ? "against" : "for");
  }));
  if (rest.length) evidence.append(bar(`${rest.length} more together`, Math.abs(together) / top / 2, factor(together), together < 0 ? "against" : "for"));
}

// What each word of the texts does to the odds of the class: how these change when it is left out.
function drawWords() {
  const names = last.classes.map(String);
  const k = target.value === "" ? names.indexOf(String(last.rows[0].prediction)) : Number(target.value);
  const all = number(last.rows[0].log_odds[k]);
  const lines = without.map(({ word, odds }) => ({ word, v: all - odds[k] })).filter(({ v }) => Math.abs(v) > 0.005);
  lines.sort((a, b) => Math.abs(b.v) - Math.abs(a.v));
  const top = lines.length ? Math.min(Math.abs(lines[0].v), 50) : 1;
  words.replaceChildren(...lines.slice(0, MAX_LISTED).map(({ word, v }) => bar(word, Math.abs(v) / top / 2, factor(v), v < 0 ? "against" : "for")));
  aboutWords.hidden = words.hidden = !without.length;
}

async function counts() {
  const model = await get("model");
  const total = model.class_count.reduce((a, b) => a + b, 0);
  const few = model.classes.length <= MAX_LISTED ? ": " + model.classes.map((c, k) => `${c} (${written(model.class_count[k])})`).join(", ") : "";
  document.getElementById("learned").textContent =
    `${written(total)} rows learned in ${model.classes.length} classes${few}. ${model.learn ? "It is learning." : ""}`;
  return model.learn;
}

async function begin() {
  const answers = make("section", { id: "answer", ariaLive: "polite" }, make("h2", { textContent: "Prediction" }), prediction,
    problem, classFilter, classes, notes);
  const why = make("section", { id: "why" }, make("h2", { textContent: "Evidence for " }, target),
    make("p", { className: "soft", textContent: "Each line multiplies (×) or divides (÷) the odds of the class." }), evidence, aboutWords, words);
  const usual = make("button", { type: "button", textContent: "Typical row" });
  const missing = make("button", { type: "button", textContent: "All missing" });
  const inputs = make("section", {}, make("div", { className: "tools" }, usual, missing, prior, filter, more), fields);
  document.querySelector("main").replaceChildren(inputs, make("div", { id: "side" }, answers, why));
  prediction.textContent = "Loading the columns …";
  try {
    (await get("controls")).forEach((spec, k) => columns.push(control(spec, k)));
    fields.append(...columns.map((c) => c.box));
    filter.hidden = more.hidden = columns.length <= SHOWN;
    const title = () => { more.textContent = all ? `The ${SHOWN} most informative` : `All ${columns.length} columns`; };
    title();
    more.addEventListener("click", () => { all = !all; title(); show(); });
    filter.addEventListener("input", show);
    const fill = (value) => () => { columns.forEach((c) => c.write(value(c))); later(); };
    usual.addEventListener("click", fill((c) => c.usual));
    missing.addEventListener("click", fill(() => null));
    prior.addEventListener("change", later);
    target.addEventListener("change", () => { draw(); drawWords(); });
    classFilter.addEventListener("input", draw);
    show();
    columns.forEach((c) => c.write(c.usual));
    await ask();
    if (await counts()) setInterval(() => { if (!document.hidden) { ask(); counts().catch(() => {}); } }, AGAIN);
  } catch (error) {
    prediction.textContent = "";
    problem.textContent = error.message;
    problem.hidden = false;
  }
}

begin();
