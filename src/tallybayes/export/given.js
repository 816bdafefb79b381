// Columns as they are given → columns as they are read: a date becomes its parts, a name of a row is left out.
// What a row says of the parts themselves stands, if the date is not there.

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY = 86_400e6; // microseconds
const CLOCK = "(\\d\\d):(\\d\\d)(?::(\\d\\d)(?:[.,](\\d{1,6}))?)?";
const DATE = new RegExp("^(\\d{4})-(\\d\\d)-(\\d\\d)(?:[T ]" + CLOCK + "(Z|[+-]\\d\\d:?\\d\\d)?)?$");
const TIME = new RegExp("^" + CLOCK + "$");

function clock(hour, minute, second = "0", fraction = "") {
  if (hour > 23 || minute > 59 || second > 59) return NaN;
  return ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1e6 + Number(fraction.padEnd(6, "0"));
}

// microseconds that +02:00 is ahead of UTC
function ahead(offset) {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(offset) ?? [0, "+", 0, 0];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60e6;
}

// the same for a zone by its name, at a moment of UTC
function aheadIn(zone, micro) {
  const at = Math.floor(micro / 1e6) * 1000;
  const form = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, hourCycle: "h23", era: "short", year: "numeric", month: "numeric", day: "numeric",
    hour: "numeric", minute: "numeric", second: "numeric",
  });
  const part = Object.fromEntries(form.formatToParts(at).map((p) => [p.type, Number(p.value)]));
  return (utc(part.year, part.month, part.day) * 86_400_000 + ((part.hour * 60 + part.minute) * 60 + part.second) * 1000 - at) * 1000;
}

// days since 1970, NaN if there is no such day
function utc(year, month, day) {
  const found = new Date(0);
  found.setUTCFullYear(year, month - 1, day);
  return year > 0 && found.getUTCMonth() === month - 1 && found.getUTCDate() === day ? found.getTime() / 86_400_000 : NaN;
}

function refuse(given, value) {
  const wanted = given.what === "time" ? "a time such as \"18:30\""
    : given.what === "duration" ? "its length in days as " + JSON.stringify(given.parts.days)
    : "a date such as \"2024-02-29\" or \"2024-02-29T18:30\"";
  throw new TypeError("column " + given.name + " has " + JSON.stringify(value) + ", which is no " + given.what + " here: give " + wanted);
}

// microseconds since 1970 as the wall clock of the model's zone shows them
function moment(given, text) {
  const found = DATE.exec(text);
  if (!found) return NaN;
  const [, year, month, day, hour, minute, second, fraction, offset] = found;
  let micro = utc(Number(year), Number(month), Number(day)) * DAY;
  if (hour !== undefined) micro += clock(hour, minute, second, fraction);
  if (offset === undefined || Number.isNaN(micro)) return micro;
  micro -= ahead(offset);
  if (given.zone === null || given.zone === "UTC") return micro;
  return micro + (/^[+-]/.test(given.zone) ? ahead(given.zone) : aheadIn(given.zone, micro));
}

function partsOf(given, value) {
  if (value instanceof Date && given.what !== "time") value = value.toISOString();
  const text = typeof value === "string" ? value.trim() : "";
  if (given.what === "time") {
    const found = TIME.exec(text);
    const micro = found ? clock(...found.slice(1)) : NaN;
    if (Number.isNaN(micro)) refuse(given, value);
    return { hours: [24 * (micro / DAY)] };
  }
  const micro = given.what === "duration" ? NaN : moment(given, text);
  if (Number.isNaN(micro)) refuse(given, value);
  const day = Math.floor(micro / DAY);
  const left = micro - day * DAY;
  const date = new Date(day * 86_400_000);
  const month = date.getUTCMonth();
  const weekday = (((day + 3) % 7) + 7) % 7; // 1970-01-01 was a Thursday
  const hour = Math.floor(left / 3600e6);
  // as a label, and as a number where the model reads one
  return {
    "days since 1970": [day + left / DAY],
    year: [date.getUTCFullYear()],
    month: [MONTHS[month], month + 1],
    weekday: [WEEKDAYS[weekday], weekday + 1],
    hour: [hour, hour],
  };
}

// A function from rows as they are given to rows as they are read.
export function spreader(all, columns) {
  const levels = new Set(columns.filter((column) => column.reads === "levels").map((column) => column.name));
  return (row) => {
    if (Array.isArray(row) || !all.some((given) => Object.hasOwn(row, given.name))) return row;
    const out = { ...row };
    for (const given of all) {
      if (!Object.hasOwn(row, given.name)) continue;
      const value = row[given.name] ?? null;
      delete out[given.name];
      if (given.what === "id" || value === null) continue;
      const found = partsOf(given, value);
      for (const [part, name] of Object.entries(given.parts)) out[name] = found[part].at(levels.has(name) ? 0 : -1);
    }
    return out;
  };
}
