"use strict";

// Names are others': they reach the page as text only, with what moves or hides text written out.
const HIDDEN = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const shown = (name) => String(name).replace(HIDDEN, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);

const $ = (id) => document.getElementById(id);
const ROW = 22;
const REFRESH_MS = 5000;
const LABELS = 130;
const LEVELS = ["process", "object", "function", "address"];
const PLURAL = { process: "processes", object: "objects", function: "functions", address: "instructions" };
const PATH = ["process", "cgroup", "object", "function"];

// What is shown; the address bar holds it, so that it can be sent to somebody.
let state = parse("");
let data = { rows: [], matched: null, by: "process", comparing: false };
let view = [];
let cursor = 0;
let timeline = { minute: 60, minutes: [], processes: [] };
let daemon = {};
let turn = 0;

function parse(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const span = (name) => {
    const found = /^(\d{1,12})-(\d{1,12})$/.exec(given.get(name) || "");
    return found && +found[1] < +found[2] ? { from: +found[1], until: +found[2] } : null;
  };
  const next = { span: span("span"), base: given.get("base") === "now" ? "now" : span("base"), path: {}, match: given.get("match") || "" };
  for (const key of PATH) if (given.has(key)) next.path[key] = given.get(key);
  next.picking = given.has("picking") && next.base !== null;
  next.by = LEVELS.includes(given.get("by")) ? given.get("by") : "process";
  next.sort = given.get("sort") || "";
  next.up = given.has("up");
  // Whether the object was chosen, or came along with a function.
  next.own = given.has("own");
  return next;
}

function hashOf(one) {
  const given = new URLSearchParams();
  const span = (value) => (value === "now" ? "now" : `${value.from}-${value.until}`);
  if (one.span) given.set("span", span(one.span));
  if (one.base) given.set("base", span(one.base));
  if (one.picking) given.set("picking", "");
  for (const key of PATH) if (key in one.path) given.set(key, one.path[key]);
  if (one.by !== "process") given.set("by", one.by);
  if (one.sort) given.set("sort", one.sort);
  if (one.up) given.set("up", "");
  if (one.own) given.set("own", "");
  if (one.match) given.set("match", one.match);
  return `#${given}`;
}

// Goes somewhere: `keep` puts it in the place of where we are, so that the back button skips it.
function go(change, keep = false) {
  state = { ...state, ...change };
  const hash = hashOf(state);
  if (hash !== location.hash) history[keep ? "replaceState" : "pushState"](null, "", hash);
  load();
}

function query(extra, spans) {
  const given = new URLSearchParams(extra);
  for (const [from, until, span] of spans) {
    if (span && span !== "now") {
      given.set(from, span.from);
      given.set(until, span.until);
    }
  }
  for (const key of PATH) if (key in state.path) given.set(key, state.path[key]);
  return given;
}

