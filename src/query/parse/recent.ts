/** Parses queries and remembers recent ones: dashboards and rules repeat theirs, and parsing is a tenth of a small query's time. */
import type { Expr } from "../ast.ts";
import { parse } from "./parse.ts";

export const maxRecentQueries = 256;
/** Of one query; longer ones are parsed every time. */
const maxLength = 1_000;

export class RecentQueries {
  /** Least recently used first. */
  readonly #parsed = new Map<string, Expr>();

  get size(): number {
    return this.#parsed.size;
  }

  /** Returns a tree that the caller may modify. */
  parse(query: string): Expr {
    const known = this.#parsed.get(query);
    const parsed = known ?? parse(query);
    if (query.length > maxLength) return parsed;
    if (known !== undefined) this.#parsed.delete(query);
    else if (this.#parsed.size >= maxRecentQueries)
      for (const oldest of this.#parsed.keys()) {
        this.#parsed.delete(oldest);
        break;
      }
    this.#parsed.set(query, parsed);
    return copyOf(parsed);
  }
}

/** A tree is plain data without cycles. */
function copyOf<Node>(node: Node): Node {
  return copied(node) as Node;
}

function copied(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(copied);
  if (typeof node !== "object" || node === null) return node;
  const copy: Record<string, unknown> = { ...node };
  for (const name in copy) {
    const value = copy[name];
    if (typeof value === "object" && value !== null) copy[name] = copied(value);
  }
  return copy;
}
