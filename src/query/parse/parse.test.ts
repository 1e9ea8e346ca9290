import { expect, test } from "vitest";
import { print } from "../format.ts";
import { parse, parseSelector } from "./parse.ts";

const printed: readonly [query: string, canonical: string][] = [
  ["-1^2", "-1 ^ 2"],
  ["-x^2", "-x ^ 2"],
  ["- 5m", "-5m"],
  ["a or b offset 5m", "a or b offset 5m"],
  ["a + b @ 3 * c", "a + b @ 3.000 * c"],
  ["-metric @ 100", "-metric @ 100.000"],
  ["SUM BY (a,) (x)", "sum by (a) (x)"],
  ["sum(x) by (a)", "sum by (a) (x)"],
  ["sum by () (x)", "sum(x)"],
  ["sum without () (x)", "sum without () (x)"],
  ['{"my.metric", "a b"="c"}', '{"a b"="c",__name__="my.metric"}'],
  ["x{b='2',a=\"1\"}", 'x{a="1",b="2"}'],
  ["x[90s]", "x[1m30s]"],
  ["x[100]", "x[1m40s]"],
  ["x[(5m+1)*2:step()]", "x[(5m + 1) * 2:step()]"],
  ["x[5m:] offset 1h @ end()", "x[5m:] @ end() offset 1h"],
  ["x offset -1d", "x offset -1d"],
  ["rate(x[5m] anchored)", "rate(x[5m] anchored)"],
  ["a + on(x) group_left(y) fill_left(3) b", "a + on (x) group_left (y) fill_left (3) b"],
  ["a and b", "a and b"],
  ["a == bool 1", "a == bool 1"],
  ["0x1F + 1_000 + .5 + 1.", "31 + 1000 + 0.5 + 1"],
  ["Inf + -inf + nan", "+Inf + -Inf + NaN"],
  ['"a\\u00e9\\x41"', '"aéA"'],
  ["min_of(1, 2)", "min_of(1, 2)"],
  ["x offset min_of(1m, step())", "x offset min_of(1m, step())"],
  ["offset offset 5m", "offset offset 5m"],
  ["x + on (a) offset", "x + on (a) offset"],
  ["vector(1) + vector(max_of(1, 2))", "vector(1) + vector(max_of(1, 2))"],
  ["sum", "sum"],
  ["topk(3, x) # the best", "topk(3, x)"],
  ["a ^ b ^ c", "a ^ b ^ c"],
];

test.each(printed)("%s is read and printed as %s", (query, canonical) => {
  expect(print(parse(query))).toBe(canonical);
});

test("power binds to the right, everything else to the left", () => {
  expect(parse("a ^ b ^ c")).toMatchObject({ lhs: { name: "a" }, rhs: { op: "^" } });
  expect(parse("a - b - c")).toMatchObject({ lhs: { op: "-" }, rhs: { name: "c" } });
  expect(parse("a or b and c")).toMatchObject({ op: "or", rhs: { op: "and" } });
  expect(parse("a + b offset 5m * c")).toMatchObject({
    op: "+",
    rhs: { op: "*", lhs: { offsetMs: 300_000 } },
  });
});

