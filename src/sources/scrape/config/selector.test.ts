import { expect, test } from "vitest";
import { fieldSelectorProblem, labelSelectorProblem } from "./selector.ts";

test.each([
  "",
  "app",
  "!canary",
  "app=web",
  "app==web,tier!=db",
  "app in (a, b), tier notin (c)",
  "x in (a,,b)",
  "app.kubernetes.io/name=gpulse, gpu",
  "empty=",
  "cores>4,cores < 64",
])("the label selector %j is accepted", (text) => {
  expect(labelSelectorProblem(text)).toBeUndefined();
});

test.each([
  ["a=b=c", '"=" is found where a comma is expected'],
  ["a b", '"b" is not an operator'],
  ["a in b", "in needs a list in parentheses"],
  ["a in (b", "the list of in needs commas"],
  ["a in ()", "in needs at least one value"],
  ["a notin (b c)", "the list of notin needs commas"],
  ["a=b,,c=d", 'a label name is expected before ","'],
  ["a=b,", "after the last comma"],
  ["a=b c", '"c" is found where a comma is expected'],
  ["-a=b", '"-a" is not a valid label name'],
  ["A.io/x=y", '"A.io/x" is not a valid label name'],
  ["a/b/c", '"a/b/c" is not a valid label name'],
  ["a=b/c", '"b/c" is not a valid label value'],
  ["cores>many", "> needs a whole number"],
  ["!a=b", '"=" is found where a comma is expected'],
  [`a=${"x".repeat(64)}`, "is not a valid label value"],
])("the label selector %j is refused: %s", (text, says) => {
  expect(labelSelectorProblem(text)).toContain(says);
});

test.each([
  "",
  "spec.nodeName=x",
  "spec.nodeName==x,status.phase!=Failed",
  "metadata.name=a\\,b",
  "metadata.name=a\\=b",
  "metadata.name=a\\\\",
  "a=b!c",
  "a=b,",
  "a=",
])("the field selector %j is accepted", (text) => {
  expect(fieldSelectorProblem(text)).toBeUndefined();
});

test.each([
  ["a", '"a" has no =, == or !='],
  ["a=b,c", '"c" has no =, == or !='],
  ["a=b=c", "has a second ="],
  ["a=b\\x", "escapes nothing"],
])("the field selector %j is refused: %s", (text, says) => {
  expect(fieldSelectorProblem(text)).toContain(says);
});