async function fetchJson(path) {
  // The page's own address may have a token in it, with which a script may not ask; the browser sends it all the same.
  const response = await fetch(new URL(path, location.origin), { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error((await response.text()).slice(0, 300).trim() || `HTTP ${response.status}`);
  return response.json();
}

function isComparing() {
  return state.base !== null && !state.picking;
}

function address() {
  if (isComparing()) {
    const spans = [["a_from", "a_until", state.base], ["b_from", "b_until", state.span]];
    return `/api/diff?${query({ by: state.by, limit: 10000 }, spans)}`;
  }
  const spans = [["from", "until", state.span]];
  if (state.by === "address" && "object" in state.path && "function" in state.path)
    return `/api/instructions?${query({ limit: 10000 }, spans)}`;
  return `/api/rows?${query({ by: state.by, limit: 10000 }, spans)}`;
}

async function load() {
  const mine = ++turn;
  $("table").setAttribute("aria-busy", "true");
  drawFrame();
  const as = { by: state.by, comparing: isComparing() };
  try {
    const next = await fetchJson(address());
    if (mine !== turn) return;
    data = { ...next, ...as };
    complain(next.reason ? `Addresses alone: ${next.reason}.` : "");
    arrange();
  } catch (error) {
    if (mine !== turn) return;
    complain(`This cannot be shown: ${error.message}`);
  }
  $("table").setAttribute("aria-busy", "false");
}

function complain(text) {
  $("message").hidden = !text;
  $("message").textContent = shown(text);
}

// ---- columns ----

const cpuOf = (row) => row.user_ns + row.system_ns;
const percent = (part) => `${(100 * part).toFixed(part > 0 && part < 0.001 ? 2 : 1)} %`;
const plusMinus = (error) => `±${(100 * error).toFixed(error > 0 && error < 0.001 ? 2 : 1)}`;
const whole = (number) => number.toLocaleString("en-US");
const part = (row, ns) => (data.matched && cpuOf(data.matched) ? ns / cpuOf(data.matched) : 0);

const NUMBERS = [
  { key: "share", label: "share", width: "62px", of: (row) => row.share, text: (row) => percent(row.share) },
  { key: "error", label: "±", width: "48px", of: (row) => row.error, text: (row) => plusMinus(row.error) },
  { key: "bars", label: "", width: "minmax(60px, 140px)", bars: true, wide: true },
  { key: "user", label: "user", width: "58px", of: (row) => row.user_ns, text: (row) => percent(part(row, row.user_ns)), wide: true },
  { key: "system", label: "system", width: "58px", of: (row) => row.system_ns, text: (row) => percent(part(row, row.system_ns)), wide: true },
  { key: "cpu", label: "CPU s", width: "66px", of: cpuOf, text: (row) => (cpuOf(row) / 1e9).toFixed(2) },
  { key: "ticks", label: "ticks", width: "66px", of: (row) => row.ticks, text: (row) => whole(row.ticks), wide: true },
];
const CHANGES = [
  { key: "before", label: "before", width: "66px", of: (row) => row.shares[0], text: (row) => percent(row.shares[0]) },
  { key: "after", label: "after", width: "66px", of: (row) => row.shares[1], text: (row) => percent(row.shares[1]) },
  {
    key: "change", label: "change", width: "78px", of: (row) => Math.abs(row.change),
    text: (row) => `${row.change < 0 ? "−" : "+"}${(100 * Math.abs(row.change)).toFixed(1)} %`,
    kind: (row) => (!row.significant ? "chance" : row.change > 0 ? "more" : "less"),
  },
  { key: "error", label: "±", width: "48px", of: (row) => row.change_error, text: (row) => plusMinus(row.change_error) },
  {
    key: "verdict", label: "", width: "64px", of: (row) => +row.significant,
    text: (row) => (row.significant ? "real" : "chance?"), kind: (row) => (row.significant ? "" : "chance"),
  },
];
const name = (key, label, width, kind = "name") => ({ key, label, width, kind: () => kind, isName: true, of: (row) => row[key] ?? "", text: (row) => shown(row[key] ?? "") });
const NAMES = {
  process: [
    name("process", "process", "minmax(120px, 1fr)"),
    { ...name("cgroup", "cgroup or container", "minmax(120px, 2fr)"), text: (row) => shown(row.container ? `${row.container.slice(0, 12)} ${row.cgroup}` : row.cgroup ?? "") },
  ],
  object: [name("object", "object", "minmax(160px, 1fr)")],
  function: [name("function", "function", "minmax(200px, 2fr)"), name("object", "object", "minmax(120px, 1fr)")],
  address: [name("address", "address", "130px", "name code"), name("text", "instruction", "minmax(200px, 1fr)", "name code")],
};

function columns() {
  const narrow = matchMedia("(max-width: 800px)").matches;
  const numbers = data.comparing ? CHANGES : NUMBERS;
  return [...numbers.filter((column) => !narrow || !column.wide), ...NAMES[data.by]];
}

const keyOf = (row) => NAMES[data.by].map((column) => row[column.key] ?? "").join("\u0000");

// Filters and sorts what was loaded, and keeps the cursor on its row.
function arrange() {
  const wanted = state.match.toLowerCase();
  const before = view[cursor] ? view[cursor].key : null;
  const names = NAMES[data.by];
  view = [];
  for (const row of data.rows) {
    const hit = !wanted || names.some((column) => column.text(row).toLowerCase().includes(wanted) || String(row[column.key] ?? "").toLowerCase().includes(wanted));
    if (hit) view.push({ row, key: keyOf(row) });
  }
  const column = columns().find((one) => one.key === state.sort && one.of);
  if (column) {
    const down = column.isName ? 1 : -1;
    const sign = state.up ? -down : down;
    view.sort((a, b) => {
      const [one, two] = [column.of(a.row), column.of(b.row)];
      return sign * (one < two ? -1 : one > two ? 1 : 0);
    });
  }
  longest = view.reduce((most, { row }) => Math.max(most, row.share + row.error), 0) || 1;
  const same = view.findIndex((one) => one.key === before);
  cursor = same >= 0 ? same : 0;
  drawFrame();
  drawRows(true);
}

// ---- the table ----

function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawHead() {
  const widths = columns().map((column) => column.width).join(" ");
  const head = $("head");
  head.style.gridTemplateColumns = widths;
  head.replaceChildren(...columns().map((column) => {
    const cell = element("div", column.isName ? "" : "number");
    cell.setAttribute("role", "columnheader");
    if (!column.of) return cell;
    const isSorted = column.key === (state.sort || (data.comparing ? "change" : "share"));
    if (isSorted && !(data.by === "address" && !state.sort))
      cell.setAttribute("aria-sort", Boolean(state.up) !== Boolean(column.isName) ? "ascending" : "descending");
    const button = element("button", "", column.label);
    button.tabIndex = -1;
    button.addEventListener("click", () => sortBy(column.key));
    cell.append(button);
    return cell;
  }));
}

function sortBy(key) {
  go({ sort: key, up: state.sort === key ? !state.up : false }, true);
}

// How long the longest bar is: the row with the largest share has it.
let longest = 1;

function bars(row) {
  const box = element("div", "bars");
  const place = (kind, from, until) => {
    const one = element("i", kind);
    const [left, right] = [Math.max(0, from / longest), Math.min(1, until / longest)];
    one.style.left = `${100 * left}%`;
    one.style.width = `${100 * Math.max(0, right - left)}%`;
    box.append(one);
  };
  const [user, system] = [part(row, row.user_ns), part(row, row.system_ns)];
  place("user", 0, user);
  place("system", user, user + system);
  if (row.error > 0) place("error", row.share - row.error, row.share + row.error);
  return box;
}

// Only rows that can be seen are in the document.
function drawRows(scroll = false) {
  const body = $("body");
  $("rows").style.height = `${view.length * ROW}px`;
  if (scroll) keepInSight();
  const first = Math.max(0, Math.floor(body.scrollTop / ROW) - 5);
  const end = Math.min(view.length, Math.ceil((body.scrollTop + body.clientHeight) / ROW) + 5);
  const all = columns();
  const widths = all.map((column) => column.width).join(" ");
  const made = [];
  for (let index = first; index < end; index++) {
    const { row } = view[index];
    const line = element("div", "row");
    line.id = `row-${index}`;
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", index + 2);
    line.setAttribute("aria-selected", index === cursor);
    line.style.top = `${index * ROW}px`;
    line.style.gridTemplateColumns = widths;
    for (const column of all) {
      const kind = `${column.isName ? "" : "number"} ${column.kind ? column.kind(row) : ""}`.trim();
      const cell = column.bars ? element("div") : element("div", kind, column.text(row));
      if (column.bars) cell.append(bars(row));
      if (column.isName) cell.title = cell.textContent;
      cell.setAttribute("role", "gridcell");
      line.append(cell);
    }
    made.push(line);
  }
  $("rows").replaceChildren(...made);
  if (!view.length) $("rows").append(element("p", "empty quiet", state.match ? "Nothing has that in its name." : "No CPU time was seen here."));
  const table = $("table");
  table.setAttribute("aria-rowcount", view.length + 1);
  if (view.length) table.setAttribute("aria-activedescendant", `row-${cursor}`);
  else table.removeAttribute("aria-activedescendant");
}

function keepInSight() {
  const body = $("body");
  const top = cursor * ROW;
  if (top < body.scrollTop) body.scrollTop = top;
  else if (top + ROW > body.scrollTop + body.clientHeight) body.scrollTop = top + ROW - body.clientHeight;
}

function move(to) {
  cursor = Math.max(0, Math.min(view.length - 1, to));
  drawRows(true);
}

function enter(index = cursor) {
  if (!view[index]) return;
  const { row } = view[index];
  const path = { ...state.path };
  let { own } = state;
  if (data.by === "process") {
    path.process = row.process;
    path.cgroup = row.cgroup;
  } else if (data.by === "object") {
    path.object = row.object;
    own = true;
  } else if (data.by === "function") {
    path.object = row.object;
    path.function = row.function;
  } else {
    return;
  }
  walk(path, data.by === "function" ? "address" : "function", own);
}

function leave() {
  const path = { ...state.path };
  let { own } = state;
  let by = "function";
  if ("function" in path) {
    delete path.function;
    if (!own) delete path.object;
  } else if ("object" in path) {
    delete path.object;
    own = false;
    by = "object";
  } else if ("process" in path) {
    delete path.process;
    delete path.cgroup;
    by = "process";
  } else if (state.by !== "process") {
    by = "process";
  } else {
    return;
  }
  walk(path, by, own);
}

// To other rows: what was said of the last ones does not matter there.
function walk(path, by, own) {
  cursor = 0;
  $("body").scrollTop = 0;
  go({ path, by, own, match: "", sort: "", up: false });
}

function drawFrame() {
  const crumbs = [];
  const crumb = (text, change) => {
    if (crumbs.length) crumbs.push(element("span", "quiet", "›"));
    const button = element("button", "name", shown(text));
    button.addEventListener("click", () => walk(change.path, change.by, change.own ?? state.own));
    crumbs.push(button);
  };
  const { process, cgroup, object, function: fn } = state.path;
  const up = {};
  crumb(daemon.host || "machine", { path: {}, by: "process", own: false });
  if (process !== undefined) {
    up.process = process;
    if (cgroup !== undefined) up.cgroup = cgroup;
    crumb(process || "(no name)", { path: { ...up }, by: "function", own: false });
  }
  if (object !== undefined) {
    up.object = object;
    crumb(object, { path: { ...up }, by: "function", own: true });
  }
  if (fn !== undefined) {
    up.function = fn;
    crumb(fn, { path: { ...up }, by: "address" });
  }
  crumbs[crumbs.length - 1].setAttribute("aria-current", "page");
  const had = document.activeElement && $("crumbs").contains(document.activeElement);
  $("crumbs").replaceChildren(...crumbs);
  if (had) $("table").focus();

  const allowed = { process: true, object: fn === undefined, function: fn === undefined };
  for (const button of $("by").children) {
    const level = button.dataset.level;
    button.setAttribute("aria-pressed", level === state.by);
    button.disabled = !allowed[level];
  }
  if (document.activeElement !== $("filter")) $("filter").value = state.match;
  const { span, base } = state;
  $("now").setAttribute("aria-pressed", span === null);
  $("compare").setAttribute("aria-pressed", base !== null);
  $("span").textContent = spanText(span);
  $("other").textContent = base === null ? "" : state.picking ? `${spanText(base)} with … select a span` : `before: ${spanText(base)}`;
  $("download").href = `/api/profile.pb.gz?${query({}, [["from", "until", span]])}`;
  drawHead();
  drawSummary();
  drawMap();
}

function spanText(span) {
  if (span === null || span === "now") return "last minute";
  const clock = (seconds) => new Date(seconds * 1000).toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "short" });
  const minutes = Math.round((span.until - span.from) / 60);
  return `${clock(span.from)} – ${clock(span.until).slice(11)} (${minutes} min)`;
}

