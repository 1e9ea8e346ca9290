/**
 * Replacement templates as Go's regexp expands them: `$1`, `${1}`, `$name`, `${name}`, `$$` for a dollar. `$1x` names the
 * group "1x"; a group that is not there is empty; a dollar that names nothing stands for itself.
 */
import type { RE2JS, Matcher } from "re2js";

type Part = string | number;

export interface Template {
  readonly parts: readonly Part[];
  /** No group in it: the text itself. */
  readonly isPlain: boolean;
}

const reference = /\$(?:(\$)|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu;

export function compileTemplate(text: string, regex: RE2JS): Template {
  const names = regex.namedGroups();
  const groupCount = regex.groupCount();
  const parts: Part[] = [];
  let from = 0;
  for (const match of text.matchAll(reference)) {
    parts.push(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[1] !== undefined) {
      parts.push("$");
      continue;
    }
    const name = match[2] ?? match[3] ?? "";
    // A number with a leading zero is taken for a name.
    const group = /^(0|[1-9]\d*)$/.test(name) ? Number(name) : names[name];
    if (group !== undefined && group <= groupCount) parts.push(group);
  }
  parts.push(text.slice(from));
  const kept = parts.filter((part) => part !== "");
  return { parts: kept, isPlain: kept.every((part) => typeof part === "string") };
}

/** `matched` has matched; its groups fill the template. */
export function expand({ parts }: Template, matched: Matcher): string {
  let out = "";
  for (const part of parts) out += typeof part === "string" ? part : (matched.group(part) ?? "");
  return out;
}
