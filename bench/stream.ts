/**
 * Frames per second of a GPU-Z log through `gpulse pipe`, Kafka and another `gpulse pipe` into Parquet, beside the same messages
 * through Kafka's own console producer and consumer. `npm run bench:stream -- --rows 200000 --runs 3`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import type { RunningKafka } from "../engines/kafka.ts";
import { kafkaClassPath, startKafka } from "../engines/kafka.ts";
import { neededTool } from "../engines/kept.ts";
import { program } from "../engines/program.ts";
import { readLake, writeLog } from "../test/engines/stream-lab.ts";

const { values: given } = parseArgs({
  options: {
    rows: { type: "string", default: "200000" },
    runs: { type: "string", default: "3" },
  },
});
const rows = Number(given.rows);
const runs = Number(given.runs);
const keySeparator = ["--property", "key.separator=|"];

interface Files {
  readonly input?: string;
  readonly output?: string;
}

/** Seconds until the program has ended; its input and output are files, so that nothing of ours is in the way. */
async function timed(command: string, args: readonly string[], files: Files = {}): Promise<number> {
  const input = files.input === undefined ? undefined : await open(files.input, "r");
  const output = files.output === undefined ? undefined : await open(files.output, "w");
  const beganMs = performance.now();
  const child = spawn(command, args, {
    stdio: [input?.fd ?? "ignore", output?.fd ?? "ignore", "pipe"],
  });
  let said = "";
  child.stderr?.on("data", (text: Buffer) => (said = (said + text.toString("utf8")).slice(-4_000)));
  const [code] = (await once(child, "close")) as [number | null];
  const seconds = (performance.now() - beganMs) / 1_000;
  await input?.close();
  await output?.close();
  if (code !== 0) throw new Error(`${path.basename(command)} ended with ${code}: ${said}`);
  return seconds;
}

const gpulse = (args: readonly string[]): Promise<number> =>
  timed(process.execPath, [program, ...args]);

const tool = async (main: string, args: readonly string[], files?: Files): Promise<number> =>
  timed(
    neededTool("java"),
    ["-Xmx512m", "-cp", await kafkaClassPath(), `org.apache.kafka.tools.${main}`, ...args],
    files,
  );

async function makeTopic(kafka: RunningKafka, topic: string): Promise<void> {
  const { code, stdout, stderr } = await kafka.tool("org.apache.kafka.tools.TopicCommand", [
    "--bootstrap-server",
    kafka.bootstrap,
    "--create",
    "--topic",
    topic,
    "--partitions",
    "1",
  ]);
  if (code !== 0) throw new Error(`the topic could not be made: ${stdout}${stderr}`);
}

interface Legs {
  readonly write: number;
  readonly read: number;
}

async function ours(kafka: RunningKafka, log: string, topic: string, lake: string): Promise<Legs> {
  const cluster = `kafka://${kafka.bootstrap}/${topic}`;
  const from = `gpuz:${encodeURIComponent(log)}?gpu-name=GeForce RTX 4090&timezone=UTC&uuid=GPU-0`;
  const write = await gpulse(["pipe", "--from", from, "--to", cluster]);
  const source = `${cluster}?group=${topic}&until=end`;
  const read = await gpulse(["pipe", "--from", source, "--to", `parquet:${lake}`]);
  const { times, again, wrong } = await readLake(lake);
  const stored = times.get("GPU-0")?.size ?? 0;
  if (stored !== rows || again !== 0 || wrong !== 0)
    throw new Error(`${stored} of ${rows} rows are in the lake, ${again} twice, ${wrong} wrong`);
  return { write, read };
}

/** Keys and values as they stand in the topic. */
const consoleRead = (kafka: RunningKafka, topic: string, output: string): Promise<number> =>
  tool(
    "consumer.ConsoleConsumer",
    [
      "--bootstrap-server",
      kafka.bootstrap,
      "--topic",
      topic,
      "--from-beginning",
      "--max-messages",
      String(rows),
      "--property",
      "print.key=true",
      ...keySeparator,
    ],
    { output },
  );

async function theirs(
  kafka: RunningKafka,
  messages: string,
  topic: string,
  output: string,
): Promise<Legs> {
  const write = await tool(
    "ConsoleProducer",
    [
      "--bootstrap-server",
      kafka.bootstrap,
      "--topic",
      topic,
      "--compression-codec",
      "gzip",
      "--property",
      "parse.key=true",
      ...keySeparator,
    ],
    { input: messages },
  );
  const read = await consoleRead(kafka, topic, output);
  const [sent, got] = [await stat(messages), await stat(output)];
  if (sent.size !== got.size) throw new Error(`${got.size} of ${sent.size} bytes came back`);
  return { write, read };
}

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
    const own = await ours(kafka, at("log.txt"), `ours-${run}`, at(`lake-${run}`));
    if (run === 0) await consoleRead(kafka, "ours-0", at("messages"));
    const peer = await theirs(kafka, at("messages"), `theirs-${run}`, at("read"));
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
