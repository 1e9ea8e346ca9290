/** Colours of lines. One GPU: shades of its metric's hue. Several GPUs: one hue each, the same on every chart of every page. */
import type { ColourFamily } from "./model.ts";

/** Distinguishable with colour blindness. None is red or amber, because those mean a problem. */
const GPU_HUES = [252, 165, 320, 205, 285, 130, 230, 345] as const;

/** `at`: index of the line in the chart, from 0. */
export function shade(family: ColourFamily, at: number): string {
  const hue = family === "count" ? "var(--edge)" : `var(--${family})`;
  if (at === 0) return hue;
  // Alternates between mixing with the text colour and with the background: both stay readable in either theme.
  const share = Math.min(70, 22 * Math.ceil(at / 2) + (at % 2 === 1 ? 18 : 0));
  return at % 2 === 1
    ? `color-mix(in oklab, var(--text) ${share}%, ${hue})`
    : `color-mix(in oklab, var(--bg) ${Math.min(45, share)}%, ${hue})`;
}

/** `order` is the GPU's index in the fleet. When the hues are used up, they repeat with another lightness. */
export function gpuColour(order: number): string {
  const hue = GPU_HUES[order % GPU_HUES.length] ?? GPU_HUES[0];
  const round = Math.floor(order / GPU_HUES.length) % 3;
  const light = [0.55, 0.45, 0.65][round] ?? 0.55;
  const dark = [0.74, 0.84, 0.62][round] ?? 0.74;
  return `light-dark(oklch(${light} 0.13 ${hue}), oklch(${dark} 0.12 ${hue}))`;
}

/** Variants of one hue, for a GPU's second and third line in one chart. */
export const variant = (colour: string, at: number): string =>
  at === 0 ? colour : `color-mix(in oklab, var(--text) ${Math.min(75, 15 + 20 * at)}%, ${colour})`;

/** Derives a stable index from a name that is in no list. */
export function orderOf(name: string): number {
  let hash = 2_166_136_261;
  for (let at = 0; at < name.length; at += 1)
    hash = Math.imul(hash ^ name.charCodeAt(at), 16_777_619);
  return (hash >>> 0) % 24;
}

/** Resolves variables and light-dark() for a canvas, as an element of the page would. */
export function resolveColour(colour: string, within: Element): string {
  const probe = document.createElement("span");
  probe.style.color = colour;
  within.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
