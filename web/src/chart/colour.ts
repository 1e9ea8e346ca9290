/** Colours of lines. One GPU: shades of its metric's hue. Several: a hue for each GPU, the same on every chart of every page. */
import type { ColourFamily } from "./model.ts";

/** Distinguishable with colour blindness, and none of them red or amber: those mean a problem. */
const GPU_HUES = [252, 165, 320, 205, 285, 130, 230, 345] as const;

/** `at`: which line of the chart, from 0. */
export function shade(family: ColourFamily, at: number): string {
  const hue = family === "count" ? "var(--edge)" : `var(--${family})`;
  if (at === 0) return hue;
  // Towards the text and away from it in turn: both stay readable on either background.
  const share = Math.min(70, 22 * Math.ceil(at / 2) + (at % 2 === 1 ? 18 : 0));
  return at % 2 === 1
    ? `color-mix(in oklab, var(--text) ${share}%, ${hue})`
    : `color-mix(in oklab, var(--bg) ${Math.min(45, share)}%, ${hue})`;
}

/** `order` is the GPU's place in the fleet; lighter rounds follow when the hues are used up. */
export function gpuColour(order: number): string {
  const hue = GPU_HUES[order % GPU_HUES.length] ?? GPU_HUES[0];
  const round = Math.floor(order / GPU_HUES.length) % 3;
  const light = [0.55, 0.45, 0.65][round] ?? 0.55;
  const dark = [0.74, 0.84, 0.62][round] ?? 0.74;
  return `light-dark(oklch(${light} 0.13 ${hue}), oklch(${dark} 0.12 ${hue}))`;
}

/** Variants of the same hue: a GPU's second and third line in one chart. */
export const variant = (colour: string, at: number): string =>
  at === 0 ? colour : `color-mix(in oklab, var(--text) ${Math.min(75, 15 + 20 * at)}%, ${colour})`;

/** A place from a name, for what is in no list: always the same one. */
export function orderOf(name: string): number {
  let hash = 2_166_136_261;
  for (let at = 0; at < name.length; at += 1)
    hash = Math.imul(hash ^ name.charCodeAt(at), 16_777_619);
  return (hash >>> 0) % 24;
}

/** What a canvas can use: variables and light-dark() resolved as an element of the page would. */
export function resolveColour(colour: string, within: Element): string {
  const probe = document.createElement("span");
  probe.style.color = colour;
  within.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
