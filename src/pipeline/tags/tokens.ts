/** Splits an expression into tokens with their positions. Pure. */
import { GpulseError } from "../../base/error.ts";

export interface ExpressionToken {
  readonly kind: "number" | "name" | "sign" | "end";
  readonly text: string;
  readonly at: number;
}

const maxLength = 2_000;
const word =
  /\s*(?:(\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w.])|([A-Za-z_]\w*|\d+_\w+)|(>=|<=|==|!=|[-+*/()<>]))/iy;

export function tokenize(text: string): readonly ExpressionToken[] {
  if (text.length > maxLength)
    throw new GpulseError("EXPRESSION", `An expression has at most ${maxLength} characters.`);
  const tokens: ExpressionToken[] = [];
  word.lastIndex = 0;
  const end = text.trimEnd().length;
  while (word.lastIndex < end) {
    const from = word.lastIndex;
    const match = word.exec(text);
    if (match === null) {
      const at = from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0);
      throw expressionError(text, at, `"${text[at]}" is not understood here`);
    }
    const [, number, name, sign] = match;
    const found = number ?? name ?? sign ?? "";
    tokens.push({
      kind: number !== undefined ? "number" : name !== undefined ? "name" : "sign",
      text: found,
      at: word.lastIndex - found.length,
    });
  }
  tokens.push({ kind: "end", text: "", at: end });
  return tokens;
}

/** An error that shows the expression with a mark below the position. */
export function expressionError(text: string, at: number, problem: string): GpulseError {
  return new GpulseError(
    "EXPRESSION",
    `${problem} (character ${at + 1}):\n  ${text}\n  ${" ".repeat(at)}^`,
  );
}
