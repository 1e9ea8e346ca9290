/** Formats rule tests as JUnit XML, for CI systems. */
import { diff } from "./show-tests.ts";
import type { FileOutcome } from "./test.ts";

export function junitXml(files: readonly FileOutcome[]): string {
  const suites = files.map(({ file, problem, tests }) => {
    const cases = tests.map(({ name, failures }) => {
      const failed = failures.map(
        ({ what, why, expected = [], got = [] }) =>
          `      <failure message="${escaped(`${what}: ${why}`)}">${escaped(diff(expected, got).join("\n"))}</failure>\n`,
      );
      return `    <testcase name="${escaped(name)}">\n${failed.join("")}    </testcase>\n`;
    });
    if (problem !== undefined)
      cases.push(
        `    <testcase name="file">\n      <error message="${escaped(problem)}"/>\n    </testcase>\n`,
      );
    const failures = tests.filter((test) => test.failures.length > 0).length;
    const errors = problem === undefined ? 0 : 1;
    return `  <testsuite name="${escaped(file)}" tests="${cases.length}" failures="${failures}" errors="${errors}">\n${cases.join("")}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join("")}</testsuites>\n`;
}

const named: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "&#10;",
};

const escaped = (text: string): string =>
  Array.from(text, (char) => named[char] ?? (isXml(char) ? char : "\uFFFD")).join("");

/** XML 1.0 does not allow control characters, not even escaped. */
const isXml = (char: string): boolean =>
  char >= " " ? !/[\uFFFE\uFFFF]/.test(char) : "\t\r".includes(char);
