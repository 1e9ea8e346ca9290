// A vitest reporter that writes each file's results, and the reasons of skips, to a file for the closing summary.

import { writeFileSync } from "node:fs";

/**
 * @typedef {{ file: string, passed: number, failed: number, final: boolean,
 *   failures: string[], skipped: { name: string, reason: string }[], flaky: string[] }} FileSummary
 *   `failures`: the names of the tests that failed, each with the first line of its error;
 *   `final`: another run would prove nothing, since a failed test has `retry: 0`.
 */

export default class SummaryReporter {
  /**
   * @param {readonly import("vitest/node").TestModule[]} modules
   * @param {readonly unknown[]} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const files = modules.map(summaryOf);
    for (const error of unhandledErrors) {
      const from = /** @type {{ VITEST_TEST_PATH?: string }} */ (error).VITEST_TEST_PATH;
      const guilty = files.find(({ file }) => file === from);
      if (guilty !== undefined) guilty.failed++;
      else files.push({ ...NOTHING, file: "no file in particular", failed: 1, final: true });
    }
    const target = process.env.GPULSE_TEST_SUMMARY;
    if (target !== undefined) writeFileSync(target, JSON.stringify(files));
  }
}

const LONGEST_MESSAGE = 400;

/** @type {Omit<FileSummary, "file">} */
const NOTHING = { passed: 0, failed: 0, final: false, failures: [], skipped: [], flaky: [] };

/**
 * @param {import("vitest/node").TestModule} module
 * @returns {FileSummary}
 */
function summaryOf(module) {
  /** @type {FileSummary} */
  const summary = { ...NOTHING, file: module.moduleId, failures: [], skipped: [], flaky: [] };
  for (const test of module.children.allTests()) {
    const result = test.result();
    if (test.diagnostic()?.flaky === true) summary.flaky.push(test.fullName);
    if (result.state === "passed") summary.passed++;
    else if (result.state === "failed") {
      summary.failed++;
      summary.failures.push(`${test.fullName}: ${firstLine(result.errors[0]?.message)}`);
      // Data that is lost in one of two runs is lost.
      if (test.options.retry === 0) summary.final = true;
    } else summary.skipped.push({ name: test.fullName, reason: skipReason(result) });
  }
  // A file that does not load, or a hook that throws, fails without any test of its own.
  if (summary.failed === 0 && module.state() === "failed") summary.failed = 1;
  return summary;
}

/** @param {string | undefined} message */
function firstLine(message) {
  return (message ?? "no message").split("\n", 1)[0]?.slice(0, LONGEST_MESSAGE);
}

/** @param {import("vitest/node").TestResult} result */
function skipReason(result) {
  return result.state === "skipped" && result.note !== undefined ? result.note : "no reason given";
}
