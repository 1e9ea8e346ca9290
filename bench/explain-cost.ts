/** The cost of an explanation over 64 GPUs and a day of samples at one per second: time, and additional memory. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { explainSubject } from "../src/hub/explain/explain.ts";
import { resolveSubject } from "../src/hub/explain/subject.ts";
import { silentLog } from "../src/base/log.ts";
import { identityOf } from "../src/model/identity.ts";
import type { Frame } from "../src/model/frame.ts";
import type { Tier } from "../src/model/catalogue/index.ts";
import type { Queryable, Selection } from "../src/model/select.ts";
import { openStore } from "../src/storage/embedded/store.ts";
import { Host, secondMs, startMs } from "./detect-host.ts";
import { quantile, say } from "./hub-print.ts";

const hostCount = 8;
const dayMs = 24 * 3_600_000;
/** The simulated time, which is repeated to fill the day. */
const simulatedMs = 20 * 60_000;
const times = 9;

export async function measureCost(): Promise<void> {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-explain-cost-"));
  let nowMs = startMs;
  const store = await openStore({
    dir,
    retentionMs: 2 * dayMs,
    memoryBytes: 512 * 2 ** 20,
    durability: "process",
    log: silentLog,
    nowMs: () => nowMs,
    workerFile: false,
    manual: true,
  });
  try {
    const host = new Host(
      "host-1",
      Array.from({ length: 8 }, () => "H200"),
      7,
      [],
    );
    const frames: (readonly (readonly [Tier, Frame])[])[] = [];
    for (let elapsedMs = 0; elapsedMs < simulatedMs; elapsedMs += secondMs)
      frames.push(host.at(elapsedMs));
    let samples = 0;
    for (let elapsedMs = 0; elapsedMs < dayMs; elapsedMs += secondMs) {
      nowMs = startMs + elapsedMs;
      const now = frames[(elapsedMs / secondMs) % frames.length] ?? [];
      for (let at = 0; at < hostCount; at++)
        for (const [tier, frame] of now) {
          const written = { ...renamed(frame, at), timeMs: nowMs };
          samples += frame.values.length;
          const name = `host-${at + 1}`;
          await store.writeFrame({ frame: written, source: name, tier }, identityOf(name));
        }
      if (elapsedMs % 1_800_000 === 0) await store.maintain();
    }
    say(`\n64 GPUs, a day at 1 s: ${(samples / 1e6).toFixed(0)} million samples`);
    for (const [kind, id] of [
      ["host", "host-1"],
      ["gpu", `${host.fleet.devices[0]?.uuid ?? ""}@host-1`],
    ] as const) {
      const explainOnce = async (history: Pick<Queryable, "series" | "select">): Promise<void> => {
        const resolved = await resolveSubject({ history, nowMs: () => nowMs }, kind, id, nowMs);
        if ("missing" in resolved) throw new Error(`BUG: ${resolved.missing}`);
        const { lookedAt } = await explainSubject({ history }, resolved);
        if (lookedAt.gpus !== 64) throw new Error(`BUG: ${lookedAt.gpus} GPUs were looked at`);
      };
      const took: number[] = [];
      const processor: number[] = [];
      const extraBytes: number[] = [];
      for (let time = 0; time < times; time++) {
        collectGarbage();
        const began = performance.now();
        const usage = process.cpuUsage();
        await explainOnce(store);
        took.push(performance.now() - began);
        const used = process.cpuUsage(usage);
        processor.push((used.user + used.system) / 1_000);
        // In a separate run, since reading the counters takes time.
        const { history, peakBytes } = watchMemory(store);
        await explainOnce(history);
        extraBytes.push(peakBytes());
      }
      say(
        `- ${kind}: first ${took[0]?.toFixed(0)} ms, median ${quantile(took, 0.5).toFixed(0)} ms, slowest ${Math.max(...took).toFixed(0)} ms (processor time: first ${processor[0]?.toFixed(0)} ms, median ${quantile(processor, 0.5).toFixed(0)} ms, most ${Math.max(...processor).toFixed(0)} ms); at most ${megabytes(Math.max(...extraBytes))} MB of heap and buffers more than before while it ran, median ${megabytes(quantile(extraBytes, 0.5))} MB, garbage included`,
      );
    }
  } finally {
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);

/** Memory is measured after every so many series read. */
const watchEvery = 20;

/** A history that measures the additional memory, garbage included, while its series are read. */
function watchMemory(store: Pick<Queryable, "series" | "select">): {
  readonly history: Pick<Queryable, "series" | "select">;
  readonly peakBytes: () => number;
} {
  const usedBytes = (): number => {
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  collectGarbage();
  const beforeBytes = usedBytes();
  let peak = 0;
  let reads = 0;
  const look = (): void => void (peak = Math.max(peak, usedBytes() - beforeBytes));
  const history: Pick<Queryable, "series" | "select"> = {
    series: (...given) => store.series(...given),
    select: async (...given): Promise<Selection> => {
      const found = await store.select(...given);
      look();
      return found.map((one) => ({
        labels: one.labels,
        get column() {
          return one.column;
        },
        peek: () => {
          if (reads++ % watchEvery === 0) look();
          return one.peek?.() ?? one.column;
        },
      }));
    },
  };
  return {
    history,
    peakBytes: () => {
      look();
      return peak;
    },
  };
}

const layouts = new Map<Frame["layout"], Frame["layout"][]>();

/** The same frame as from another machine with other GPUs; a layout is created once per machine. */
function renamed(frame: Frame, at: number): Frame {
  if (at === 0) return frame;
  let made = layouts.get(frame.layout);
  if (made === undefined) layouts.set(frame.layout, (made = []));
  const layout = (made[at] ??= {
    series: frame.layout.series.map((series) => ({
      ...series,
      labels: series.labels.map(([name, value]) =>
        name === "host"
          ? ([name, `host-${at + 1}`] as const)
          : name === "uuid" || name === "peer"
            ? ([name, `${value}-${at}`] as const)
            : ([name, value] as const),
      ),
    })),
  });
  return { ...frame, layout };
}
