/** Matchers as PromQL writes them, in the form that every engine reads: names between braces, no quoted label names where plain ones do. */
import { quote } from "../../query/quote.ts";
import type { Matcher } from "../../model/select.ts";

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** No matcher at all means every series; an engine wants at least one that no empty label satisfies. */
export function selectorText(matchers: readonly Matcher[]): string {
  const given = matchers.length === 0 ? [everything] : matchers;
  const parts = given.map(
    ({ name, op, value }) => `${plainName.test(name) ? name : quote(name)}${op}${quote(value)}`,
  );
  return `{${parts.join(",")}}`;
}

const everything: Matcher = { name: "__name__", op: "!=", value: "" };
