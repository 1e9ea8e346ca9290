// Which tests run when: `npm test` runs what needs neither an engine nor many processes; `npm run test:engines` runs the rest.

import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const ALL = ["{src,test,engines,bench,deploy,scripts}/**/*.test.ts", "web/src/**/*.test.{ts,tsx}"];
const ENGINES = "test/engines/**/*.test.ts";
const LONG = "test/engines/**/*.full.test.ts";
/** They start the built program many times or drive a browser, or simulate days: most of the time of all tests. */
const PROGRAMS = [
  "test/{agent,attack,chaos,cli,deploy,hub,nvml-stub,package,store,top,web}/**/*.test.ts",
  "test/vendor/**/*.test.ts",
  "test/docs/{guides,quick-starts}.test.ts",
  "src/alerting/pack/*.test.ts",
];

/** What takes long though its file is short: begun last, it would run alone while a core stands by. */
const FIRST = [
  /chaos/,
  /engines\/(hub-crash|stack|rules|kafka|push|spark-stream|store-elsewhere|stream-guide)\./,
  /(web\/(diagnosis|outage)|docs\/guides)\./,
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFirst = ({ moduleId }: TestSpecification): boolean =>
      FIRST.some((pattern) => pattern.test(moduleId));
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}

export default defineConfig(({ mode }) => {
  // "all": for one file by name, whatever it needs.
  const engines = mode !== "test";
  return {
    test: {
      include: engines && mode !== "all" ? [ENGINES, ...PROGRAMS] : ALL,
      exclude: [
        "**/node_modules/**",
        "dist/**",
        ...(engines ? [] : [ENGINES, ...PROGRAMS]),
        ...(mode === "engines" ? [LONG] : []),
      ],
      // One table over all files of the chaos suite at the end.
      globalSetup: ["test/chaos/table.ts"],
      // One core stays free by default; ours has two. Tests with engines and browsers wait half of their time: three files keep
      // two cores busy, and their engines fit into memory.
      maxWorkers: engines ? 3 : 2,
      // One process for many files: 202 s instead of 323 s. A file that mocks modules belongs to the engine tests.
      isolate: engines,
      sequence: { sequencer: LongFirst },
      // A busy machine takes longer than the second that is usual, and waiting costs nothing where all is well.
      expect: { poll: { timeout: engines ? 30_000 : 15_000, interval: 50 } },
      // Stylesheets are empty in tests, but for the colours, whose contrast is tested.
      css: { include: /tokens\.css/ },
      // In CI a machine's hiccup gets one more try, and the report says so; tests of lost data say retry: 0 themselves.
      retry: process.env["CI"] === undefined ? 0 : 1,
      testTimeout: engines ? 120_000 : 30_000,
      hookTimeout: engines ? 180_000 : 60_000,
    },
  };
});
