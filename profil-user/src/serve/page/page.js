// The page of the daemon: what is around the table, the keys, and when everything is loaded.

import { cpuOf } from "./cost.js";
import { loadDaemon } from "./daemon.js";
import { $, element } from "./element.js";
import { drawMap, loadTimeline, mapKey, startMap } from "./map.js";
import { PLURAL, drawPath, enter, groupBy, leave, startPath } from "./path.js";
import { profileQuery } from "./query.js";
import { arrange, cursor, data, loadRows, view } from "./rows.js";
import { follow, go, match, state } from "./state.js";
import { drawHead, drawRows, move, pageOfRows, sortByNext, startTable } from "./table.js";
import { seconds, shown, spanText, whole } from "./text.js";
import { useKeptTheme, useOtherTheme } from "./theme.js";

const REFRESH_MS = 5000;

async function load() {
  $("table").setAttribute("aria-busy", "true");
  drawFrame();
  try {
    if (!(await loadRows())) return;
    complain(data.reason ? `Addresses alone: ${data.reason}.` : "");
    drawAnew();
  } catch (error) {
    complain(`This cannot be shown: ${error.message}`);
  }
  $("table").setAttribute("aria-busy", "false");
}

function complain(text) {
  $("message").hidden = !text;
  $("message").textContent = shown(text);
}

// Other rows, or others of them.
function drawAnew() {
  arrange();
  drawFrame();
  drawRows(true);
}

function drawFrame() {
  drawPath();
  if (document.activeElement !== $("filter")) $("filter").value = state.match;
  const { span, base } = state;
  $("now").setAttribute("aria-pressed", span === null);
  $("compare").setAttribute("aria-pressed", base !== null);
  $("span").textContent = spanText(span);
  $("other").textContent = base === null ? "" : state.picking ? `${spanText(base)} with … select a span` : `before: ${spanText(base)}`;
  $("download").href = profileQuery();
  drawHead();
  drawSummary();
  drawMap();
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
    parts.push(`${seconds(cpuOf(matched))} s of CPU`);
    if (data.covered_s) parts.push(`${(cpuOf(matched) / 1e9 / data.covered_s).toFixed(2)} CPUs busy`);
    parts.push(`${whole(matched.ticks)} ticks`);
  }
  if (data.count > data.rows.length) parts.push(`the first ${whole(data.rows.length)} of ${whole(data.count)}`);
  summary.replaceChildren(element("span", "", parts.join(" · ")));
  if (!data.comparing)
    for (const mode of ["user", "system"]) summary.append(element("i", `key ${mode}`), element("span", "", mode));
}

async function drawDaemon() {
  if (await loadDaemon()) drawFrame();
}

function theme() {
  useOtherTheme();
  drawMap();
}

function compare() {
  if (state.base === null) go({ base: state.span ?? "now", picking: true });
  else go({ base: null, picking: false, sort: "" });
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
  const page = pageOfRows();
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
    s: sortByNext,
    m: () => $("map").focus(),
    n: () => go({ span: null, picking: false }),
    c: compare,
    d: () => $("download").click(),
    t: theme,
  };
  if (!(event.key in does)) return;
  event.preventDefault();
  does[event.key]();
}

function start() {
  useKeptTheme();
  startPath();
  startTable();
  startMap();
  document.addEventListener("keydown", key);
  $("now").addEventListener("click", () => go({ span: null, picking: false }));
  $("compare").addEventListener("click", compare);
  $("theme").addEventListener("click", theme);
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("filter").addEventListener("input", () => {
    match($("filter").value);
    drawAnew();
  });
  window.addEventListener("resize", () => {
    drawHead();
    drawMap();
    drawRows();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMap);
  follow(load);
  loadTimeline();
  drawDaemon();
  $("table").focus();
  setInterval(() => {
    if (document.hidden) return;
    const moves = state.span === null || state.base === "now";
    if (moves && !$("help").open) load();
  }, REFRESH_MS);
  setInterval(() => {
    if (document.hidden) return;
    drawDaemon();
    loadTimeline();
  }, 6 * REFRESH_MS);
}

start();
