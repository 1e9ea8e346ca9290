/** The errors of a query, in Prometheus's words. The kind determines the HTTP status, which is set elsewhere. */
import { Buffer } from "node:buffer";
import type { Span } from "./ast.ts";

export type QueryErrorKind = "bad_data" | "execution" | "timeout" | "canceled";

export class QueryError extends Error {
  readonly kind: QueryErrorKind;

  constructor(kind: QueryErrorKind, sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = "QueryError";
    this.kind = kind;
  }
}

/** The query was not started and may be retried later. `share`: its client already uses its share of query slots. */
export class QueryShedError extends QueryError {
  readonly reason: "share" | "timeout";

  constructor(sentence: string, reason: QueryShedError["reason"]) {
    super("timeout", sentence);
    this.name = "QueryShedError";
    this.reason = reason;
  }
}

/** The query's text is invalid. The message starts with line and column, like Prometheus's. */
export class ParseError extends QueryError {
  readonly span: Span;

  constructor(query: string, span: Span | undefined, problem: string) {
    const where = span === undefined ? "unknown position" : position(query, span.start);
    super("bad_data", `${where}: parse error: ${problem}`);
    this.name = "ParseError";
    this.span = span ?? { start: 0, end: 0 };
  }
}

/** `line:column`, both from 1; columns count bytes, as in Prometheus. */
export function position(query: string, offset: number): string {
  const before = query.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  return `${line}:${Buffer.byteLength(before.slice(lineStart)) + 1}`;
}

export function executionError(sentence: string): QueryError {
  return new QueryError("execution", sentence);
}

export const duplicateLabels = "vector cannot contain metrics with the same labelset";

export function tooManySamples(): QueryError {
  return executionError(
    "query processing would load too many samples into memory in query execution",
  );
}