function drawSummary() {
  const summary = $("summary");
  const { matched } = data;
  const parts = [];
  const rows = view.length === data.rows.length ? whole(view.length) : `${whole(view.length)} of ${whole(data.rows.length)}`;
  parts.push(`${rows} ${PLURAL[data.by]}`);
  if (data.comparing) {
    parts.push(`${whole(matched[0].ticks)} ticks before, ${whole(matched[1].ticks)} after`);
    parts.push("grey: chance explains it");
  } else if (matched) {
    parts.push(`${(cpuOf(matched) / 1e9).toFixed(2)} s of CPU`);
    if (data.covered_s) parts.push(`${(cpuOf(matched) / 1e9 / data.covered_s).toFixed(2)} CPUs busy`);
    parts.push(`${whole(matched.ticks)} ticks`);
  }
  if (data.count > data.rows.length) parts.push(`the first ${whole(data.rows.length)} of ${whole(data.count)}`);
  summary.replaceChildren(element("span", "", parts.join(" · ")));
  if (!data.comparing)
    for (const mode of ["user", "system"]) summary.append(element("i", `key ${mode}`), element("span", "", mode));
}

// ---- the minutes ----

let drag = null;
let mark = null;
let anchor = null;

const clockOf = (seconds) => new Date(seconds * 1000).toTimeString().slice(0, 5);

