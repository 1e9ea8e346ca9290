/** Malicious templates end with an error. */
import { expect, test } from "vitest";
import { TemplateSet } from "./exec.ts";
import { prometheusFunctions } from "./functions/prometheus.ts";

function run(source: string): string {
  const set = new TemplateSet(
    prometheusFunctions({ answers: new Map(), externalUrl: "", nowMs: 0 }),
  );
  set.add(source, "main");
  return set.run("main", null);
}

test.each([
  [
    "a text that doubles itself and never comes out",
    `{{$x := "aaaaaaaa"}}${'{{$x = printf "%s%s" $x $x}}'.repeat(40)}`,
    "longer than",
  ],
  [
    "a text that a regular expression makes longer",
    `{{$x := "aaaaaaaa"}}${'{{$x = reReplaceAll "a" "aaaa" $x}}'.repeat(20)}`,
    "longer than",
  ],
  [
    "a template that calls itself",
    '{{define "a"}}{{template "a" .}}{{end}}{{template "a" .}}',
    "too deeply",
  ],
  ["actions in actions", `${"{{if true}}".repeat(500)}${"{{end}}".repeat(500)}`, "nested"],
])("%s is refused", (_name, source, why) => {
  expect(() => run(source)).toThrow(why);
});

test("a width as wide as the sea is cut", () => {
  expect(run('{{printf "%1000000000d" 1}}')).toHaveLength(1_000);
});
