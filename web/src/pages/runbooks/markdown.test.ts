import { expect, test } from "vitest";
import { parseInline, parseMarkdown, resolveRunbookLink } from "./markdown.ts";

test("bold, code and links are parts of a paragraph", () => {
  expect(parseInline("**Fix.** Run `a*b`, see [GpuHot](#gpuhot).")).toEqual([
    { kind: "bold", text: "Fix." },
    { kind: "text", text: " Run " },
    { kind: "code", text: "a*b" },
    { kind: "text", text: ", see " },
    { kind: "link", text: "GpuHot", href: "#gpuhot" },
    { kind: "text", text: "." },
  ]);
});

test("the heading is left to the page, and a list is its items", () => {
  expect(
    parseMarkdown("### GpuHot\n\nOne.\n\n- a\n- b").map(({ kind, parts }) => [
      kind,
      parts[0]?.text,
    ]),
  ).toEqual([
    ["paragraph", "One."],
    ["item", "a"],
    ["item", "b"],
  ]);
});

test.each([
  ["#gpuhot", { kind: "section", alert: "gpuhot" }],
  ["../guides/alerts.md#default-rules", { kind: "docs", path: "guides/alerts#default-rules" }],
  ["../reference/xids.md", { kind: "docs", path: "reference/xids" }],
  ["https://example.org/a", { kind: "web", href: "https://example.org/a" }],
  ["javascript:alert(1)", undefined],
])("%s leads to %j", (href, link) => {
  expect(resolveRunbookLink(href)).toEqual(link);
});
