/** Text colours with enough contrast: the hue of a line, moved towards the text colour until WCAG's 4.5 to 1 is reached. Pure. */

/** Lightness and two colour axes, all as in CSS `oklab()`. */
export type Oklab = readonly [lightness: number, a: number, b: number];

export const LEAST_CONTRAST = 4.5;
const STEPS = 10;

/** Reads a computed colour: `oklch()`, `oklab()`, `rgb()` or `color(srgb …)`. Undefined for any other. */
export function parseColour(css: string): Oklab | undefined {
  const [, space = "", inside = ""] =
    /^(oklch|oklab|rgba?|color)\(\s*(?:srgb\s+)?([^)]*)\)$/.exec(css.trim()) ?? [];
  const parts = inside.split(/[\s,/]+/).map((part) => Number.parseFloat(part) || 0);
  const [one = 0, two = 0, three = 0] = parts;
  if (space === "oklab") return [one, two, three];
  if (space === "oklch") {
    const angle = (three * Math.PI) / 180;
    return [one, two * Math.cos(angle), two * Math.sin(angle)];
  }
  if (space === "color") return oklabOf([one, two, three]);
  return space === "" ? undefined : oklabOf([one / 255, two / 255, three / 255]);
}

export const mix = (from: Oklab, to: Oklab, share: number): Oklab => [
  from[0] + (to[0] - from[0]) * share,
  from[1] + (to[1] - from[1]) * share,
  from[2] + (to[2] - from[2]) * share,
];

export function contrastOf(one: Oklab, other: Oklab): number {
  const [a, b] = [luminanceOf(one), luminanceOf(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** Returns the colour nearest to `colour` that is readable on `background`. All are computed colours; `text` is readable. */
export function readableColour(colour: string, background: string, text: string): string {
  const [from, behind, to] = [parseColour(colour), parseColour(background), parseColour(text)];
  if (from === undefined || behind === undefined || to === undefined) return text;
  for (let step = 0; step <= STEPS; step += 1) {
    const mixed = mix(from, to, step / STEPS);
    if (contrastOf(mixed, behind) >= LEAST_CONTRAST)
      return step === 0 ? colour : `oklab(${mixed.map((part) => part.toFixed(4)).join(" ")})`;
  }
  return text;
}

/** Relative luminance of WCAG 2.2, for colours inside sRGB; others are clipped to it, as screens do. */
function luminanceOf([lightness, a, b]: Oklab): number {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const red = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
  const green = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
  const blue = -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s;
  const within = (part: number): number => Math.min(1, Math.max(0, part));
  return 0.2126 * within(red) + 0.7152 * within(green) + 0.0722 * within(blue);
}

/** `srgb`: parts from 0 to 1, with gamma. */
function oklabOf(srgb: readonly [number, number, number]): Oklab {
  const linear = (part: number): number =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const [red, green, blue] = [linear(srgb[0]), linear(srgb[1]), linear(srgb[2])];
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}
