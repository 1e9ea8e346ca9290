// Our own scripts, in Prometheus's format: what a release of Prometheus 3 answered to each of these queries.

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createEngine } from "../../src/query/engine.ts";
import { openScriptStore } from "./embedded.ts";
import { type RunSettings, runScript } from "./run.ts";

const folder = new URL("./scripts/", import.meta.url);

for (const file of readdirSync(folder)) {
  test(`every case of ${file} is answered as Prometheus answers it`, async () => {
    await expectAnswers(file);
  });
  test.each([
    ["the head", false],
    ["blocks", true],
  ])(`every case of ${file} is answered so from %s of the embedded store`, async (_, sealed) => {
    await expectAnswers(file, { openStore: () => openScriptStore(sealed) });
  });
}

async function expectAnswers(file: string, settings?: RunSettings): Promise<void> {
  const text = readFileSync(new URL(file, folder), "utf8");
  const results = await runScript(text, createEngine({ delayedNameRemoval: true }), settings);
  expect(results.length).toBeGreaterThan(5);
  expect(results.filter(({ problem }) => problem !== undefined)).toEqual([]);
}

const load = 'load 1m\n  up{job="a"} 1 2 3\n  up{job="b"} 4 _ stale\n\n';
const wrong: readonly [name: string, script: string, problem: RegExp][] = [
  ["a wrong value", 'eval instant at 1m up{job="a"}\n  up{job="a"} 7\n', /wanted 7, got 2/],
  ["a missing series", 'eval instant at 0 up{job="a"}\n  up{job="z"} 1\n', /missing/],
  ["a series too many", 'eval instant at 0 up\n  up{job="a"} 1\n', /wanted 1 series/],
  [
    "a wrong order",
    'eval instant at 0 sort_desc(up)\n  expect ordered\n  up{job="a"} 1\n  up{job="b"} 4\n',
    /place/,
  ],
  [
    "a point too few",
    'eval range from 0 to 2m step 1m up{job="a"}\n  up{job="a"} 1 2\n',
    /wanted 2 points/,
  ],
  ["success where failure was expected", "eval instant at 0 up\n  expect fail\n", /did not fail/],
  [
    "another error than expected",
    "eval instant at 0 up +\n  expect fail msg: no\n",
    /failed otherwise/,
  ],
  ["an error", "eval instant at 0 rate(up)\n  {} 1\n", /expected type range vector/],
  [
    "a missing annotation",
    'eval instant at 0 up\n  expect warn\n  up{job="a"} 1\n  up{job="b"} 4\n',
    /missing warn/,
  ],
  [
    "a stray annotation",
    'eval instant at 2m rate(up{job="a"}[2m])\n  expect no_info\n  {job="a"} 1\n',
    /unexpected info/,
  ],
];

test.each(wrong)("the runner notices %s", async (_, script, problem) => {
  const [result] = await runScript(load + script, createEngine());
  expect(result?.problem).toMatch(problem);
});
