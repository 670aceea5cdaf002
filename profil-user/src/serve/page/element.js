// Elements of the page.

export const $ = (id) => document.getElementById(id);

export function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}