function axis() {
  const { minutes, minute } = timeline;
  if (!minutes.length) return null;
  // Of a clock that once was years ahead there may be minutes that nobody could ever scroll back from.
  const last = minutes.findLast(({ began }) => began <= daemon.time + 3600) ?? minutes[minutes.length - 1];
  const end = last.began + minute;
  const asked = Math.max(60, Math.min(1440, Math.ceil((end - minutes[0].began) / minute)));
  return { start: end - asked * minute, end, minute, count: asked };
}

function drawMap() {
  const canvas = $("map");
  const strips = timeline.processes;
  const width = Math.max(300, canvas.clientWidth);
  const [tall, low] = [22, 12];
  const height = tall + strips.length * low + 2 + low;
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const color = (one) => style.getPropertyValue(one).trim();
  const span = axis();
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.fillStyle = color("--quiet");
  if (!span) {
    pen.fillText("no minutes yet", LABELS, tall / 2);
    return;
  }
  const step = (width - LABELS) / span.count;
  const x = (time) => LABELS + ((time - span.start) / span.minute) * step;
  const rows = [{ name: "all", ns: timeline.minutes.map(cpuOf), top: 0, height: tall }];
  strips.forEach((strip, index) => rows.push({ name: strip.name, ns: strip.ns, top: tall + index * low, height: low }));
  const hot = color("--hot");
  const hottest = Math.max(1, ...strips.flatMap((strip) => strip.ns));
  for (const row of rows) {
    pen.fillStyle = color("--quiet");
    pen.fillText(shown(row.name).slice(0, 20), 0, row.top + row.height / 2, LABELS - 8);
    const most = Math.max(1, ...row.ns);
    row.ns.forEach((ns, index) => {
      const at = x(timeline.minutes[index].began);
      if (at < LABELS - 0.01 || at >= width) return;
      const heat = Math.sqrt(ns / hottest);
      const size = row.top ? row.height - 1 : Math.max(1, (row.height - 3) * (ns / most));
      pen.fillStyle = `rgb(${hot} / ${row.top ? Math.max(0.04, heat) : 0.75})`;
      pen.fillRect(at, row.top ? row.top : row.height - 2 - size, Math.max(1, step - (step > 4 ? 1 : 0)), size);
    });
  }
  // Times below, so many that they do not touch.
  const every = [300, 900, 1800, 3600, 7200, 10800, 21600].find((seconds) => (seconds / span.minute) * step > 60) ?? 43200;
  const shift = new Date(span.start * 1000).getTimezoneOffset() * 60;
  pen.fillStyle = color("--quiet");
  for (let time = Math.ceil((span.start - shift) / every) * every + shift; time < span.end; time += every) {
    pen.fillRect(x(time), height - low - 2, 1, 3);
    if (x(time) + 32 < width) pen.fillText(clockOf(time), x(time) + 3, height - low / 2);
  }
  const frame = (one, stroke) => {
    if (!one || one === "now") return;
    pen.strokeStyle = stroke;
    pen.lineWidth = 2;
    const from = Math.max(LABELS, x(one.from));
    pen.strokeRect(from, 1, Math.max(2, x(one.until) - from), height - low - 3);
  };
  frame(state.base, color("--system"));
  frame(drag ? spanOf(drag) : state.span, color("--accent"));
  if (mark !== null && document.activeElement === canvas) frame({ from: mark, until: mark + span.minute }, color("--ink"));
  canvas.setAttribute("aria-valuemin", span.start);
  canvas.setAttribute("aria-valuemax", span.end - span.minute);
  canvas.setAttribute("aria-valuenow", mark ?? span.end - span.minute);
  canvas.setAttribute("aria-valuetext", spanText(state.span));
}

