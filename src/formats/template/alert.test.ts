import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { AlertTemplate } from "./alert.ts";
import { TemplateError } from "./lex.ts";

/** Rule templates with the output of Prometheus 3's own expander; "ERR" if it returns an error. */
const golden = JSON.parse(
  readFileSync(new URL("./testdata/prometheus-template.json", import.meta.url), "utf8"),
) as readonly (readonly [template: string, printed: string])[];

const data = {
  labels: new Map([
    ["instance", "h1.example.com:9400"],
    ["gpu", "0"],
  ]),
  externalLabels: new Map([["site", "x"]]),
  externalUrl: "http://prom.example:9090/p",
  value: 87.456,
};
const sample = (instance: string, value: number) => ({
  labels: new Map([
    ["__name__", "m"],
    ["instance", instance],
  ]),
  value,
});

test.each(golden)("%s prints what Prometheus prints", async (template, printed) => {
  const expand = async () =>
    new AlertTemplate(template).expand(data, 1_700_000_000_123, async () => [
      sample("b", 21),
      sample("a", 11),
    ]);
  const made = await expand().catch((thrown: unknown) => {
    if (thrown instanceof TemplateError) return "ERR";
    throw thrown;
  });
  expect(made).toBe(printed);
});

test("a template that cannot be parsed says where, as its author counts", () => {
  expect(() => new AlertTemplate("x {{ nope }}")).toThrow("line 1, column 6: ");
  expect(() => new AlertTemplate("x\n {{ nope }}")).toThrow("line 2, column 5: ");
});
