// The table of rows.

import { partOf } from "./cost.js";
import { $, element } from "./element.js";
import { enter } from "./path.js";
import { columns, cursor, data, longest, moveTo, sorted, view } from "./rows.js";
import { go, state } from "./state.js";

// As high as the style says.
const ROW = 22;

export function drawHead() {
  const widths = columns().map((column) => column.width).join(" ");
  const head = $("head");
  head.style.gridTemplateColumns = widths;
  head.replaceChildren(...columns().map((column) => {
    const cell = element("div", column.isName ? "" : "number");
    cell.setAttribute("role", "columnheader");
    if (!column.of) return cell;
    const isSorted = column.key === sorted();
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

export function sortByNext() {
  const keys = columns().filter((column) => column.of).map((column) => column.key);
  sortBy(keys[(keys.indexOf(sorted()) + 1) % keys.length]);
}

function bars(row) {
  const box = element("div", "bars");
  const place = (kind, from, until) => {
    const one = element("i", kind);
    const [left, right] = [Math.max(0, from / longest), Math.min(1, until / longest)];
    one.style.left = `${100 * left}%`;
    one.style.width = `${100 * Math.max(0, right - left)}%`;
    box.append(one);
  };
  const [user, system] = [partOf(row.user_ns, data.matched), partOf(row.system_ns, data.matched)];
  place("user", 0, user);
  place("system", user, user + system);
  if (row.error > 0) place("error", row.share - row.error, row.share + row.error);
  return box;
}

// Only rows that can be seen are in the document.
export function drawRows(scroll = false) {
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
      const cell = column.bars ? element("div") : element("div", kind, column.text(row, data.matched));
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

export function move(index) {
  moveTo(index);
  drawRows(true);
}

// How far the keys for a page go.
export const pageOfRows = () => Math.max(1, Math.floor($("body").clientHeight / ROW) - 1);

export function startTable() {
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
    moveTo(+line.getAttribute("aria-rowindex") - 2);
    $("table").focus();
    enter();
  });
}
