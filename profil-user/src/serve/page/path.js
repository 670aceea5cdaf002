// The path from the machine to a function, and what its rows are grouped by.

import { daemon } from "./daemon.js";
import { $, element } from "./element.js";
import { cursor, data, moveTo, view } from "./rows.js";
import { LEVELS, go, state } from "./state.js";
import { shown } from "./text.js";

export const PLURAL = { process: "processes", object: "objects", function: "functions", address: "instructions" };

export function enter() {
  if (!view[cursor]) return;
  const { row } = view[cursor];
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

export function leave() {
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

export function groupBy(level) {
  const button = [...$("by").children].find((one) => one.dataset.level === level);
  if (!button || button.disabled) return;
  const path = { ...state.path };
  if (level === "process") {
    delete path.process;
    delete path.cgroup;
  }
  walk(path, level, state.own);
}

// To other rows: what was said of the last ones does not matter there.
function walk(path, by, own) {
  moveTo(0);
  $("body").scrollTop = 0;
  go({ path, by, own, match: "", sort: "", up: false });
}

export function drawPath() {
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
}

export function startPath() {
  for (const level of LEVELS.slice(0, 3)) {
    const button = element("button", "", PLURAL[level]);
    button.dataset.level = level;
    button.addEventListener("click", () => groupBy(level));
    $("by").append(button);
  }
}
