/** Every text that a chart draws onto its canvas is readable in both themes: WCAG's 4.5 to 1. */
import { expect, test } from "vitest";
import tokens from "../style/tokens.css?raw";
import { gpuColour, shade, variant } from "./colour.ts";
import {
  contrastOf,
  LEAST_CONTRAST,
  mix,
  type Oklab,
  parseColour,
  readableColour,
} from "./contrast.ts";
import { colourFamilies } from "./model.ts";

const themes = ["light", "dark"] as const;
type Theme = (typeof themes)[number];

/** What a browser computes for a colour of the stylesheet: variables, light-dark() and color-mix() in oklab. */
function computed(css: string, theme: Theme): Oklab {
  const [, name = "", inside = ""] = /^([\w-]+)\((.*)\)$/s.exec(css.trim()) ?? [];
  const parts = splitOutside(inside);
  if (name === "var") {
    const value = new RegExp(`^\\s*${inside}:\\s*([^;]+);`, "m").exec(tokens)?.[1];
    if (value === undefined) throw new Error(`tokens.css has no ${inside}`);
    return computed(value, theme);
  }
  if (name === "light-dark") return computed(parts[theme === "light" ? 0 : 1] ?? "", theme);
  if (name === "color-mix") {
    const [, colour = "", percent = ""] = /^(.*) ([\d.]+)%$/s.exec(parts[1]?.trim() ?? "") ?? [];
    return mix(computed(parts[2] ?? "", theme), computed(colour, theme), Number(percent) / 100);
  }
  const parsed = parseColour(css);
  if (parsed === undefined) throw new Error(`cannot compute ${css}`);
  return parsed;
}

function splitOutside(text: string): string[] {
  const parts: string[] = [""];
  let depth = 0;
  for (const letter of text) {
    if (letter === "(") depth += 1;
    if (letter === ")") depth -= 1;
    if (letter === "," && depth === 0) parts.push("");
    else parts.push((parts.pop() ?? "") + letter);
  }
  return parts;
}

const written = (colour: Oklab): string => `oklab(${colour.join(" ")})`;
const drawn = [
  "var(--muted)",
  "var(--edge)",
  ...colourFamilies.flatMap((family) => Array.from({ length: 9 }, (_, at) => shade(family, at))),
  ...Array.from({ length: 24 }, (_, at) => gpuColour(at)),
  ...Array.from({ length: 4 }, (_, at) => variant(gpuColour(1), at)),
];

test.each(themes)("names of lines and limits reach 4.5 to 1 in the %s theme", (theme) => {
  const [background, text] = ["var(--bg)", "var(--text)"].map((css) => computed(css, theme));
  if (background === undefined || text === undefined) throw new Error("BUG: two colours");
  const low = drawn.filter((css) => contrastOf(computed(css, theme), background) < LEAST_CONTRAST);
  // Some lines alone are too faint for text: that is why names have a colour of their own.
  expect(low.length).toBeGreaterThan(0);
  for (const css of drawn) {
    const own = written(computed(css, theme));
    const readable = readableColour(own, written(background), written(text));
    const parsed = parseColour(readable);
    if (parsed === undefined) throw new Error(`cannot read ${readable}`);
    expect(contrastOf(parsed, background), css).toBeGreaterThanOrEqual(LEAST_CONTRAST - 0.01);
    if (!low.includes(css)) expect(readable, css).toBe(own);
  }
});

test.each(themes)("axis texts reach 4.5 to 1 in the %s theme", (theme) => {
  expect(
    contrastOf(computed("var(--muted)", theme), computed("var(--bg)", theme)),
  ).toBeGreaterThanOrEqual(LEAST_CONTRAST);
});

test("contrast is that of WCAG, whatever the notation of the colours", () => {
  const of = (one: string, other: string) => {
    const [a, b] = [parseColour(one), parseColour(other)];
    return a === undefined || b === undefined ? undefined : contrastOf(a, b);
  };
  expect(of("rgb(0, 0, 0)", "rgb(255, 255, 255)")).toBeCloseTo(21, 2);
  expect(of("rgb(119, 119, 119)", "rgb(255 255 255 / 1)")).toBeCloseTo(4.48, 2);
  expect(of("color(srgb 0.466667 0.466667 0.466667)", "oklch(1 0 0)")).toBeCloseTo(4.48, 2);
  expect(of("rgb(255, 0, 0)", "rgb(255, 255, 255)")).toBeCloseTo(4, 2);
  expect(parseColour("red")).toBeUndefined();
  expect(readableColour("red", "oklch(1 0 0)", "oklch(0.2 0 0)")).toBe("oklch(0.2 0 0)");
});