const spanOf = ({ from, to }) => ({ from: Math.min(from, to), until: Math.max(from, to) + timeline.minute });

function minuteAt(event) {
  const span = axis();
  if (!span) return null;
  const box = $("map").getBoundingClientRect();
  const step = (box.width - LABELS) / span.count;
  const index = Math.floor((event.clientX - box.left - LABELS) / step);
  return span.start + Math.max(0, Math.min(span.count - 1, index)) * span.minute;
}

function choose(span) {
  go({ span, picking: false });
}

function pointAt(event) {
  const at = minuteAt(event);
  const index = at === null ? -1 : timeline.minutes.findIndex((minute) => minute.began === at);
  if (index < 0) {
    $("map-note").textContent = "\u00a0";
    return;
  }
  const row = Math.floor((event.clientY - $("map").getBoundingClientRect().top - 22) / 12);
  const strip = timeline.processes[row];
  const ns = strip ? strip.ns[index] : cpuOf(timeline.minutes[index]);
  $("map-note").textContent = `${clockOf(at)}  ${strip ? shown(strip.name) : "all"}: ${(ns / 1e9).toFixed(2)} s of CPU`;
}

function mapKey(event) {
  const span = axis();
  if (!span) return false;
  const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -60, PageDown: 60, Home: -span.count, End: span.count };
  if (event.key === "Escape") {
    $("table").focus();
    return true;
  }
  if (!(event.key in steps)) return false;
  const last = span.end - span.minute;
  const from = mark ?? (state.span ? state.span.until - span.minute : last + span.minute);
  const to = Math.max(span.start, Math.min(last, from + steps[event.key] * span.minute));
  if (!event.shiftKey) anchor = to;
  else anchor ??= Math.min(from, last);
  mark = to;
  drawMap();
  const chosen = spanOf({ from: anchor, to });
  clearTimeout(mapKey.later);
  mapKey.later = setTimeout(() => choose(chosen), 120);
  return true;
}

