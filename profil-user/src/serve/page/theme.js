// Light or dark.

export function useKeptTheme() {
  try {
    const kept = localStorage.getItem("theme");
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch {
    // Then it is as the system has it.
  }
}

export function useOtherTheme() {
  const { dataset } = document.documentElement;
  const dark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("theme", dataset.theme);
  } catch {
    // Then it is forgotten.
  }
}
