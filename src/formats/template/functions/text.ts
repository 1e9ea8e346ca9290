/** Text functions shared by rules and notifications. Regular expressions are RE2, which has no exponential matching. */
import { RE2JS } from "re2js";
import type { Functions } from "../builtins.ts";
import { TemplateError } from "../lex.ts";
import { SafeText, type TemplateValue, typeName } from "../value.ts";

export function textArg(args: readonly TemplateValue[], index: number, name: string): string {
  const value = args[index];
  if (typeof value === "string") return value;
  if (value instanceof SafeText) return value.text;
  throw new TemplateError(
    value === undefined
      ? `wrong number of args for ${name}: want ${index + 1} got ${args.length}`
      : `wrong type for value; expected string; got ${typeName(value)}`,
  );
}

function pattern(text: string, name: string): RE2JS {
  try {
    return RE2JS.compile(text);
  } catch {
    throw new TemplateError(
      `error calling ${name}: ${JSON.stringify(text)} is no regular expression`,
    );
  }
}

/** Converts Go's `$1`, `${name}` and `$name` to re2js's syntax. */
const goReplacement = (text: string): string =>
  text
    .replaceAll("\\", "\\\\")
    .replace(/\$\$/g, "\\$")
    .replace(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced?: string, bare?: string) => {
      const group = braced ?? bare ?? "";
      return /^\d+$/.test(group) ? `$${group}` : `\${${group}}`;
    });

export const textFunctions: Functions = {
  title: (args) =>
    textArg(args, 0, "title").replace(
      /(^|[^\p{L}\p{N}_'])(\p{L})/gu,
      (_, before: string, letter: string) => before + letter.toUpperCase(),
    ),
  toUpper: (args) => textArg(args, 0, "toUpper").toUpperCase(),
  toLower: (args) => textArg(args, 0, "toLower").toLowerCase(),
  trimSpace: (args) => textArg(args, 0, "trimSpace").trim(),
  match: (args) =>
    pattern(textArg(args, 0, "match"), "match")
      .matcher(textArg(args, 1, "match"))
      .find(),
  reReplaceAll: (args) =>
    pattern(textArg(args, 0, "reReplaceAll"), "reReplaceAll")
      .matcher(textArg(args, 2, "reReplaceAll"))
      .replaceAll(goReplacement(textArg(args, 1, "reReplaceAll"))),
  safeHtml: (args) => new SafeText(textArg(args, 0, "safeHtml")),
  urlQueryEscape: (args) =>
    encodeURIComponent(textArg(args, 0, "urlQueryEscape"))
      .replaceAll("%20", "+")
      .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`),
};
