/**
 * Draws a component and never draws again by itself. A vnode among the children of an element is held by that element as it
 * first was; one that then redraws itself keeps every tree it ever drew through it. What redraws by signals goes in here.
 */
import type { ComponentType } from "preact";

export function Still({ of: Drawn }: { readonly of: ComponentType }) {
  return <Drawn />;
}