const refused: readonly [query: string, problem: string][] = [
  ["", "unknown position: parse error: no expression found in input"],
  ["1 +", "1:4: parse error: unexpected end of input"],
  ["(1", "1:3: parse error: unclosed left parenthesis"],
  ["x[5m", "1:5: parse error: unclosed left bracket"],
  ["x{a=1}", "1:5: parse error: unexpected character inside braces: '1'"],
  ["x{a}", '1:4: parse error: unexpected "}" in label matching, expected label matching operator'],
  ['"open', "1:1: parse error: unterminated quoted string"],
  ['"\\q"', "1:1: parse error: unknown escape sequence U+0071 'q'"],
  ["a b", '1:3: parse error: unexpected identifier "b"'],
  ["sum by a (x)", '1:8: parse error: unexpected identifier "a" in grouping opts, expected "("'],
  ["foo(x)", '1:1: parse error: unknown function with name "foo"'],
  [
    "rate(x)",
    '1:6: parse error: expected type range vector in call to function "rate", got instant vector',
  ],
  [
    "abs(x[5m])",
    '1:5: parse error: expected type instant vector in call to function "abs", got range vector',
  ],
  ["abs()", '1:1: parse error: expected 1 argument(s) in call to "abs", got 0'],
  ["round(x, 1, 2)", '1:1: parse error: expected at most 2 argument(s) in call to "round", got 3'],
  ["rate(x[5m],)", "1:11: parse error: trailing commas not allowed in function call args"],
  [
    "sum(x[5m])",
    "1:5: parse error: expected type instant vector in aggregation expression, got range vector",
  ],
  [
    "topk(x)",
    "1:1: parse error: wrong number of arguments for aggregate expression provided, expected 2, got 1",
  ],
  ["sum()", "1:1: parse error: no arguments for aggregate expression provided"],
  [
    "count_values(1, x)",
    "1:14: parse error: expected type string in aggregation parameter, got scalar",
  ],
  ["1 == 1", "1:3: parse error: comparisons between scalars must use BOOL modifier"],
  ["x + bool y", "1:3: parse error: bool modifier can only be used on comparison operators"],
  ["1 and x", '1:1: parse error: set operator "and" not allowed in binary scalar expression'],
  ["x and on (a) group_left y", '1:1: parse error: no grouping allowed for "and" operation'],
  [
    "x * on (a) group_left (a) y",
    '1:3: parse error: label "a" must not occur in ON and GROUP clause at once',
  ],
  ["x * on (a) 1", "1:1: parse error: vector matching only allowed between instant vectors"],
  [
    "x[5m] + 1",
    "1:1: parse error: binary expression must contain only scalar and instant vector types",
  ],
  ["{}", "1:1: parse error: vector selector must contain at least one non-empty matcher"],
  ['{a=~".*"}', "1:1: parse error: vector selector must contain at least one non-empty matcher"],
  ['x{__name__="y"}', '1:1: parse error: metric name must not be set twice: "x" or "y"'],
  ['x{a=~"("}', "1:3: parse error: error parsing regexp: missing closing ): `(`"],
  ["x[0s]", "1:3: parse error: duration must be greater than 0"],
  ["(x)[5m]", "1:4: parse error: ranges only allowed for vector selectors"],
  ["x offset 5m [5m]", "1:13: parse error: no offset modifiers allowed before range"],
  ["x offset 1m offset 2m", "1:1: parse error: offset may not be set multiple times"],
  ["x @ 1 @ 2", "1:1: parse error: @ <timestamp> may not be set multiple times"],
  [
    "sum(x) offset 1m",
    "1:1: parse error: offset modifier must be preceded by an instant vector selector or range vector selector or a subquery",
  ],
  ["1[5m:]", "1:1: parse error: subquery is only allowed on instant vector, got scalar instead"],
  ["info(x, y)", "1:9: parse error: expected label selectors only, got vector selector instead"],
  [
    '-"a"',
    '1:1: parse error: unary expression only allowed on expressions of type scalar or instant vector, got "string"',
  ],
  ["x\n+ abs(\n)", '2:3: parse error: expected 1 argument(s) in call to "abs", got 0'],
];

test.each(refused)("%s is refused in Prometheus's words", (query, problem) => {
  expect(() => parse(query)).toThrow(new RegExp(`^${literally(problem)}$`));
});

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

test("a query of absurd depth or length is refused, not followed", () => {
  expect(() => parse("(".repeat(600) + "1" + ")".repeat(600))).toThrow(/nested deeper/);
  expect(() => parse(`1${"+1".repeat(5000)}`)).toThrow(/nested deeper/);
  expect(() => parse(`${"-".repeat(100_000)}x`)).toThrow(/nested deeper/);
  expect(() => parse(`x${" offset 1m".repeat(5000)}`)).toThrow(/nested deeper/);
  expect(() => parse(`1${"+1".repeat(600_000)}`)).toThrow(/longer than/);
  const deep = `${"abs(".repeat(200)}x${" or x".repeat(590)}${")".repeat(200)}`;
  expect(print(parse(deep))).toBe(deep);
});

test("a query longer than the grammar follows in one go is read all the same", () => {
  const terms = Array.from(
    { length: 300 },
    (_, gpu) => `max by (host) (gpu_power_watts{gpu="${gpu}"})`,
  );
  const row = terms.join(" or ignoring (host) ");
  expect(row.length).toBeGreaterThan(15_000);
  expect(print(parse(row))).toBe(row);
  const nested = `topk(3, abs(${row} + ${row}) - on (host) group_left () (${row})) offset_total`;
  expect(() => parse(nested)).toThrow(/unexpected identifier "offset_total"/);
  expect(parse(`topk(3, abs(${row}))`)).toMatchObject({
    op: "topk",
    expr: { args: [{ op: "or" }] },
  });
  expect(() => parse(`${row} or rate(x)`)).toThrow(
    /expected type range vector in call to function "rate"/,
  );
});

test("a series selector gives its matchers, anything else is refused", () => {
  expect(parseSelector('up{job!="a"}')).toEqual([
    { name: "job", op: "!=", value: "a" },
    { name: "__name__", op: "=", value: "up" },
  ]);
  expect(() => parseSelector("sum(up)")).toThrow(/expected a series selector/);
});
