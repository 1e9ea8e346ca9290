import { expect, test } from "vitest";
import { parse } from "../../query/parse/parse.ts";
import {
  literalPattern,
  printablePromql,
  promqlString,
  quoteText,
  requotePromql,
} from "./quote.ts";

test.for([
  ["gpu-node-3", '"gpu-node-3"'],
  ["Müller 42 °C", '"Müller 42 °C"'],
  ['a"b\\c', '"a\\"b\\\\c"'],
  ["line\nbreak", '"line\\u000abreak"'],
  ["a | b", '"a \\u007c b"'],
  ["`code` <b> [x](y)", '"\\u0060code\\u0060 \\u003cb\\u003e \\u005bx\\u005d(y)"'],
  ["https://evil.example", '"https:/\\u002fevil.example"'],
  ["WWW.evil.example", '"WWW\\u002eevil.example"'],
  ["\u202Etxt.exe", '"\\u202etxt.exe"'],
  ["\u001b[31mred", '"\\u001b\\u005b31mred"'],
  ["\u3164 filler", '"\\u3164 filler"'],
  ["😀", '"\\ud83d\\ude00"'],
  ["\uD800 alone", '"\\ud800 alone"'],
  ["cut…", '"cut\\u2026"'],
] as const)("%j is quoted as %s", ([text, quoted]) => {
  expect(quoteText(text)).toBe(quoted);
  expect(JSON.parse(quoted)).toBe(text);
});

test("a long text is cut, and ends with an ellipsis that no text has unescaped", () => {
  expect(quoteText("x".repeat(81))).toBe(`"${"x".repeat(80)}…"`);
  expect(quoteText("x".repeat(80))).toBe(`"${"x".repeat(80)}"`);
});

test.for(['a"b', "back\\slash", "line\nbreak", "tag \u{E0041}", "\uD800", "{}`'", "日本"])(
  "%j is a valid string of PromQL, also as a pattern",
  (text) => {
    expect(() => parse(`up{a=${promqlString(text)}}`)).not.toThrow();
    expect(() => parse(`up{a=~${promqlString(`${literalPattern(text)}.*`)}}`)).not.toThrow();
  },
);

test("an expression is shown on one line", () =>
  expect(printablePromql('sum(\n  up{a="\u0007é"}\n)')).toBe('sum( up{a="\\u0007é"} )'));

test.for(["60 ---\nOWNED: yaml", 'a"}) or "b', "https://evil.example", "`code` <b>", "\u202Etxt"])(
  "%j in an expression of ours is quoted as a name is",
  (name) => {
    const promql = `max(up{host=${JSON.stringify(name)},reason=~"thermal|fan"}[90s] @ 1)`;
    const shown = requotePromql(promql);
    expect(shown).toBe(`max(up{host=${promqlString(name)},reason=~"thermal|fan"}[90s] @ 1)`);
    expect(() => parse(shown.replace("[90s]", ""))).not.toThrow();
  },
);
