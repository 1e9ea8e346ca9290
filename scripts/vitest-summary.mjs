// A vitest reporter that leaves the numbers and the reasons of skips in a file, for the closing summary.

import { writeFileSync } from "node:fs";

/**
 * @typedef {{ passed: number, failed: number, skipped: { name: string, reason: string }[], flaky: string[] }} TestSummary
 */

export default class SummaryReporter {
  /**
   * @param {readonly import("vitest/node").TestModule[]} modules
   * @param {readonly unknown[]} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    /** @type {TestSummary} */
    const summary = { passed: 0, failed: unhandledErrors.length, skipped: [], flaky: [] };
    for (const module of modules) {
      // A file that does not load, or a hook that throws, fails without any test of its own.
      let failedTests = 0;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (test.diagnostic()?.flaky === true) summary.flaky.push(test.fullName);
        if (result.state === "passed") summary.passed++;
        else if (result.state === "failed") failedTests++;
        else summary.skipped.push({ name: test.fullName, reason: skipReason(result) });
      }
      summary.failed += failedTests === 0 && module.state() === "failed" ? 1 : failedTests;
    }
    const file = process.env.GPULSE_TEST_SUMMARY;
    if (file !== undefined) writeFileSync(file, JSON.stringify(summary));
  }
}

/** @param {import("vitest/node").TestResult} result */
function skipReason(result) {
  return result.state === "skipped" && result.note !== undefined ? result.note : "no reason given";
}
