// The rows that were loaded, and those of them that are shown.

import { NAMES, columnsOf } from "./columns.js";
import { fetchJson, rowsQuery } from "./query.js";
import { isComparing, state } from "./state.js";

export let data = { rows: [], matched: null, by: "process", comparing: false };
export let view = [];
export let cursor = 0;
// How long the longest bar is: the row with the largest share has it.
export let longest = 1;

let turn = 0;

// Loads the rows of what is shown. `false` if others were asked for meanwhile: whoever did gets those.
export async function loadRows() {
  const mine = ++turn;
  const as = { by: state.by, comparing: isComparing() };
  try {
    const next = await fetchJson(rowsQuery());
    if (mine !== turn) return false;
    data = { ...next, ...as };
  } catch (error) {
    if (mine !== turn) return false;
    throw error;
  }
  return true;
}

export const columns = () => columnsOf(data);

// The column that they are sorted by: without a choice it is that of the server.
export const sorted = () => state.sort || (data.comparing ? "change" : "share");

const keyOf = (row) => NAMES[data.by].map((column) => row[column.key] ?? "").join("\u0000");

// Filters and sorts what was loaded, and keeps the cursor on its row.
export function arrange() {
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
}

export function moveTo(index) {
  cursor = Math.max(0, Math.min(view.length - 1, index));
}
