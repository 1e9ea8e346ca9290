/**
 * Splits a long query for the grammar, whose parser fails after about 2,300 characters of consecutive operators:
 * arguments become holes that are parsed separately, and long chains of operators are cut into chunks.
 */
import { groupers, type QueryToken } from "./lex.ts";

/** Tokens from `from` (inclusive) to `to` (exclusive). */
export interface TokenRange {
  readonly from: number;
  readonly to: number;
}

const operators: ReadonlySet<string> = new Set(
  "+ - * / % ^ == != <= >= < > </ >/ and or unless atan2".split(" "),
);
const operatorsPerChunk = 20;

/** Token indexes of the binary operators outside of parentheses. */
function operatorsIn(tokens: readonly QueryToken[], range: TokenRange): number[] {
  const found: number[] = [];
  let expectsOperand = true;
  for (let index = range.from; index < range.to; index++) {
    const token = tokens[index];
    if (token === undefined) break;
    const word = token.text.toLowerCase();
    if (expectsOperand && isModifier(tokens, index, found.at(-1))) {
      if (tokens[index + 1]?.text === "(") index = closing(tokens, index + 1);
    } else if (/^[({[]$/.test(token.text) && token.kind === "sign") {
      index = closing(tokens, index);
      expectsOperand = false;
    } else if (operators.has(word) && token.kind !== "string") {
      if (!expectsOperand) found.push(index);
      expectsOperand = true;
    } else {
      expectsOperand = false;
      // The operand of offset and @ may have a sign.
      if (word === "offset" || word === "@")
        index += /^[-+]$/.test(tokens[index + 1]?.text ?? "") ? 1 : 0;
    }
  }
  return found;
}

/** True for bool, on, ignoring and similar keywords between an operator and its right side. */
function isModifier(
  tokens: readonly QueryToken[],
  index: number,
  operator: number | undefined,
): boolean {
  if (operator === undefined || tokens[index]?.kind !== "keyword") return false;
  const word = tokens[index]?.text.toLowerCase() ?? "";
  if (word === "bool" || word === "on" || word === "ignoring" || word.startsWith("group_"))
    return true;
  return word.startsWith("fill") && tokens[index + 1]?.text === "(";
}

/** Cached per query: searching again at every level would be quadratic in the depth. */
const closings = new WeakMap<readonly QueryToken[], Int32Array>();

/** Index of the bracket that closes the one at an index, or of the last token. */
function closing(tokens: readonly QueryToken[], open: number): number {
  let ends = closings.get(tokens);
  if (ends === undefined) closings.set(tokens, (ends = closingsOf(tokens)));
  return ends[open] ?? tokens.length - 1;
}

/** For every opening bracket, the index of the next closing one of any kind; an unclosed one ends with the query. */
function closingsOf(tokens: readonly QueryToken[]): Int32Array {
  const ends = new Int32Array(tokens.length).fill(tokens.length - 1);
  const open: number[] = [];
  tokens.forEach(({ kind, text }, index) => {
    if (kind !== "sign") return;
    if (/^[({[]$/.test(text)) open.push(index);
    else if (/^[)}\]]$/.test(text)) ends[open.pop() ?? index] = index;
  });
  return ends;
}

/** The parts of a chain of operators. All but the first start with an operator. */
export function chunksOf(tokens: readonly QueryToken[], range: TokenRange): TokenRange[] {
  const cuts = operatorsIn(tokens, range).filter(
    (_, index) => index % operatorsPerChunk === operatorsPerChunk - 1,
  );
  return [range.from, ...cuts].map((from, index) => ({ from, to: cuts[index] ?? range.to }));
}

/** The arguments of calls, aggregations and parentheses within a range, without nested ones. */
export function holesOf(tokens: readonly QueryToken[], range: TokenRange): TokenRange[] {
  const holes: TokenRange[] = [];
  for (let index = range.from; index < range.to; index++) {
    const token = tokens[index];
    if (token?.text.toLowerCase() === "offset" && index > range.from)
      index = durationEnd(tokens, index + 1);
    if (token?.kind !== "sign" || !/^[({[]$/.test(token.text)) continue;
    const end = Math.min(closing(tokens, index), range.to);
    const before = tokens[index - 1];
    const holdsLabels = before?.kind === "keyword" && groupers.has(before.text.toLowerCase());
    const holdsValue = before?.kind === "keyword" && /^fill/i.test(before.text);
    if (token.text === "(" && !holdsLabels && !holdsValue)
      holes.push(...argumentsIn(tokens, index + 1, end));
    index = end;
  }
  return holes;
}

/** Index of the last token of the duration after offset. */
function durationEnd(tokens: readonly QueryToken[], from: number): number {
  let index = from;
  while (/^[-+]$/.test(tokens[index]?.text ?? "")) index++;
  if (tokens[index]?.text === "(") return closing(tokens, index);
  return tokens[index + 1]?.text === "(" ? closing(tokens, index + 1) : index;
}

function argumentsIn(tokens: readonly QueryToken[], from: number, to: number): TokenRange[] {
  const found: TokenRange[] = [];
  let start = from;
  for (let index = from; index < to; index++) {
    const token = tokens[index];
    if (token?.kind !== "sign") continue;
    if (/^[({[]$/.test(token.text)) index = closing(tokens, index);
    else if (token.text === ",") {
      if (index > start) found.push({ from: start, to: index });
      start = index + 1;
    }
  }
  if (to > start) found.push({ from: start, to });
  return found;
}
