// Names, numbers and times, as they are written.

// Names are others': they reach the page as text only, with what moves or hides text written out.
const HIDDEN = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
export const shown = (name) => String(name).replace(HIDDEN, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);

export const percent = (part) => `${(100 * part).toFixed(part > 0 && part < 0.001 ? 2 : 1)} %`;
export const plusMinus = (error) => `±${(100 * error).toFixed(error > 0 && error < 0.001 ? 2 : 1)}`;
export const whole = (number) => number.toLocaleString("en-US");
// Of nanoseconds.
export const seconds = (ns) => (ns / 1e9).toFixed(2);

export const clockOf = (time) => new Date(time * 1000).toTimeString().slice(0, 5);

export function spanText(span) {
  if (span === null || span === "now") return "last minute";
  const clock = (time) => new Date(time * 1000).toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "short" });
  const minutes = Math.round((span.until - span.from) / 60);
  return `${clock(span.from)} – ${clock(span.until).slice(11)} (${minutes} min)`;
}
