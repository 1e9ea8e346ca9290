/** The drawing characters in Unicode and in ASCII. */

export interface Glyphs {
  readonly ascii: boolean;
  /** Partial cells at the end of a bar, from nearly empty to full. */
  readonly parts: readonly string[];
  readonly empty: string;
  /** From lowest to highest. */
  readonly levels: readonly string[];
  readonly absent: string;
  readonly lost: string;
  readonly up: string;
  readonly down: string;
  readonly dot: string;
  readonly celsius: string;
  readonly line: string;
  /** The value axis beside a curve: a plain part, a part with a label, the corner to the time axis. */
  readonly axis: string;
  readonly tick: string;
  readonly corner: string;
  readonly branch: string;
  readonly lastBranch: string;
  readonly pass: string;
  readonly arrows: string;
}

export const unicode: Glyphs = {
  ascii: false,
  parts: ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
  empty: "░",
  levels: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
  absent: "·",
  lost: "×",
  up: "▲",
  down: "▼",
  dot: " · ",
  celsius: "°C",
  line: "─",
  axis: "│",
  tick: "┤",
  corner: "└",
  branch: "├─ ",
  lastBranch: "└─ ",
  pass: "│  ",
  arrows: "↑↓",
};

export const ascii: Glyphs = {
  ascii: true,
  parts: ["#"],
  empty: ".",
  levels: ["_", ".", "-", "=", "+", "*", "%", "#"],
  absent: " ",
  lost: "x",
  up: "^",
  down: "v",
  dot: " | ",
  celsius: " C",
  line: "-",
  axis: "|",
  tick: "+",
  corner: "+",
  branch: "|- ",
  lastBranch: "`- ",
  pass: "|  ",
  arrows: "up/down",
};

/** True if the locale is UTF-8. Without a locale, true on Windows and macOS, whose terminals support it. */
export function speaksUnicode(
  env: Readonly<Record<string, string | undefined>>,
  platform: string,
): boolean {
  const locale = [env["LC_ALL"], env["LC_CTYPE"], env["LANG"]].find(
    (given) => (given ?? "") !== "",
  );
  if (locale === undefined) return platform === "win32" || platform === "darwin";
  return /utf-?8/i.test(locale);
}
