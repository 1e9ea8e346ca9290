/** Parses the notation of a series: `name{label="value", …}`, without matchers, or with the name in quotes. */
import { type LabelSet, labelSet } from "../../model/labels.ts";
import { unquote } from "../../query/quote.ts";

const token = /\s*(?:([a-zA-Z_:][\w:]*)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)|([{}=,]))/y;

/** @throws Error if the text is not a series. An empty text is a series without labels. */
export function readMetric(text: string): LabelSet {
  const tokens = tokensOf(text);
  const labels: Record<string, string> = {};
  let at = 0;
  const next = (): string => tokens[at++] ?? "";
  const fail = (): never => {
    throw new Error(`"${text}" is not a series: write name{label="value"}`);
  };
  if (/^[a-zA-Z_:]/.test(tokens[0] ?? "")) labels["__name__"] = next();
  if (at === tokens.length) return labelSet(labels);
  if (next() !== "{") fail();
  while (tokens[at] !== "}") {
    const name = next();
    if (name === "" || /^[{}=,]$/.test(name)) fail();
    if (tokens[at] === "=") {
      at++;
      const value = next();
      if (!/^["'`]/.test(value)) fail();
      labels[isQuoted(name) ? unquote(name) : name] = unquote(value);
    } else if (isQuoted(name) && labels["__name__"] === undefined)
      labels["__name__"] = unquote(name);
    else fail();
    if (tokens[at] === ",") at++;
    else if (tokens[at] !== "}") fail();
  }
  if (++at !== tokens.length) fail();
  return labelSet(labels);
}

const isQuoted = (name: string): boolean => /^["'`]/.test(name);

function tokensOf(text: string): string[] {
  const source = text.trim();
  const out: string[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < source.length) {
    const from = token.lastIndex;
    const found = token.exec(source);
    if (found === null)
      throw new Error(
        `"${text}" is not a series: cannot parse from "${source.slice(from, from + 20)}" on`,
      );
    out.push(found[1] ?? found[2] ?? found[3] ?? "");
  }
  return out;
}
