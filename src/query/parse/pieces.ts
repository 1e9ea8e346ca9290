/** Parses a query as a whole while it is short, piece by piece when it is long. Positions are the query's throughout. */
import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";
import type { Expr } from "../ast.ts";
import type { Token } from "./lex.ts";
import { assemble, type Item } from "./operators.ts";
import { chunksOf, holesOf, type TokenRange } from "./outline.ts";
import { plain } from "./plain.ts";
import { syntaxError } from "./syntax-error.ts";
import { TreeReader } from "./tree.ts";

const shortEnough = 1000;
/** Takes the place of the operand that the chunk before ended with. */
const standIn: Expr = { kind: "number", value: 0, duration: false, span: { start: 0, end: 0 } };

export class Pieces {
  private readonly query: string;
  private readonly tokens: readonly Token[];
  private readonly text: string;

  constructor(query: string, tokens: readonly Token[]) {
    this.query = query;
    this.tokens = tokens;
    this.text = plain(query, tokens);
  }

  parse(range: TokenRange): Expr {
    const start = this.tokens[range.from]?.start ?? 0;
    const end = this.tokens[range.to - 1]?.end ?? start;
    if (end - start <= shortEnough) {
      return this.readerFor(new Map()).expr(
        this.tree(" ".repeat(start) + this.text.slice(start, end)),
      );
    }
    const items: Item[] = [];
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

  /** Each hole is a number where it starts; a chunk that starts with an operator gets one before it. */
  private withHoles(
    chunk: TokenRange,
    holes: ReadonlyMap<number, TokenRange>,
    isFirst: boolean,
  ): string {
    const start = this.startOf(chunk.from);
    const end = this.tokens[chunk.to - 1]?.end ?? start;
    let out = isFirst ? " ".repeat(start) : `${" ".repeat(start - 1)}1`;
    let at = start;
    for (const [from, hole] of holes) {
      const to = this.tokens[hole.to - 1]?.end ?? from;
      out += `${this.text.slice(at, from)}1${" ".repeat(to - from - 1)}`;
      at = to;
    }
    return out + this.text.slice(at, end);
  }

  private startOf(token: number): number {
    return this.tokens[token]?.start ?? this.query.length;
  }

  private tree(text: string): SyntaxNode {
    const tree = parser.parse(text);
    let errorAt = -1;
    tree.iterate({
      enter(node) {
        if (node.type.isError && errorAt < 0) errorAt = node.from;
      },
    });
    const top = tree.topNode.firstChild;
    if (errorAt >= 0 || top === null)
      throw syntaxError(this.query, this.tokens, Math.max(0, errorAt));
    return top;
  }
}
