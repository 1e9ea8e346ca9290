/**
 * Splits an alert's expression at its comparison, so that a chart can show both sides: `x > 85` is x with a line at 85. Recognises
 * only brackets, quotes and operators; any other expression is drawn as it is. Pure.
 */

export interface ThresholdExpression {
  /** The expression to draw. */
  readonly left: string;
  readonly op?: ComparisonOperator;
  /** The level, if it is a number. */
  readonly level?: number;
  /** The right-hand side, if it is an expression too. */
  readonly right?: string;
}

const comparisons = [">=", "<=", "==", "!=", ">", "<"] as const;
export type ComparisonOperator = (typeof comparisons)[number];

const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;
const MODIFIERS =
  /^(?:bool\b|(?:on|ignoring|group_left|group_right)\s*\([^)]*\)|group_(?:left|right)\b)\s*/i;

export function parseThreshold(expr: string): ThresholdExpression {
  const text = withoutBrackets(expr.trim());
  // Operators of the lowest precedence first: of an `or` the first alternative is drawn, of `and` and `unless` the left-hand side.
  for (const words of [["or"], ["and", "unless"]]) {
    const at = places(text).find((place) => words.includes(place.word));
    if (at !== undefined) return parseThreshold(text.slice(0, at.from));
  }
  const last = places(text).findLast(({ word }) => isComparison(word));
  if (last === undefined || !isComparison(last.word)) return { left: text };
  const left = withoutBrackets(text.slice(0, last.from).trim());
  let right = text.slice(last.to).trim();
  while (MODIFIERS.test(right)) right = right.replace(MODIFIERS, "");
  right = withoutBrackets(right);
  const op = last.word;
  if (NUMBER.test(left)) return { left: right, op: turned[op], level: Number(left) };
  return NUMBER.test(right) ? { left, op, level: Number(right) } : { left, op, right };
}

const turned: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  ">=": "<=",
  "<=": ">=",
  ">": "<",
  "<": ">",
  "==": "==",
  "!=": "!=",
};

const isComparison = (word: string): word is ComparisonOperator =>
  comparisons.some((one) => one === word);

interface OperatorPosition {
  readonly word: string;
  readonly from: number;
  readonly to: number;
}

/** Finds operators outside all brackets and quotes. */
function places(text: string): OperatorPosition[] {
  const found: OperatorPosition[] = [];
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at] ?? "";
    if (`"'\``.includes(letter)) at = endOfQuote(text, at);
    else if ("([{".includes(letter)) depth += 1;
    else if (")]}".includes(letter)) depth -= 1;
    else if (depth === 0) {
      const word = wordAt(text, at);
      if (word === undefined) continue;
      found.push({ word: word.toLowerCase(), from: at, to: at + word.length });
      at += word.length - 1;
    }
  }
  return found;
}

function wordAt(text: string, at: number): string | undefined {
  const operator = comparisons.find((one) => text.startsWith(one, at));
  if (operator !== undefined) return operator;
  return /^[A-Za-z_:][\w:]*/.exec(text.slice(at))?.[0];
}

function endOfQuote(text: string, from: number): number {
  const quote = text[from] ?? "";
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === "\\" && quote !== "`") at += 1;
    else if (text[at] === quote) return at;
  }
  return text.length;
}

/** `((a))` becomes `a`; `(a) + (b)` is unchanged. */
function withoutBrackets(text: string): string {
  if (!text.startsWith("(") || !text.endsWith(")")) return text;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at] ?? "";
    if (`"'\``.includes(letter)) at = endOfQuote(text, at);
    else if (letter === "(") depth += 1;
    else if (letter === ")") depth -= 1;
    if (depth === 0 && at < text.length - 1) return text;
  }
  return withoutBrackets(text.slice(1, -1).trim());
}
