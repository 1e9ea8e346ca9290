// The steps of `npm run check`, `npm test` and `npm run test:engines`, and their closing summary. Every step runs even if an
// earlier one failed, so that one run shows all problems.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { root } from "./bootstrap.mjs";
import { runNode } from "./command.mjs";
import { say, step } from "./progress.mjs";

/** @typedef {import("./vitest-summary.mjs").FileSummary} FileSummary */

const BIN = path.join(root, "node_modules");
const TOOLS = {
  oxfmt: path.join(BIN, "oxfmt", "bin", "oxfmt"),
  oxlint: path.join(BIN, "oxlint", "bin", "oxlint"),
  tsc: path.join(BIN, "typescript", "bin", "tsc"),
  vitest: path.join(BIN, "vitest", "vitest.mjs"),
};

/** More failures than this are not a temporary problem, and a second run would take too long. */
const MOST_AGAIN = 8;

/** @param {readonly number[]} numbers */
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

export class Run {
  /** @type {FileSummary[]} */
  #files = [];
  /** @type {string[]} */
  #failures = [];

  /**
   * Runs one step; its output is printed only if it fails.
   * @param {string} doing
   * @param {() => Promise<void>} work
   */
  async attempt(doing, work) {
    try {
      await work();
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
      this.#failures.push(doing);
    }
  }

  /** @param {string} doing @param {string} tool @param {string[]} args */
  #tool(doing, tool, args) {
    return this.attempt(doing, () =>
      step(doing, async () => {
        const { code, output } = await runNode(tool, args, { cwd: root });
        if (code !== 0) throw new Error(output.trim());
      }),
    );
  }

  /** Format, lint and types. */
  async staticChecks() {
    await this.#tool("format", TOOLS.oxfmt, ["--check"]);
    await this.#tool("lint", TOOLS.oxlint, ["--type-aware", "--deny-warnings"]);
    for (const [what, config] of Object.entries({
      "types of the program": "tsconfig.json",
      "types of the scripts": "scripts/tsconfig.json",
      "types of the browser app": "web/tsconfig.json",
    })) {
      if (existsSync(path.join(root, config)))
        await this.#tool(what, TOOLS.tsc, ["-p", config, "--noEmit"]);
    }
  }

  /**
   * Runs vitest in one of the modes of vitest.config.ts and adds each file's results to the summary. In CI the failed files get a
   * second run, each alone in a fresh process: failures caused by a busy machine pass then, real ones do not. Tests of data loss
   * get no second run.
   * @param {"test" | "engines" | "engines-full"} mode
   */
  async tests(mode) {
    const files = await this.#vitest(mode, []);
    const again = files.filter(({ failed, final }) => failed > 0 && !final);
    if (process.env.CI === undefined || again.length > MOST_AGAIN) {
      this.#files.push(...files);
      return;
    }
    this.#files.push(...files.filter((file) => !again.includes(file)));
    for (const { file } of again) {
      say(`once more: ${path.relative(root, file)}`);
      for (const second of await this.#vitest(mode, [file]))
        this.#files.push({ ...second, flaky: [...second.flaky, path.relative(root, file)] });
    }
  }

  /**
   * @param {string} mode
   * @param {string[]} only
   * @returns {Promise<FileSummary[]>}
   */
  async #vitest(mode, only) {
    const folder = mkdtempSync(path.join(tmpdir(), "gpulse-test-"));
    const file = path.join(folder, "summary.json");
    try {
      const reporter = path.join(root, "scripts", "vitest-summary.mjs");
      const { code } = await runNode(
        TOOLS.vitest,
        ["run", ...only, "--mode", mode, "--reporter=default", `--reporter=${reporter}`],
        { cwd: root, show: true, env: { ...process.env, GPULSE_TEST_SUMMARY: file } },
      );
      if (!existsSync(file)) {
        this.#failures.push(`vitest ended with exit code ${code} and no result`);
        return [];
      }
      /** @type {FileSummary[]} */
      const files = JSON.parse(readFileSync(file, "utf8"));
      if (code !== 0 && files.every(({ failed }) => failed === 0))
        this.#failures.push(`vitest ended with exit code ${code}`);
      return files;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /**
   * Prints skipped tests with their reasons, failures, and the totals as the last line.
   * @returns {number} the exit code
   */
  close() {
    const passed = sum(this.#files.map((file) => file.passed));
    const failed = sum(this.#files.map((file) => file.failed)) + this.#failures.length;
    const skipped = this.#files.flatMap((file) => file.skipped);
    console.log("");
    /** @type {Map<string, string[]>} */
    const byReason = new Map();
    for (const { name, reason } of skipped)
      byReason.set(reason, [...(byReason.get(reason) ?? []), name]);
    for (const [reason, names] of byReason) {
      console.log(`skipped, ${reason}:`);
      for (const name of names) console.log(`  ${name}`);
    }
    for (const name of this.#files.flatMap((file) => (file.failed > 0 ? [] : file.flaky)))
      console.log(`passed at the second try: ${name}`);
    // Printed last, since the end of a long output is what gets kept.
    for (const { file, failures } of this.#files)
      for (const failure of failures)
        console.log(`failed: ${path.relative(root, file)}: ${failure}`);
    for (const failure of this.#failures) console.log(`failed: ${failure}`);
    console.log(
      `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`,
    );
    return failed > 0 ? 1 : 0;
  }
}
