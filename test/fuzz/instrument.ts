// Adds a counter to every branch of a bundled program, so that the fuzz loop detects inputs that reach new code. V8's own coverage
// costs milliseconds per reading; a counter in the code costs nanoseconds, which a million inputs need.

import { parseAst } from "vite";

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<
  Record<string, unknown>
>;

export interface InstrumentedCode {
  readonly code: string;
  readonly counters: number;
  /** The short strings that the code compares with: the fuzzer's dictionary. */
  readonly words: readonly string[];
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string";

const statements = new Set(["IfStatement", "ForStatement", "ForInStatement", "ForOfStatement"]);
for (const kind of ["WhileStatement", "DoWhileStatement"]) statements.add(kind);

/** `code` is a complete module; the counters are in `globalThis.fuzzCounters`. */
export function instrument(code: string): InstrumentedCode {
  const puts: { at: number; order: number; text: string }[] = [];
  const words = new Set<string>();
  let counters = 0;
  const count = (): string => `fuzzAt[${counters++}]++`;
  const put = (at: number, order: number, text: string): void =>
    void puts.push({ at, order, text });
  const wrap = (node: Node): void => {
    put(node.start, 1, `(${count()},`);
    put(node.end, -1, ")");
  };
  const body = (node: unknown): void => {
    if (!isNode(node)) return;
    if (node.type === "BlockStatement") put(node.start + 1, 0, `${count()};`);
    else if (node.type !== "EmptyStatement") {
      put(node.start, 1, `{${count()};`);
      put(node.end, -1, "}");
    }
  };
  const visit = (node: Node): void => {
    if (statements.has(node.type)) {
      body(node["consequent"] ?? node["body"]);
      const { alternate } = node;
      if (isNode(alternate) && alternate.type !== "IfStatement") body(alternate);
    } else if (node.type === "SwitchCase") {
      const [first] = node["consequent"] as Node[];
      if (first !== undefined) put(first.start, 1, `${count()};`);
    } else if (node.type === "CatchClause") body(node["body"]);
    else if (node.type.startsWith("Function") || node.type === "ArrowFunctionExpression") {
      const inner = node["body"];
      if (isNode(inner) && inner.type === "BlockStatement") body(inner);
      else if (isNode(inner)) wrap(inner);
    } else if (node.type === "ConditionalExpression") {
      wrap(node["consequent"] as Node);
      wrap(node["alternate"] as Node);
    } else if (node.type === "LogicalExpression") wrap(node["right"] as Node);
    else if (node.type === "Literal" && typeof node["value"] === "string") {
      if (/^[!-~][ -~]{0,30}$/.test(node["value"])) words.add(node["value"]);
    }
    for (const value of Object.values(node).flat()) if (isNode(value)) visit(value);
  };
  visit(parseAst(code) as unknown as Node);
  // At the same position, ends come before beginnings; ends in the order they were found, innermost first.
  const sorted = puts.map((one, index) => ({ ...one, index }));
  sorted.sort(
    (left, right) =>
      left.at - right.at ||
      left.order - right.order ||
      (left.order < 0 ? right.index - left.index : left.index - right.index),
  );
  let out = `const fuzzAt = (globalThis.fuzzCounters = new Uint8Array(${Math.ceil((counters + 1) / 8) * 8}));\n`;
  let from = 0;
  for (const { at, text } of sorted) {
    out += code.slice(from, at) + text;
    from = at;
  }
  return { code: out + code.slice(from), counters, words: [...words] };
}
