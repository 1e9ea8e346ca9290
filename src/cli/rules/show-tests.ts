/** The outcome of a rule test as a person reads it: what was expected and did not come, what came and was not expected. */
import { countOf } from "../command/quantity.ts";
import type { RuleTestFailure, RuleTestOutcome } from "../../alerting/unit-tests/run.ts";

export function formatTestOutcome({ name, checks, failures }: RuleTestOutcome): string {
  const said = countOf(checks, "check");
  if (failures.length === 0) return `  ok    ${name} (${said})\n`;
  return `  FAIL  ${name} (${said})\n${failures.map(formatTestFailure).join("")}`;
}

function formatTestFailure({ what, why, expected, got }: RuleTestFailure): string {
  const head = `        ${what}: ${why.replaceAll("\n", "\n          ")}\n`;
  if (expected === undefined || got === undefined) return head;
  return (
    head +
    diff(expected, got)
      .map((line) => `          ${line}\n`)
      .join("")
  );
}

/** `-` expected and missing, `+` unexpected, two spaces before what both have. */
export function diff(expected: readonly string[], got: readonly string[]): string[] {
  const left = [...got];
  const lines: string[] = [];
  for (const one of expected) {
    const at = left.indexOf(one);
    if (at < 0) lines.push(`- ${one}`);
    else {
      left.splice(at, 1);
      lines.push(`  ${one}`);
    }
  }
  return [...lines, ...left.map((one) => `+ ${one}`)];
}
