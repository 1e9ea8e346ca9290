/**
 * The query as passed to the grammar: the same tokens at the same positions, with every literal and every name that the
 * grammar misinterprets in the simplest form. The tree is read with the original text.
 */
import { signatures } from "../signatures.ts";
import { groupers, type QueryToken } from "./lex.ts";

/** The query with every literal in the simplest form, each token at its position. */
export function plain(query: string, tokens: readonly QueryToken[]): string {
  let out = "";
  let expectsOperand = true;
  // Parenthesis depth inside the duration after offset; -1 outside.
  let offsetDepth = -1;
  // For each open parenthesis, whether it belongs to vector matching and is followed by an operand.
  const pairing: boolean[] = [];
  for (const [index, token] of tokens.entries()) {
    out = out.padEnd(token.start, " ");
    const lower = token.text.toLowerCase();
    const called = tokens[index + 1]?.text === "(";
    const inDuration = token.inBrackets || offsetDepth >= 0;
    if (token.kind === "number" || token.kind === "duration")
      out += token.text.replace(/(?!^)[^]|[^.]/g, "1");
    else if (token.kind === "string") out += `"${"a".repeat(token.text.length - 2)}"`;
    // The grammar only accepts its own functions; `ln` replaces the others, which are resolved later.
    else if (called && expectsOperand && !inDuration && !grammarKnows(token)) out += "ln";
    // A metric may be named "offset", which is a keyword in the grammar.
    else if (lower === "offset" && expectsOperand) out += "aaaaaa";
    // No metric can be named atan2, so an unambiguous operator replaces it.
    else if (lower === "atan2" && expectsOperand && !inLabels(tokens, index)) out += "*".padEnd(5);
    else out += token.kind === "keyword" && inDuration ? lower : token.text;
    if (lower === "offset" && !expectsOperand) offsetDepth = 0;
    else if (offsetDepth >= 0) offsetDepth = depthAfter(token, offsetDepth);
    if (token.text === "(") pairing.push(pairs.test(tokens[index - 1]?.text ?? ""));
    const closesPairing = token.text === ")" && pairing.pop() === true;
    expectsOperand = closesPairing || opensOperand(token, expectsOperand);
  }
  return out.padEnd(query.length, " ");
}

const pairs = /^(?:on|ignoring|group_left|group_right|fill|fill_left|fill_right)$/i;

function grammarKnows(token: QueryToken): boolean {
  if (token.text.length < 2 || token.kind === "sign") return true;
  if (token.kind === "keyword") return !/^m(?:in|ax)_of$/i.test(token.text);
  return signatures.has(token.text);
}

/** True if a token is a label name, in braces or in the parentheses after by, on and similar keywords. */
function inLabels(tokens: readonly QueryToken[], index: number): boolean {
  const opened = tokens.slice(0, index).findLastIndex(({ text }) => /^[(){}]$/.test(text));
  const open = tokens[opened]?.text;
  return (
    open === "{" || (open === "(" && groupers.has(tokens[opened - 1]?.text.toLowerCase() ?? ""))
  );
}

function depthAfter(token: QueryToken, depth: number): number {
  if (token.text === "(") return depth + 1;
  if (token.text === ")") return depth <= 1 ? -1 : depth - 1;
  return depth === 0 && (token.kind === "number" || token.kind === "duration") ? -1 : depth;
}

const operatorWords = new Set(["and", "or", "unless", "atan2"]);

function opensOperand(token: QueryToken, expected: boolean): boolean {
  if (token.kind === "sign") return !/^[)\]}]$/.test(token.text);
  if (token.kind !== "keyword") return false;
  const word = token.text.toLowerCase();
  return word === "bool" || (operatorWords.has(word) && !expected);
}
