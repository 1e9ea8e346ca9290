/** Describes a syntax error from the tokens around it, as close to Prometheus's message as possible. */
import { ParseError } from "../errors.ts";
import { quote } from "../quote.ts";
import { groupers, type QueryToken } from "./lex.ts";

const aggregators = new Set(
  "sum avg count min max group stddev stdvar topk bottomk count_values quantile limitk limit_ratio".split(
    " ",
  ),
);

const operatorWords = new Set(["and", "or", "unless", "atan2"]);

export function syntaxError(
  query: string,
  tokens: readonly QueryToken[],
  errorAt: number,
): ParseError {
  if (tokens.length === 0) return new ParseError(query, undefined, "no expression found in input");
  const index = tokens.findIndex((token) => token.end > errorAt);
  const wrong = index < 0 ? undefined : tokens[index];
  const before = index < 0 ? tokens : tokens.slice(0, index);
  const unknown = wrong?.text === "(" ? unknownFunction(query, before.at(-1)) : undefined;
  if (unknown !== undefined) return unknown;
  const comma = before.at(-1);
  if (
    (wrong?.text === ")" || wrong?.text === ",") &&
    comma?.text === "," &&
    !inside(before, "{") &&
    !inGrouping(before)
  ) {
    return new ParseError(query, comma, "trailing commas not allowed in function call args");
  }
  const span = wrong ?? { start: query.length, end: query.length };
  return new ParseError(query, span, `unexpected ${describe(wrong)}${context(before)}`);
}

/** Function names of one letter have no replacement in plain.ts, so they are detected here. */
function unknownFunction(query: string, token: QueryToken | undefined): ParseError | undefined {
  if (token?.kind !== "identifier" || token.text.length > 1) return undefined;
  return new ParseError(query, token, `unknown function with name ${quote(token.text)}`);
}

function describe(token: QueryToken | undefined): string {
  if (token === undefined) return "end of input";
  if (token.kind === "sign") {
    return /^[(){}[\],=:]$/.test(token.text) ? quote(token.text) : `<op:${token.text}>`;
  }
  if (token.kind === "keyword") {
    const word = token.text.toLowerCase();
    if (aggregators.has(word)) return `<aggr:${token.text}>`;
    if (/^(?:start|end|step|range|m(?:in|ax)_of)$/.test(word)) return quote(word);
    return operatorWords.has(word) ? `<op:${token.text}>` : `<${token.text}>`;
  }
  const kinds = { metric: "metric identifier", identifier: "identifier" } as const;
  const kind =
    token.kind === "metric" || token.kind === "identifier" ? kinds[token.kind] : token.kind;
  return `${kind} ${token.kind === "string" ? quote(token.text) : quote(token.text)}`;
}

function context(before: readonly QueryToken[]): string {
  const last = before.at(-1);
  if (inside(before, "{")) return matcherContext(last);
  if (inside(before, "[")) {
    return last?.text === "["
      ? " in subquery or range selector, expected number, duration, step(), or range()"
      : ' in subquery or range, expected ":" or "]"';
  }
  if (last?.text === "@") return " in @, expected timestamp";
  if (last?.text.toLowerCase() === "offset") {
    return " in offset, expected number, duration, step(), or range()";
  }
  if (last !== undefined && groupers.has(last.text.toLowerCase()))
    return ' in grouping opts, expected "("';
  if (inGrouping(before)) {
    return last?.text === "(" || last?.text === ","
      ? " in grouping opts, expected label"
      : ' in grouping opts, expected "," or ")"';
  }
  return inAggregate(before) ? " in aggregation" : "";
}

/** True if an open parenthesis belongs to an aggregation, or if a grouping has no body yet. */
function inAggregate(before: readonly QueryToken[]): boolean {
  const open: number[] = [];
  let groupedAt = -1;
  for (const [index, { text, kind }] of before.entries()) {
    if (kind !== "sign") continue;
    if (text === "(") open.push(index);
    if (text !== ")") continue;
    const closed = open.pop() ?? 0;
    const word = before[closed - 1]?.text.toLowerCase();
    if (word === "by" || word === "without") groupedAt = index;
  }
  const isAggregator = (token: QueryToken | undefined): boolean =>
    token?.kind === "keyword" && aggregators.has(token.text.toLowerCase());
  if (groupedAt === before.length - 1 && groupedAt >= 0) return true;
  return open.some((index) => isAggregator(before[index - 1]) || before[index - 1]?.text === ")");
}

function matcherContext(last: QueryToken | undefined): string {
  if (last?.text === "{" || last?.text === ",")
    return ' in label matching, expected identifier or "}"';
  if (last?.kind === "identifier") return " in label matching, expected label matching operator";
  if (last?.kind === "sign") return " in label matching, expected string";
  return ' in label matching, expected "," or "}"';
}

function inside(before: readonly QueryToken[], open: "{" | "["): boolean {
  const close = open === "{" ? "}" : "]";
  const opened = before.findLastIndex((token) => token.text === open && token.kind === "sign");
  return (
    opened >= 0 &&
    !before.slice(opened).some((token) => token.text === close && token.kind === "sign")
  );
}

function inGrouping(before: readonly QueryToken[]): boolean {
  const opened = before.findLastIndex((token) => token.text === "(" || token.text === ")");
  const word = before[opened - 1]?.text.toLowerCase();
  return before[opened]?.text === "(" && word !== undefined && groupers.has(word);
}
