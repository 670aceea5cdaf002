// The columns of the table: what of a row each one shows, and how.

import { cpuOf, partOf } from "./cost.js";
import { percent, plusMinus, seconds, shown, whole } from "./text.js";

const NUMBERS = [
  { key: "share", label: "share", width: "62px", of: (row) => row.share, text: (row) => percent(row.share) },
  { key: "error", label: "±", width: "48px", of: (row) => row.error, text: (row) => plusMinus(row.error) },
  { key: "bars", label: "", width: "minmax(60px, 140px)", bars: true, wide: true },
  { key: "user", label: "user", width: "58px", of: (row) => row.user_ns, text: (row, matched) => percent(partOf(row.user_ns, matched)), wide: true },
  { key: "system", label: "system", width: "58px", of: (row) => row.system_ns, text: (row, matched) => percent(partOf(row.system_ns, matched)), wide: true },
  { key: "cpu", label: "CPU s", width: "66px", of: cpuOf, text: (row) => seconds(cpuOf(row)) },
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
export const NAMES = {
  process: [
    name("process", "process", "minmax(120px, 1fr)"),
    { ...name("cgroup", "cgroup or container", "minmax(120px, 2fr)"), text: (row) => shown(row.container ? `${row.container.slice(0, 12)} ${row.cgroup}` : row.cgroup ?? "") },
  ],
  object: [name("object", "object", "minmax(160px, 1fr)")],
  function: [name("function", "function", "minmax(200px, 2fr)"), name("object", "object", "minmax(120px, 1fr)")],
  address: [name("address", "address", "130px", "name code"), name("text", "instruction", "minmax(200px, 1fr)", "name code")],
};

export function columnsOf({ by, comparing }) {
  const narrow = matchMedia("(max-width: 800px)").matches;
  const numbers = comparing ? CHANGES : NUMBERS;
  return [...numbers.filter((column) => !narrow || !column.wide), ...NAMES[by]];
}
