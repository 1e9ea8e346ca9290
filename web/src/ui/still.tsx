/**
 * Renders a component once and never again by itself. An element retains the vnodes of its children as they first were; a child
 * that redraws itself would retain every tree it ever drew through it. Components that redraw by signals are wrapped in this.
 */
import type { ComponentType } from "preact";

export function Still({ of: Drawn }: { readonly of: ComponentType }) {
  return <Drawn />;
}
