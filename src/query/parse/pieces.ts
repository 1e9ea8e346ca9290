/** Parses a short query as a whole and a long one piece by piece. All positions refer to the whole query. */
import { NodeType, Tree, type SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";
import type { Expr } from "../ast.ts";
import type { QueryToken } from "./lex.ts";
import { assemble, type FlatExprItem } from "./operators.ts";
import { chunksOf, holesOf, type TokenRange } from "./outline.ts";
import { plain } from "./plain.ts";
import { syntaxError } from "./syntax-error.ts";
import { TreeReader } from "./tree.ts";

/** A part parsed as a hole, from its second character on, relative to the start of the cut. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

/** A part of the query, as passed to the grammar. */
interface Cut {
  /** Its start in the query. */
  readonly start: number;
  readonly text: string;
  readonly gaps: readonly Gap[];
}

const shortEnough = 1000;
/** Replaces the last operand of the previous chunk. */
const standIn: Expr = { kind: "number", value: 0, duration: false, span: { start: 0, end: 0 } };

export class PiecewiseParser {
  private readonly query: string;
  private readonly tokens: readonly QueryToken[];
  private readonly text: string;

  constructor(query: string, tokens: readonly QueryToken[]) {
    this.query = query;
    this.tokens = tokens;
    this.text = plain(query, tokens);
  }

  parse(range: TokenRange): Expr {
    const start = this.tokens[range.from]?.start ?? 0;
    const end = this.tokens[range.to - 1]?.end ?? start;
    if (end - start <= shortEnough) {
      return this.readerFor(new Map()).expr(
        this.tree({ start, text: this.text.slice(start, end), gaps: [] }),
      );
    }
    const items: FlatExprItem[] = [];
    let reader = this.readerFor(new Map());
    for (const chunk of chunksOf(this.tokens, range)) {
      const holes = new Map(
        holesOf(this.tokens, chunk).map((hole) => [this.startOf(hole.from), hole]),
      );
      const isFirst = chunk.from === range.from;
      reader = this.readerFor(holes, isFirst ? undefined : this.startOf(chunk.from) - 1);
      const found = reader.items(this.tree(this.withHoles(chunk, holes, isFirst)));
      items.push(...(isFirst ? found : found.slice(1)));
    }
    return assemble(items, (expr, node) => reader.suffix(expr, node));
  }

  private readerFor(holes: ReadonlyMap<number, TokenRange>, standInAt?: number): TreeReader {
    return new TreeReader(this.query, (node) => {
      if (node.from === standInAt) return standIn;
      const hole = holes.get(node.from);
      return hole === undefined ? undefined : this.parse(hole);
    });
  }

  /** Replaces each hole by a number at its start; a chunk that starts with an operator gets a number before it. */
  private withHoles(
    chunk: TokenRange,
    holes: ReadonlyMap<number, TokenRange>,
    isFirst: boolean,
  ): Cut {
    const first = this.startOf(chunk.from);
    const start = isFirst ? first : first - 1;
    const end = this.tokens[chunk.to - 1]?.end ?? first;
    let text = isFirst ? "" : "1";
    let at = first;
    const gaps: Gap[] = [];
    for (const [from, hole] of holes) {
      const to = this.tokens[hole.to - 1]?.end ?? from;
      text += `${this.text.slice(at, from)}1${" ".repeat(to - from - 1)}`;
      if (to - from > 1) gaps.push({ from: from + 1 - start, to: to - start });
      at = to;
    }
    return { start, text: text + this.text.slice(at, end), gaps };
  }

  private startOf(token: number): number {
    return this.tokens[token]?.start ?? this.query.length;
  }

  /** Skips the gaps: reading a hole as spaces in each of its ancestors would be quadratic in its depth. */
  private tree({ start, text, gaps }: Cut): SyntaxNode {
    const ranges = [{ from: 0 }, ...gaps.map(({ to }) => ({ from: to }))].map(
      ({ from }, index) => ({
        from,
        to: gaps[index]?.from ?? text.length,
      }),
    );
    const inner = parser.parse(text, [], ranges);
    // Placed at its position in the query, so that every position in the tree refers to the query.
    const tree = new Tree(NodeType.none, [inner], [start], start + inner.length);
    let errorAt = -1;
    tree.iterate({
      enter(node) {
        if (node.type.isError && errorAt < 0) errorAt = node.from;
      },
    });
    const top = tree.topNode.firstChild?.firstChild ?? null;
    if (errorAt >= 0 || top === null)
      throw syntaxError(this.query, this.tokens, Math.max(0, errorAt));
    return top;
  }
}
