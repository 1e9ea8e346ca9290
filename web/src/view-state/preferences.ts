/** User preferences: theme and density, stored in the browser and never in a link. */
import { effect, signal } from "@preact/signals";

export type ThemePreference = "auto" | "light" | "dark";
export type Density = "comfortable" | "compact";

export const theme = signal<ThemePreference>(
  readPreference("gpulse.theme", ["light", "dark"]) ?? "auto",
);
export const density = signal<Density>(
  readPreference("gpulse.density", ["compact"]) ?? "comfortable",
);

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(systemDark.matches);

/** The effective theme: canvases must be redrawn when it changes. */
export const dark = (): boolean =>
  theme.value === "auto" ? systemIsDark.value : theme.value === "dark";

export function startPreferences(): void {
  systemDark.addEventListener("change", () => {
    systemIsDark.value = systemDark.matches;
  });
  effect(() => {
    if (theme.value === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme.value;
    writeStoredText("gpulse.theme", theme.value);
  });
  effect(() => {
    document.documentElement.dataset["density"] = density.value;
    writeStoredText("gpulse.density", density.value);
  });
}

function readPreference<Value extends string>(
  key: string,
  known: readonly Value[],
): Value | undefined {
  const value = readStoredText(key);
  return known.find((one) => one === value);
}

export function readStoredText(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Storage may be disabled; then the preference lasts as long as the page. */
export function writeStoredText(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    return;
  }
}
