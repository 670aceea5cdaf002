// What is shown; the address bar holds it, so that it can be sent to somebody.

export const LEVELS = ["process", "object", "function", "address"];
export const PATH = ["process", "cgroup", "object", "function"];

export let state = parse("");

// What is done when we have got somewhere.
let arrived = () => {};

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
export function go(change, keep = false) {
  state = { ...state, ...change };
  const hash = hashOf(state);
  if (hash !== location.hash) history[keep ? "replaceState" : "pushState"](null, "", hash);
  arrived();
}

// Filters what is there already: that is no other place.
export function match(text) {
  state.match = text;
  history.replaceState(null, "", hashOf(state));
}

export function isComparing() {
  return state.base !== null && !state.picking;
}

// Starts where the address bar says, and does this there and wherever we get to.
export function follow(does) {
  arrived = does;
  const again = () => {
    state = parse(location.hash);
    does();
  };
  window.addEventListener("popstate", again);
  window.addEventListener("hashchange", again);
  again();
}
