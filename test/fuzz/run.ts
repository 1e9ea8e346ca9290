// npm run fuzz: runs every parser and every endpoint against inputs made to break them, and prints a table of the results.

import { parseArgs } from "node:util";

import { bundleGroup, bundleWorker, type FuzzBundle } from "./bundle.ts";
import { readCorpus, saveFinding, saveCorpus } from "./corpus.ts";
import { groups } from "./targets.ts";
import { formatTable, type Row } from "./table.ts";
import { watch } from "./watch.ts";

const usual = 26_000;
/** More growth than this between a quarter of the run and its end is a leak, not a warm cache. */
const growthBytes = 24 * 1024 * 1024;

const { values } = parseArgs({
  options: {
    target: { type: "string" },
    seconds: { type: "string" },
    inputs: { type: "string" },
    seed: { type: "string", default: "1" },
    parsers: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    jobs: { type: "string", default: "2" },
  },
});

const wanted = (name: string): boolean =>
  values.target === undefined || name.startsWith(values.target);

const workerFile = await bundleWorker();
const rows: Row[] = [];
const waiting: (() => Promise<void>)[] = [];
for (const [group, targets] of Object.entries(groups)) {
  if (!targets.some(({ name }) => wanted(name))) continue;
  const bundled = await bundleGroup(group);
  for (const { name, cost = 1 } of targets)
    if (wanted(name)) waiting.push(() => fuzzOne(name, cost, bundled));
}

async function fuzzOne(name: string, cost: number, bundled: FuzzBundle): Promise<void> {
  const seconds = values.seconds === undefined ? 600 : Number(values.seconds);
  const fallback = values.seconds === undefined ? usual / cost : 1e9;
  const inputs = Math.ceil(values.inputs === undefined ? fallback : Number(values.inputs));
  const startMs = performance.now();
  const work = {
    bundle: bundled.file,
    target: name,
    words: bundled.words,
    kept: readCorpus(name).map(({ bytes }) => bytes),
    seed: Number(values.seed),
    inputs,
    seconds,
  };
  const watched = await watch(workerFile, work, ({ kind, says, bytes }) => {
    const file = saveFinding(name, bytes);
    process.stderr.write(`✗ ${name}: ${kind}, ${bytes.length} bytes in ${file}\n${says}\n\n`);
  });
  const { outcome } = watched;
  if (values.keep && outcome.corpus.length > 0) saveCorpus(name, outcome.corpus);
  rows.push({
    target: name,
    inputs: outcome.inputs,
    reached: outcome.reached,
    newlyReached: outcome.newlyReached,
    crashes: watched.crashes,
    hangs: watched.hangs,
    peakHeapBytes: outcome.peakHeapBytes,
    grows: outcome.grownBytes > growthBytes,
    seconds: (performance.now() - startMs) / 1_000,
  });
  process.stderr.write(`… ${name}: ${outcome.inputs} inputs\n`);
}

await Promise.all(
  Array.from({ length: Math.max(1, Number(values.jobs)) }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
  }),
);
if (!values.parsers && (values.target === undefined || values.target.startsWith("http"))) {
  const { fuzzHttp } = await import("./http/run.ts");
  rows.push(...(await fuzzHttp(values.inputs, Number(values.seed))));
}
rows.sort((left, right) => left.target.localeCompare(right.target));
process.stdout.write(formatTable(rows));
process.exitCode = rows.some(({ crashes, hangs, grows }) => crashes + hangs > 0 || grows) ? 1 : 0;
