/**
 * Prometheus's type checker: the types each node accepts, with Prometheus's messages in the same order. Also sets the
 * cardinality of vector matching.
 */
import {
  isComparison,
  isSetOp,
  type Aggregate,
  type Binary,
  type Call,
  type Expr,
  type Span,
  type ValueType,
  type VectorSelector,
} from "./ast.ts";
import { ParseError } from "./errors.ts";
import { predicate } from "./matcher.ts";
import { quote } from "./quote.ts";
import { signatures } from "./signatures.ts";

const spoken: Readonly<Record<ValueType, string>> = {
  scalar: "scalar",
  vector: "instant vector",
  matrix: "range vector",
  string: "string",
};

export function typeOf(expr: Expr): ValueType {
  switch (expr.kind) {
    case "number":
      return "scalar";
    case "string":
      return "string";
    case "vector":
    case "aggregate":
      return "vector";
    case "matrix":
    case "subquery":
      return "matrix";
    case "call":
      return signatures.get(expr.name)?.returns ?? "vector";
    case "binary":
      return typeOf(expr.lhs) === "scalar" && typeOf(expr.rhs) === "scalar" ? "scalar" : "vector";
    case "unary":
    case "paren":
      return typeOf(expr.expr);
  }
}

export function check(query: string, expr: Expr): ValueType {
  return new Checker(query).visit(expr);
}

class Checker {
  readonly query: string;

  constructor(query: string) {
    this.query = query;
  }

  fail(span: Span, problem: string): never {
    throw new ParseError(this.query, span, problem);
  }

  visit(expr: Expr): ValueType {
    if (expr.kind === "aggregate") this.aggregate(expr);
    else if (expr.kind === "binary") this.binary(expr);
    else if (expr.kind === "call") this.call(expr);
    else if (expr.kind === "paren") this.visit(expr.expr);
    else if (expr.kind === "matrix") this.selector(expr.selector);
    else if (expr.kind === "vector") this.selector(expr);
    else if (expr.kind === "unary") {
      const type = this.visit(expr.expr);
      if (type !== "scalar" && type !== "vector") {
        const problem =
          "unary expression only allowed on expressions of type scalar or instant vector, got";
        this.fail(expr.span, `${problem} ${quote(spoken[type])}`);
      }
    } else if (expr.kind === "subquery") {
      const type = this.visit(expr.expr);
      if (type !== "vector")
        this.fail(expr.span, `subquery is only allowed on instant vector, got ${type} instead`);
    }
    return typeOf(expr);
  }

  private expect(expr: Expr, wanted: ValueType, where: string): void {
    const type = this.visit(expr);
    if (type !== wanted)
      this.fail(expr.span, `expected type ${spoken[wanted]} in ${where}, got ${spoken[type]}`);
  }

  private aggregate(expr: Aggregate): void {
    this.expect(expr.expr, "vector", "aggregation expression");
    if (expr.param === undefined) return;
    this.expect(
      expr.param,
      expr.op === "count_values" ? "string" : "scalar",
      "aggregation parameter",
    );
  }

  private call(expr: Call): void {
    const signature = signatures.get(expr.name);
    if (signature === undefined)
      return this.fail(expr.span, `unknown function with name ${quote(expr.name)}`);
    const { args, variadic } = signature;
    const given = expr.args.length;
    const least = variadic === 0 ? args.length : args.length - 1;
    const call = `argument(s) in call to ${quote(expr.name)}, got ${given}`;
    if (variadic === 0 && given !== least) this.fail(expr.span, `expected ${least} ${call}`);
    if (given < least) this.fail(expr.span, `expected at least ${least} ${call}`);
    if (variadic > 0 && given > least + variadic) {
      this.fail(expr.span, `expected at most ${least + variadic} ${call}`);
    }
    if (expr.name === "info" && given > 1) this.infoSelector(expr);
    for (const [index, arg] of expr.args.entries()) {
      const wanted = args[Math.min(index, args.length - 1)];
      if (wanted !== undefined) this.expect(arg, wanted, `call to function ${quote(expr.name)}`);
    }
  }

  private infoSelector(expr: Call): void {
    const selector = expr.args[1];
    if (selector === undefined) return;
    const type = typeOf(selector);
    if (type !== "vector") {
      this.fail(
        expr.span,
        `expected type instant vector in call to function "info", got ${spoken[type]}`,
      );
    }
    if (selector.kind !== "vector")
      return this.fail(selector.span, "expected label selectors only");
    if (selector.name !== "") {
      this.fail(selector.span, "expected label selectors only, got vector selector instead");
    }
    selector.mayBeEmpty = true;
  }

  private selector(expr: VectorSelector): void {
    if (expr.name !== "") {
      const twice = expr.matchers.slice(0, -1).find((matcher) => matcher.name === "__name__");
      if (twice !== undefined) {
        const problem = `metric name must not be set twice: ${quote(expr.name)} or ${quote(twice.value)}`;
        this.fail(expr.span, problem);
      }
      return;
    }
    if (expr.mayBeEmpty || expr.matchers.some((matcher) => !predicate(matcher)(""))) return;
    this.fail(expr.span, "vector selector must contain at least one non-empty matcher");
  }

  private binary(expr: Binary): void {
    const left = this.visit(expr.lhs);
    const right = this.visit(expr.rhs);
    const { op, matching } = expr;
    const operator = { start: this.skipSpace(expr.lhs.span.end), end: expr.rhs.span.start };
    if (expr.bool && !isComparison(op)) {
      this.fail(operator, "bool modifier can only be used on comparison operators");
    }
    if (isComparison(op) && !expr.bool && left === "scalar" && right === "scalar") {
      this.fail(operator, "comparisons between scalars must use BOOL modifier");
    }
    if (matching !== undefined) {
      if (isSetOp(op) && matching.card === "one-to-one") matching.card = "many-to-many";
      const both = matching.on
        ? matching.labels.find((label) => matching.include.includes(label))
        : undefined;
      if (both !== undefined) {
        this.fail(operator, `label ${quote(both)} must not occur in ON and GROUP clause at once`);
      }
    }
    const mixed = "binary expression must contain only scalar and instant vector types";
    if (left !== "scalar" && left !== "vector") this.fail(expr.lhs.span, mixed);
    if (right !== "scalar" && right !== "vector") this.fail(expr.rhs.span, mixed);
    this.matching(expr, left === "vector" && right === "vector");
    if (isSetOp(op) && (left === "scalar" || right === "scalar")) {
      this.fail(expr.span, `set operator ${quote(op)} not allowed in binary scalar expression`);
    }
  }

  private matching(expr: Binary, betweenVectors: boolean): void {
    const { matching } = expr;
    if (matching === undefined) return;
    const fills = matching.fillLeft !== undefined || matching.fillRight !== undefined;
    if (!betweenVectors) {
      if (matching.labels.length > 0) {
        this.fail(expr.span, "vector matching only allowed between instant vectors");
      }
      if (fills)
        this.fail(expr.span, "filling in missing series only allowed between instant vectors");
      expr.matching = undefined;
    } else if (isSetOp(expr.op)) {
      if (matching.card !== "many-to-many") {
        this.fail(expr.span, `no grouping allowed for ${quote(expr.op)} operation`);
      }
      if (fills) this.fail(expr.span, "filling in missing series not allowed for set operators");
    }
  }

  private skipSpace(from: number): number {
    let at = from;
    while (/\s/.test(this.query[at] ?? "")) at++;
    return at;
  }
}
