/**
 * The gain from worker threads: samples per second and processor time by protocol with 0, 1, 2, 4 and 8 ingest workers, beside
 * one core without any. `npm run bench:workers`; for another machine bundle it into one file, which only needs `dist/` beside its
 * folder:
 *
 *   npx esbuild bench/ingest-workers.ts --bundle --platform=node --format=esm --outfile=carried/ingest-workers.mjs
 *   node carried/ingest-workers.mjs
 *
 * Senders are separate processes. BENCH_WORKERS=0,4 and BENCH_ONLY=write,otlp,influx select, BENCH_STEPS is the number of
 * instants, BENCH_SENDERS the number of sender processes with four connections each.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type RunningHub, startHub } from "../engines/hub.ts";
import { type IngestFleet, type IngestPath, ingestPaths, makeFleet } from "./ingest-paths.ts";
import { SendClient, sendAll } from "./ingest-send.ts";
import { processCost } from "./process-cost.ts";

const names = ["write", "write2", "otlp", "influx"];
const listOf = (variable: string): string[] | undefined => process.env[variable]?.split(",");
const only = listOf("BENCH_ONLY");
const protocols = names.flatMap((name, at) => (only?.includes(name) === false ? [] : [at]));
const workers = listOf("BENCH_WORKERS")?.map(Number) ?? [0, 1, 2, 4, 8];
const steps = Number(process.env["BENCH_STEPS"] ?? "48");
const senderProcesses = Number(
  process.env["BENCH_SENDERS"] ?? String(Math.max(1, Math.min(4, availableParallelism() >> 2))),
);
const warmSteps = Math.ceil(steps / 4);

interface Order {
  readonly protocol: number;
  readonly url: string;
  readonly from: number;
  readonly to: number;
}

interface Sent {
  readonly name: string;
  readonly samples: number;
}

/** In a sender process: encodes its own hosts' samples, then sends the requests of each order. */
async function serveOrders(sender: number, endMs: number): Promise<void> {
  const fleet = ofSender(makeFleet(steps, endMs), sender);
  const made = new Map<number, IngestPath>();
  const pathOf = (protocol: number): IngestPath => {
    let found = made.get(protocol);
    if (found === undefined) {
      const make = ingestPaths[protocol];
      if (make === undefined) throw new Error(`BUG: no protocol ${protocol}`);
      made.set(protocol, (found = make(fleet)));
    }
    return found;
  };
  const answer = async ({ protocol, url, from, to }: Order): Promise<Sent> => {
    const way = pathOf(protocol);
    if (to > from) {
      const client = new SendClient(url + way.path, way.headers);
      await sendAll(client, way, from, to);
      client.close();
    }
    return { name: way.name, samples: (way.samples * (to - from)) / steps };
  };
  process.on("message", (order: Order) => {
    answer(order).then(
      (sent) => process.send?.(sent),
      (thrown: unknown) => {
        console.error(thrown);
        process.exit(1);
      },
    );
  });
  process.on("disconnect", () => process.exit(0));
}

/** The same fleet under separate host names. */
const ofSender = (fleet: IngestFleet, sender: number): IngestFleet => ({
  ...fleet,
  series: fleet.series.map((labels) =>
    labels.map(([name, value]) => [name, name === "host" ? `${value}-${sender}` : value] as const),
  ),
});

async function orderAll(senders: readonly ChildProcess[], order: Order): Promise<Sent> {
  const answers = await Promise.all(
    senders.map(async (sender) => {
      const answered = once(sender, "message");
      sender.send(order);
      const [sent] = (await answered) as [Sent];
      return sent;
    }),
  );
  return {
    name: answers[0]?.name ?? "",
    samples: answers.reduce((sum, { samples }) => sum + samples, 0),
  };
}

interface Rate {
  readonly name: string;
  readonly perSecond: number;
  readonly cpuPerMillion: number;
}

async function measure(
  senders: readonly ChildProcess[],
  protocol: number,
  args: readonly string[],
  under: readonly string[] = [],
): Promise<Rate> {
  // The requests are encoded before the hub starts.
  await orderAll(senders, { protocol, url: "", from: 0, to: 0 });
  const dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-bench-workers-"));
  let hub: RunningHub | undefined;
  try {
    hub = await startHub({ dataDir, args, under });
    const { url } = hub;
    await orderAll(senders, { protocol, url, from: 0, to: warmSteps });
    const before = processCost(hub.process.pid).cpuSeconds;
    const began = performance.now();
    const { name, samples } = await orderAll(senders, {
      protocol,
      url,
      from: warmSteps,
      to: steps,
    });
    const seconds = (performance.now() - began) / 1_000;
    const cpu = processCost(hub.process.pid).cpuSeconds - before;
    return { name, perSecond: samples / seconds, cpuPerMillion: (cpu / samples) * 1e6 };
  } finally {
    await hub?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function row(cells: readonly string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}

async function main(): Promise<void> {
  const endMs = Math.floor(Date.now() / 1_000) * 1_000;
  const self = fileURLToPath(import.meta.url);
  const senders = Array.from({ length: senderProcesses }, (_, sender) =>
    fork(self, ["--send", String(sender), String(endMs)]),
  );
  console.log(
    `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? "unknown"}), Node ${process.version}; ${senderProcesses} sender processes, ${4 * senderProcesses} connections, ${8_000 * senderProcesses} series, 2,000 samples a request\n`,
  );
  row(["protocol", "ingest workers", "samples/s", "processor s per million", "beside one core"]);
  row(["---", "---", "---", "---", "---"]);
  try {
    for (const protocol of protocols) {
      const one = await measure(senders, protocol, ["--ingest-workers=0"], ["taskset", "-c", "0"]);
      const report = (label: string, { name, perSecond, cpuPerMillion }: Rate): void =>
        row([
          name,
          label,
          Math.round(perSecond).toLocaleString("en-US"),
          cpuPerMillion.toFixed(3),
          (perSecond / one.perSecond).toFixed(2),
        ]);
      report("none, one core", one);
      for (const count of workers)
        report(String(count), await measure(senders, protocol, [`--ingest-workers=${count}`]));
    }
  } finally {
    for (const sender of senders) sender.disconnect();
  }
}

const [role, sender, endMs] = process.argv.slice(2);
if (role === "--send") await serveOrders(Number(sender), Number(endMs));
else await main();
