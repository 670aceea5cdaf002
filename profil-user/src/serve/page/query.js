// What the daemon is asked.

import { PATH, isComparing, state } from "./state.js";

// As many rows as it answers at most.
const LIMIT = 10000;

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

export async function fetchJson(path) {
  // The page's own address may have a token in it, with which a script may not ask; the browser sends it all the same.
  const response = await fetch(new URL(path, location.origin), { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error((await response.text()).slice(0, 300).trim() || `HTTP ${response.status}`);
  return response.json();
}

export function rowsQuery() {
  if (isComparing()) {
    const spans = [["a_from", "a_until", state.base], ["b_from", "b_until", state.span]];
    return `/api/diff?${query({ by: state.by, limit: LIMIT }, spans)}`;
  }
  const spans = [["from", "until", state.span]];
  if (state.by === "address" && "object" in state.path && "function" in state.path)
    return `/api/instructions?${query({ limit: LIMIT }, spans)}`;
  return `/api/rows?${query({ by: state.by, limit: LIMIT }, spans)}`;
}

export function profileQuery() {
  return `/api/profile.pb.gz?${query({}, [["from", "until", state.span]])}`;
}
