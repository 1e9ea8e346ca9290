/** The page of an exemplar's trace, from the hub's URL template. Pure. */
import type { Labels } from "./columns.ts";

/** Empty if a label in the template is missing. */
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
