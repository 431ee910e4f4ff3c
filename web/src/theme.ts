// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the system, or as the reader has chosen. The choice is kept in this browser.
import { Store } from "./state/store";

export type Theme = "system" | "light" | "dark";

const key = "berth-theme";

function kept(): Theme {
  try {
    const text = localStorage.getItem(key);
    return text === "light" || text === "dark" ? text : "system";
  } catch {
    return "system";
  }
}

/** The choice, and beside it what the system has: whoever draws by it draws again when either changes. */
export const theme = new Store<{ readonly chosen: Theme; readonly isSystemDark: boolean }>({
  chosen: kept(),
  isSystemDark: matchMedia("(prefers-color-scheme: dark)").matches,
});

function show(chosen: Theme): void {
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function chooseTheme(chosen: Theme): void {
  show(chosen);
  try {
    localStorage.setItem(key, chosen);
  } catch {
    // A browser that keeps nothing forgets the choice with the page.
  }
  theme.update((value) => ({ ...value, chosen }));
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
  theme.update((value) => ({ ...value, isSystemDark: event.matches }));
});
show(theme.value.chosen);
