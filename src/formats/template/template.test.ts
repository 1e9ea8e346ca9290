import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fuzzInputs, fuzzTimeoutMs, mutate, seededRandom } from "../../../test/fuzz/mutate.ts";
import { TemplateSet } from "./exec.ts";
import { TemplateError } from "./lex.ts";
import { GoMap, type GoObject, printValue, SafeText, type TemplateValue } from "./value.ts";

/** Templates with the output of Go's own text/template; "ERR" if parsing or execution fails. */
const golden = JSON.parse(
  readFileSync(new URL("./testdata/go-text-template.json", import.meta.url), "utf8"),
) as readonly (readonly [template: string, printed: string])[];

const structA: GoObject = {
  goType: "main.A",
  fields: { Name: "n", Value: 1.5 },
  print: () => "{n 1.5}",
};
const data = new GoMap(
  new Map<string, TemplateValue>([
    [
      "Labels",
      new GoMap(
        new Map([
          ["instance", "a:9400"],
          ["gpu", "0"],
        ]),
        "",
      ),
    ],
    ["Value", 87.5],
    ["List", ["x", "y"]],
    ["N", 3n],
    ["A", structA],
    ["T", true],
    ["Empty", ""],
    ["Big", 1e22],
    ["Small", 1.5e-7],
    ["Nums", [1n, 2n, 3n]],
  ]),
);

function run(source: string): string {
  const set = new TemplateSet({ up: ([text]) => printValue(text ?? null).toUpperCase() });
  try {
    set.add(source, "main");
    return set.run("main", data);
  } catch (thrown) {
    if (thrown instanceof TemplateError) return "ERR";
    throw thrown;
  }
}

test.each(golden)("%s prints what Go prints", (template, expected) => {
  expect(run(template)).toBe(expected);
});

test("a template that never ends, prints without end or calls itself is stopped", () => {
  const set = new TemplateSet({});
  set.add('{{ define "self" }}{{ template "self" }}{{ end }}', "unused");
  set.add(
    "{{ range 1000 }}{{ range 1000 }}{{ range 1000 }}x{{ end }}{{ end }}{{ end }}",
    "endless",
  );
  expect(() => set.run("self", null)).toThrow("too deeply");
  expect(() => set.run("endless", null)).toThrow("more than");
  expect(() => set.run("endless", null, { maxLength: 10, maxSteps: 1e9 })).toThrow("longer than");
});

test("an HTML template escapes what it prints, except what is marked safe", () => {
  const set = new TemplateSet({ safe: ([text]) => new SafeText(printValue(text ?? null)) }, true);
  set.add('<b>{{ .Empty }}{{ "<i>&" }}</b>{{ safe "<i>" }}', "main");
  expect(set.run("main", data)).toBe("<b>&lt;i&gt;&amp;</b><i>");
});

test("mutated templates are refused or run within bounds", { timeout: fuzzTimeoutMs }, () => {
  const random = seededRandom(7);
  const limits = { maxLength: 10_000, maxSteps: 10_000 };
  for (let round = 0; round < fuzzInputs; round++) {
    const [template = ""] = golden[Math.floor(random() * golden.length)] ?? [];
    const source = mutate([Buffer.from(template)], random).toString();
    try {
      const set = new TemplateSet({});
      set.add(source, "main");
      set.run("main", data, limits);
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw new Error(`on ${source}`, { cause: thrown });
    }
  }
});