async function loadTimeline() {
  try {
    timeline = await fetchJson("/api/timeline?top=12");
    drawMap();
  } catch (error) {
    $("map-note").textContent = shown(`The minutes cannot be shown: ${error.message}`);
  }
}

async function loadDaemon() {
  try {
    daemon = await fetchJson("/api/daemon");
    $("host").textContent = shown(daemon.host);
    document.title = `${shown(daemon.host)} – profil-bpf`;
    const lost = daemon.damaged + daemon.unwritten;
    $("facts").textContent = `${daemon.hz} Hz, ${daemon.cpus} CPUs, ${whole(daemon.minutes)} min kept` + (lost ? `, ${whole(lost)} damaged or unwritten` : "");
    drawFrame();
  } catch {
    // The rows say what is wrong.
  }
}

// ---- light and dark ----

function theme(next) {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = next || (dark ? "light" : "dark");
  try {
    localStorage.setItem("theme", document.documentElement.dataset.theme);
  } catch {
    // Then it is forgotten.
  }
  drawMap();
}

function compare() {
  if (state.base === null) go({ base: state.span ?? "now", picking: true });
  else go({ base: null, picking: false, sort: "" });
}

function groupBy(level) {
  const button = [...$("by").children].find((one) => one.dataset.level === level);
  if (!button || button.disabled) return;
  const path = { ...state.path };
  if (level === "process") {
    delete path.process;
    delete path.cgroup;
  }
  walk(path, level, state.own);
}

