// The map of the minutes, by which a span of time is chosen.

import { cpuOf } from "./cost.js";
import { daemon } from "./daemon.js";
import { $ } from "./element.js";
import { fetchJson } from "./query.js";
import { go, state } from "./state.js";
import { clockOf, seconds, shown, spanText } from "./text.js";

// Room for names, to the left of the minutes.
const LABELS = 130;
// How high the strip of all is, and that of a process.
const [TALL, LOW] = [22, 12];

let timeline = { minute: 60, minutes: [], processes: [] };
let drag = null;
let mark = null;
let anchor = null;
let later;

export async function loadTimeline() {
  try {
    timeline = await fetchJson("/api/timeline?top=12");
    drawMap();
  } catch (error) {
    $("map-note").textContent = shown(`The minutes cannot be shown: ${error.message}`);
  }
}

function axis() {
  const { minutes, minute } = timeline;
  if (!minutes.length) return null;
  // Of a clock that once was years ahead there may be minutes that nobody could ever scroll back from.
  const last = minutes.findLast(({ began }) => began <= daemon.time + 3600) ?? minutes[minutes.length - 1];
  const end = last.began + minute;
  const asked = Math.max(60, Math.min(1440, Math.ceil((end - minutes[0].began) / minute)));
  return { start: end - asked * minute, end, minute, count: asked };
}

export function drawMap() {
  const canvas = $("map");
  const strips = timeline.processes;
  const width = Math.max(300, canvas.clientWidth);
  const height = TALL + strips.length * LOW + 2 + LOW;
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
    pen.fillText("no minutes yet", LABELS, TALL / 2);
    return;
  }
  const step = (width - LABELS) / span.count;
  const x = (time) => LABELS + ((time - span.start) / span.minute) * step;
  const rows = [{ name: "all", ns: timeline.minutes.map(cpuOf), top: 0, height: TALL }];
  strips.forEach((strip, index) => rows.push({ name: strip.name, ns: strip.ns, top: TALL + index * LOW, height: LOW }));
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
  const every = [300, 900, 1800, 3600, 7200, 10800, 21600].find((one) => (one / span.minute) * step > 60) ?? 43200;
  const shift = new Date(span.start * 1000).getTimezoneOffset() * 60;
  pen.fillStyle = color("--quiet");
  for (let time = Math.ceil((span.start - shift) / every) * every + shift; time < span.end; time += every) {
    pen.fillRect(x(time), height - LOW - 2, 1, 3);
    if (x(time) + 32 < width) pen.fillText(clockOf(time), x(time) + 3, height - LOW / 2);
  }
  const frame = (one, stroke) => {
    if (!one || one === "now") return;
    pen.strokeStyle = stroke;
    pen.lineWidth = 2;
    const from = Math.max(LABELS, x(one.from));
    pen.strokeRect(from, 1, Math.max(2, x(one.until) - from), height - LOW - 3);
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
  const row = Math.floor((event.clientY - $("map").getBoundingClientRect().top - TALL) / LOW);
  const strip = timeline.processes[row];
  const ns = strip ? strip.ns[index] : cpuOf(timeline.minutes[index]);
  $("map-note").textContent = `${clockOf(at)}  ${strip ? shown(strip.name) : "all"}: ${seconds(ns)} s of CPU`;
}

// Says whether the key was one of the map's.
export function mapKey(event) {
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
  clearTimeout(later);
  later = setTimeout(() => choose(chosen), 120);
  return true;
}

export function startMap() {
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
}
