/**
 * Frames per second of a GPU-Z log through `gpulse pipe`, Kafka and another `gpulse pipe` into Parquet, beside the same messages
 * through Kafka's own console producer and consumer. `npm run bench:stream -- --rows 200000 --runs 3`.
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { startKafka } from "../engines/kafka.ts";
import { writeLog } from "../test/engines/stream-lab.ts";
import { consoleRead, type Legs, makeTopic, ours, theirs } from "./stream-legs.ts";

const { values: given } = parseArgs({
  options: {
    rows: { type: "string", default: "200000" },
    runs: { type: "string", default: "3" },
  },
});
const rows = Number(given.rows);
const runs = Number(given.runs);

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

const folder = await mkdtemp(path.join(tmpdir(), "gpulse-bench-stream-"));
const kafka = await startKafka();
try {
  const at = (name: string): string => path.join(folder, name);
  await writeLog(at("log.txt"), rows);
  const all: { readonly ours: Legs; readonly theirs: Legs }[] = [];
  for (let run = 0; run < runs; run++) {
    await makeTopic(kafka, `ours-${run}`);
    await makeTopic(kafka, `theirs-${run}`);
    const own = await ours(kafka, at("log.txt"), `ours-${run}`, at(`lake-${run}`), rows);
    if (run === 0) await consoleRead(kafka, "ours-0", at("messages"), rows);
    const peer = await theirs(kafka, at("messages"), `theirs-${run}`, at("read"), rows);
    all.push({ ours: own, theirs: peer });
  }
  const { size } = await stat(at("messages"));
  console.log(
    `${rows.toLocaleString("en")} frames of a GPU-Z log, ${(size / rows).toFixed(0)} bytes a message; medians of ${runs}, starts of the programs included; ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}\n`,
  );
  console.log("| | gpulse, frames/s | console tools, messages/s | ratio |\n|---|---|---|---|");
  const line = (what: string, seconds: (legs: Legs) => number): void => {
    const own = rows / median(all.map((one) => seconds(one.ours)));
    const peer = rows / median(all.map((one) => seconds(one.theirs)));
    const shown = (rate: number): string => Math.round(rate).toLocaleString("en");
    console.log(`| ${what} | ${shown(own)} | ${shown(peer)} | ${(own / peer).toFixed(2)} |`);
  };
  line("log → Kafka; lines → Kafka", ({ write }) => write);
  line("Kafka → Parquet; Kafka → lines", ({ read }) => read);
  line("one after the other", ({ write, read }) => write + read);
} finally {
  await kafka.stop();
  await rm(folder, { recursive: true, force: true });
}
