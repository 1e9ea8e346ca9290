/**
 * The legs of the streams benchmark: a log into Kafka and from there into Parquet with gpulse, and the same messages with Kafka's
 * console tools.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, stat } from "node:fs/promises";
import path from "node:path";
import { kafkaClassPath, type RunningKafka } from "../engines/kafka.ts";
import { requiredTool } from "../engines/cache.ts";
import { program } from "../engines/program.ts";
import { readLake } from "../test/engines/stream-lab.ts";

const keySeparator = ["--property", "key.separator=|"];

interface Files {
  readonly input?: string;
  readonly output?: string;
}

/** Seconds until the program has ended; its input and output are files, so that none of our code is between them. */
export async function timed(
  command: string,
  args: readonly string[],
  files: Files = {},
): Promise<number> {
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

export const gpulse = (args: readonly string[]): Promise<number> =>
  timed(process.execPath, [program, ...args]);

const tool = async (main: string, args: readonly string[], files?: Files): Promise<number> =>
  timed(
    requiredTool("java"),
    ["-Xmx512m", "-cp", await kafkaClassPath(), `org.apache.kafka.tools.${main}`, ...args],
    files,
  );

export async function makeTopic(kafka: RunningKafka, topic: string): Promise<void> {
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

export const logUrl = (log: string): string =>
  `gpuz:${encodeURIComponent(log)}?gpu-name=GeForce RTX 4090&timezone=UTC&uuid=GPU-0`;

export interface Legs {
  readonly write: number;
  readonly read: number;
}

export async function ours(
  kafka: RunningKafka,
  log: string,
  topic: string,
  lake: string,
  rows: number,
): Promise<Legs> {
  const cluster = `kafka://${kafka.bootstrap}/${topic}`;
  const write = await gpulse(["pipe", "--from", logUrl(log), "--to", cluster]);
  const source = `${cluster}?group=${topic}&until=end`;
  const read = await gpulse(["pipe", "--from", source, "--to", `parquet:${lake}`]);
  const { times, again, wrong } = await readLake(lake);
  const stored = times.get("GPU-0")?.size ?? 0;
  if (stored !== rows || again !== 0 || wrong !== 0)
    throw new Error(`${stored} of ${rows} rows are in the lake, ${again} twice, ${wrong} wrong`);
  return { write, read };
}

/** Keys and values unchanged from the topic. */
export const consoleRead = (
  kafka: RunningKafka,
  topic: string,
  output: string,
  rows: number,
): Promise<number> =>
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

export async function theirs(
  kafka: RunningKafka,
  messages: string,
  topic: string,
  output: string,
  rows: number,
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
  const read = await consoleRead(kafka, topic, output, rows);
  const [sent, got] = [await stat(messages), await stat(output)];
  if (sent.size !== got.size) throw new Error(`${got.size} of ${sent.size} bytes came back`);
  return { write, read };
}
