/** Renders rows as terminal text: roles become colours of the terminal's colour depth. Nothing here moves the cursor. */
import type { TextRole, TextRow } from "../text/row.ts";
import { charWidth } from "../text/width.ts";
import type { Rgb, Theme } from "./theme.ts";

export type Depth = "none" | "16" | "256" | "true";

/** Returns the terminal's colour depth. NO_COLOR disables colours (https://no-color.org); bold, dim and inverse remain. */
export function colourDepth(env: Readonly<Record<string, string | undefined>>): Depth {
  const term = env["TERM"] ?? "";
  if ((env["NO_COLOR"] ?? "") !== "" || term === "dumb") return "none";
  if (/^(truecolor|24bit)$/i.test(env["COLORTERM"] ?? "") || term.endsWith("-direct"))
    return "true";
  if (/256/.test(term) || (env["COLORTERM"] ?? "") !== "") return "256";
  return "16";
}

const bold: ReadonlySet<TextRole> = new Set(["strong", "warn", "bad"]);

export class Painter {
  readonly #codes = new Map<string, string>();
  readonly #theme: Theme;
  readonly #depth: Depth;
  readonly #ascii: boolean;

  constructor(theme: Theme, depth: Depth, isAscii: boolean) {
    this.#theme = theme;
    this.#depth = depth;
    this.#ascii = isAscii;
  }

  line(row: TextRow): string {
    let text = "";
    let open = "";
    for (const one of row) {
      if (one.text === "") continue;
      const code = this.#code(one.role, one.inverse === true);
      if (code !== open) text += code === "" ? "\u001b[0m" : `\u001b[0;${code}m`;
      open = code;
      text += this.#ascii ? toAscii(one.text) : one.text;
    }
    return open === "" ? text : `${text}\u001b[0m`;
  }

  #code(role: TextRole, inverse: boolean): string {
    const key = inverse ? `${role}!` : role;
    let code = this.#codes.get(key);
    if (code === undefined) {
      const parts: string[] = [];
      if (bold.has(role)) parts.push("1");
      // Without colours, dim text has no grey, so it uses the faint attribute.
      if (role === "dim" && this.#depth === "none" && !inverse) parts.push("2");
      if (inverse) parts.push("7");
      const colour = this.#theme.colours[role];
      // A selected line has one colour, because hues on an inverse background are unreadable.
      if (colour !== undefined && !inverse) parts.push(...colourCode(colour, this.#depth));
      code = parts.join(";");
      this.#codes.set(key, code);
    }
    return code;
  }
}

/** Keeps the width: the ellipsis becomes `~`, every other character as many question marks as it is wide. */
function toAscii(text: string): string {
  let kept = "";
  for (const character of text.replaceAll("…", "~"))
    kept += character >= " " && character <= "~" ? character : "?".repeat(charWidth(character));
  return kept;
}

function colourCode(colour: Rgb, depth: Depth): string[] {
  if (depth === "true") return [`38;2;${colour.join(";")}`];
  if (depth === "256") return [`38;5;${nearest256(colour)}`];
  return depth === "16" ? [String(nearest16(colour))] : [];
}

/** Steps of the 6×6×6 cube of colours 16 to 231. */
const cube: readonly number[] = [0, 95, 135, 175, 215, 255];

export function nearest256(colour: Rgb): number {
  const [red, green, blue] = colour.map((part) =>
    cube.reduce(
      (best, step, at) => (Math.abs(step - part) < Math.abs((cube[best] ?? 0) - part) ? at : best),
      0,
    ),
  ) as [number, number, number];
  const grey = Math.round((colour[0] + colour[1] + colour[2]) / 3);
  const greyAt = Math.min(23, Math.max(0, Math.round((grey - 8) / 10)));
  const inCube: Rgb = [cube[red] ?? 0, cube[green] ?? 0, cube[blue] ?? 0];
  const step = 8 + greyAt * 10;
  return distance(colour, [step, step, step]) < distance(colour, inCube)
    ? 232 + greyAt
    : 16 + 36 * red + 6 * green + blue;
}

/** The usual values of the sixteen colours, without black, which is the background of most terminals. */
const sixteen: readonly (readonly [code: number, colour: Rgb])[] = [
  [31, [205, 0, 0]],
  [32, [0, 205, 0]],
  [33, [205, 205, 0]],
  [34, [60, 90, 220]],
  [35, [205, 0, 205]],
  [36, [0, 205, 205]],
  [37, [229, 229, 229]],
  [90, [127, 127, 127]],
  [91, [255, 80, 40]],
  [92, [0, 255, 0]],
  [93, [255, 255, 0]],
  [94, [92, 140, 255]],
  [95, [255, 110, 210]],
  [96, [0, 255, 255]],
];

function nearest16(colour: Rgb): number {
  let best: readonly [code: number, away: number] = [37, Infinity];
  for (const [code, known] of sixteen) {
    const away = distance(colour, known);
    if (away < best[1]) best = [code, away];
  }
  return best[0];
}

const distance = (left: Rgb, right: Rgb): number =>
  left.reduce((sum, part, at) => sum + (part - (right[at] ?? 0)) ** 2, 0);