function key(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || $("help").open) return;
  const inFilter = event.target === $("filter");
  if (event.target === $("map") && mapKey(event)) {
    event.preventDefault();
    return;
  }
  if (inFilter && !["Enter", "Escape", "ArrowDown", "ArrowUp"].includes(event.key)) return;
  if (event.key === "Enter" && !inFilter && event.target.closest("button, a")) return;
  if (event.key === " " && event.target.closest("button, a")) return;
  const page = Math.max(1, Math.floor($("body").clientHeight / ROW) - 1);
  const sorts = columns().filter((column) => column.of).map((column) => column.key);
  const does = {
    ArrowDown: () => move(cursor + 1),
    ArrowUp: () => move(cursor - 1),
    PageDown: () => move(cursor + page),
    PageUp: () => move(cursor - page),
    Home: () => move(0),
    End: () => move(view.length - 1),
    Enter: () => (inFilter ? $("table").focus() : enter()),
    Backspace: leave,
    Escape: () => {
      if (state.match) go({ match: "" }, true);
      $("filter").value = "";
      $("table").focus();
    },
    "/": () => $("filter").select(),
    "?": () => $("help").showModal(),
    1: () => groupBy("process"),
    2: () => groupBy("object"),
    3: () => groupBy("function"),
    s: () => sortBy(sorts[(sorts.indexOf(state.sort || (data.comparing ? "change" : "share")) + 1) % sorts.length]),
    m: () => $("map").focus(),
    n: () => go({ span: null, picking: false }),
    c: compare,
    d: () => $("download").click(),
    t: () => theme(),
  };
  if (!(event.key in does)) return;
  event.preventDefault();
  does[event.key]();
}

function start() {
  try {
    const kept = localStorage.getItem("theme");
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch {
    // Then it is as the system has it.
  }
  for (const level of LEVELS.slice(0, 3)) {
    const button = element("button", "", PLURAL[level]);
    button.dataset.level = level;
    button.addEventListener("click", () => groupBy(level));
    $("by").append(button);
  }
  document.addEventListener("keydown", key);
  $("now").addEventListener("click", () => go({ span: null, picking: false }));
  $("compare").addEventListener("click", compare);
  $("theme").addEventListener("click", () => theme());
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("filter").addEventListener("input", () => {
    state.match = $("filter").value;
    history.replaceState(null, "", hashOf(state));
    arrange();
  });
  let waits = false;
  $("body").addEventListener("scroll", () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      drawRows();
    });
  });
  $("rows").addEventListener("click", (event) => {
    const line = event.target.closest(".row");
    if (!line) return;
    cursor = +line.getAttribute("aria-rowindex") - 2;
    $("table").focus();
    enter();
  });
  const map = $("map");
  map.addEventListener("pointerdown", (event) => {
    const at = minuteAt(event);
    if (at === null) return;
    map.setPointerCapture(event.pointerId);
    drag = { from: at, to: at };
    mark = anchor = at;
    drawMap();
  });
  map.addEventListener("pointermove", (event) => {
    pointAt(event);
    if (!drag || !map.hasPointerCapture(event.pointerId)) return;
    drag.to = minuteAt(event);
    drawMap();
  });
  map.addEventListener("pointerup", () => {
    if (!drag) return;
    const span = spanOf(drag);
    drag = null;
    choose(span);
  });
  for (const kind of ["focus", "blur"]) map.addEventListener(kind, drawMap);
  const again = () => {
    state = parse(location.hash);
    load();
  };
  window.addEventListener("popstate", again);
  window.addEventListener("hashchange", again);
  window.addEventListener("resize", () => {
    drawHead();
    drawMap();
    drawRows();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMap);
  state = parse(location.hash);
  load();
  loadTimeline();
  loadDaemon();
  $("table").focus();
  setInterval(() => {
    if (document.hidden) return;
    const moves = state.span === null || state.base === "now";
    if (moves && !$("help").open) load();
  }, REFRESH_MS);
  setInterval(() => {
    if (document.hidden) return;
    loadDaemon();
    loadTimeline();
  }, 6 * REFRESH_MS);
}

start();
