/**
 * User preferences: theme and density, stored in the browser and never in a link. The hub reads them from a cookie and writes them
 * into the HTML, because the first access to localStorage waits for the browser's other processes, up to 60 ms on a busy machine.
 */
import { effect, signal } from "@preact/signals";
import {
  type Density,
  formatPreferences,
  type ThemePreference,
} from "../../../src/view/preferences.ts";

export type { Density, ThemePreference };

const inHtml = document.documentElement.dataset;
/** Without the cookie there is no density in the HTML. */
const isFromCookie = inHtml["density"] !== undefined;
const [themes, densities] = [["light", "dark"], ["compact"]] as const;

export const theme = signal<ThemePreference>(knownOf(themes, inHtml["theme"]) ?? "auto");
export const density = signal<Density>(knownOf(densities, inHtml["density"]) ?? "comfortable");

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
  });
  effect(() => {
    document.documentElement.dataset["density"] = density.value;
  });
  let isStart = true;
  effect(() => {
    const chosen = { theme: theme.value, density: density.value };
    if (!isStart) remember(chosen);
    isStart = false;
  });
}

/** Adopts what an earlier version stored, or a browser that refuses cookies. Called after the first drawing. */
export function adoptStoredPreferences(): void {
  if (isFromCookie) return;
  const [storedTheme, storedDensity] = [readStoredText(THEME), readStoredText(DENSITY)];
  theme.value = knownOf(themes, storedTheme) ?? theme.value;
  density.value = knownOf(densities, storedDensity) ?? density.value;
}

const [THEME, DENSITY] = ["gpulse.theme", "gpulse.density"];

function remember(chosen: { theme: ThemePreference; density: Density }): void {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${formatPreferences(chosen)}; Max-Age=34560000; SameSite=Lax${secure}`;
  writeStoredText(THEME, chosen.theme);
  writeStoredText(DENSITY, chosen.density);
}

function knownOf<Value extends string>(
  known: readonly Value[],
  value: string | null | undefined,
): Value | undefined {
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
