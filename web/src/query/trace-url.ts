/** The page of an exemplar's trace, from the hub's template. Pure. */
import type { Labels } from "./columns.ts";

/** Nothing where a label that the template names is missing. */
export function traceOf(template: string | undefined, labels: Labels): { readonly href?: string } {
  if (template === undefined) return {};
  let isComplete = true;
  const href = template.replaceAll(/\$?\{([A-Za-z_]\w*)\}/g, (_, name: string) => {
    const value = labels[name];
    if (value === undefined) isComplete = false;
    return encodeURIComponent(value ?? "");
  });
  return isComplete && /^https?:\/\//.test(href) ? { href } : {};
}
