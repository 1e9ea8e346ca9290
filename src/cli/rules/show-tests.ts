/** Formats the result of a rule test: missing and unexpected results. */
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

/** `-` for expected and missing, `+` for unexpected, two spaces for results in both. */
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
