// A fleet whose frames go through a cluster of Kafka brokers and several pipes into one VictoriaMetrics, with a
// stateless hub on top; and the fleet's acknowledged samples, for comparison with a reader's results.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { hubProgram, type RunningHub, startHub } from "../../engines/hub.ts";
import { type RunningKafkaCluster, startKafkaCluster } from "../../engines/kafka-cluster.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import {
  type RunningVictoriaMetrics,
  startVictoriaMetrics,
} from "../../engines/victoria-metrics.ts";
import { waitUntil } from "../../engines/wait.ts";
import { gpu } from "../../src/model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../src/model/device.ts";
import { FrameWriter } from "../../src/model/frame.ts";
import { LayoutBuilder } from "../../src/model/layout.ts";
import type { Sink } from "../../src/pipeline/sink.ts";
import { sinkTo } from "./kafka-lab.ts";
import { offsetsOf } from "./stream-lab.ts";

export const topic = "gpu-metrics";
const group = "store";
/** The fleet's metrics per GPU; integers, which every engine stores exactly. */
export const metrics = [gpu.power, gpu.memoryUsed, gpu.memoryTotal] as const;
const gpusPerHost = 8;
const partitions = 6;
export const busyMachineMs = 180_000;

export interface ScaleOutLab {
  readonly folder: string;
  readonly kafka: RunningKafkaCluster;
  readonly victoria: RunningVictoriaMetrics;
  readonly hub: RunningHub;
  /** The topic's URL as a source or a sink. */
  readonly topicUrl: string;
  readonly pipes: RunningPipe[];
  startPipe(): Promise<RunningPipe>;
  startAgent(name: string): Promise<RunningProcess>;
  /** Resolves when the remaining pipes have committed everything in the topic. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export interface RunningPipe {
  readonly process: RunningProcess;
  /** Number of frames from the pipe's own metrics. */
  frames(): Promise<number>;
  kill(): Promise<void>;
}

export async function startScaleOutLab(victoriaProgram: string): Promise<ScaleOutLab> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-scale-out-"));
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).reverse()) await end();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const kafka = await startKafkaCluster({ brokers: 3 });
    stops.push(() => kafka.stop());
    // Samples that a pipe resends after another was lost are stored twice, and returned once with this setting.
    const victoria = await startVictoriaMetrics(victoriaProgram, ["-dedup.minScrapeInterval=1ms"]);
    stops.push(() => victoria.stop());
    const hub = await startHub({
      dataDir: path.join(folder, "hub"),
      args: [`--store=${victoria.url}`],
    });
    stops.push(() => hub.stop());
    const topicUrl = `kafka://${kafka.bootstrap}/${topic}`;
    const first = await sinkTo(`${topicUrl}?create=true&partitions=${partitions}&timeout=120s`);
    await first.close();
    const pipes: RunningPipe[] = [];
    const program = (name: string, args: readonly string[]): RunningProcess => {
      const running = startProcess(process.execPath, [hubProgram, ...args], { name });
      stops.push(() => running.stop(20_000));
      return running;
    };
    return {
      folder,
      kafka,
      victoria,
      hub,
      topicUrl,
      pipes,
      startPipe: async () => {
        const [at, port] = [pipes.length, await freePort()];
        const running = program(`gpulse pipe ${at}`, [
          "pipe",
          `--from=${topicUrl}?group=${group}&session=6s&timeout=120s`,
          `--to=remote-write+${victoria.url}/api/v1/write`,
          "--checkpoint=1s",
          `--data=${path.join(folder, `pipe-${at}`)}`,
          `--port=${port}`,
        ]);
        const pipe: RunningPipe = {
          process: running,
          frames: async () => {
            const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
            return Number(/^gpulse_pipe_frames_total\{source="kafka"\} (\S+)$/m.exec(page)?.[1]);
          },
          kill: async () => {
            // Only a kill by the test may end the process.
            if (running.exited() !== undefined) throw new Error(running.output().slice(-3_000));
            process.kill(running.pid, "SIGKILL");
            await running.waitForExit();
          },
        };
        pipes.push(pipe);
        return pipe;
      },
      startAgent: async (name) => {
        const port = await freePort();
        const running = program(`gpulse agent ${name}`, [
          "agent",
          "--source=sim:4",
          `--host-name=${name}`,
          "--host=127.0.0.1",
          `--port=${port}`,
          `--spool=${path.join(folder, name)}`,
          `--to=${topicUrl}?timeout=120s`,
        ]);
        await running.waitForOutput(/agent is up/, busyMachineMs);
        return running;
      },
      settled: () => settled(kafka),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function settled({ brokers }: RunningKafkaCluster): Promise<void> {
  const alive = brokers.find(({ running }) => running)?.address ?? "";
  await waitUntil({ what: "everything to be committed", timeoutMs: busyMachineMs }, async () => {
    const { ends, committed } = await offsetsOf(alive, topic, group);
    if (ends.length < partitions) throw new Error(`${ends.length} partitions answer`);
    return ends.every((end, at) => end === committed[at]) ? true : undefined;
  });
}

/** One host of the fleet: sends frame after frame, each acknowledged by the cluster before the next. */
export class FleetHost {
  /** `metric uuid time value`, one for each sample of an acknowledged frame. */
  readonly acknowledged: string[] = [];
  readonly #devices: readonly Device[];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(name: string, topicUrl: string, everyMs: number) {
    this.#devices = Array.from({ length: gpusPerHost }, (_, index) => ({
      uuid: `GPU-${name}-${index}`,
      index,
      vendor: "nvidia",
      model: "H200",
      simulated: true,
    }));
    this.#running = this.#run(name, topicUrl, everyMs);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(name: string, topicUrl: string, everyMs: number): Promise<void> {
    const sink = await sinkTo(`${topicUrl}?linger=5ms&timeout=120s`);
    const builder = new LayoutBuilder();
    for (const device of this.#devices)
      for (const metric of metrics) builder.add(metric, deviceLabels(device, name));
    const layout = builder.build();
    let lastMs = 0;
    try {
      for (let count = 0; !this.#stop.signal.aborted; count++) {
        lastMs = Math.max(lastMs + 1, Date.now());
        const writer = new FrameWriter(layout, lastMs);
        const lines = layout.series.map(({ metric, labels }, slot) => {
          const value = ((count * 7 + slot) % 1_000) + 1;
          writer.set(slot, value);
          const uuid = labels.find(([label]) => label === "uuid")?.[1] ?? "";
          return `${metric.name} ${uuid} ${lastMs} ${value}`;
        });
        await acknowledge(sink, writer.finish(), this.#devices, name);
        this.acknowledged.push(...lines);
        await sleep(everyMs);
      }
    } finally {
      await sink.close();
    }
  }
}

async function acknowledge(
  sink: Sink,
  frame: ReturnType<FrameWriter["finish"]>,
  devices: readonly Device[],
  host: string,
): Promise<void> {
  await sink.write({ frame, source: "fleet", tier: "stream", freshForMs: 5_000, devices, host });
  await sink.flush?.(new AbortController().signal);
}

export interface StoredResult {
  readonly samples: string[];
  /** The result of a counting query, which would include duplicates. */
  readonly counted: number;
}

/** Reads the samples of matching hosts through the stateless hub. */
export async function readThroughHub(hubUrl: string, hosts: string): Promise<StoredResult> {
  const samples: string[] = [];
  let counted = 0;
  for (const { name } of metrics) {
    const selector = `${name}{host=~"${hosts}"}`;
    for (const { metric, values } of await ask(hubUrl, `${selector}[2h]`))
      for (const [seconds, value] of values ?? [])
        samples.push(`${name} ${metric["uuid"]} ${Math.round(seconds * 1_000)} ${value}`);
    const [sum] = await ask(hubUrl, `sum(count_over_time(${selector}[2h]))`);
    counted += Number(sum?.value?.[1] ?? 0);
  }
  return { samples, counted };
}

interface Answer {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

async function ask(hubUrl: string, query: string): Promise<readonly Answer[]> {
  const asked = new URLSearchParams({ query, time: String(Date.now() / 1_000) });
  const answer = await fetch(`${hubUrl}/api/v1/query?${asked.toString()}`);
  const reported = (await answer.json()) as { status: string; data: { result: readonly Answer[] } };
  if (reported.status !== "success") throw new Error(`${query}: ${JSON.stringify(reported)}`);
  return reported.data.result;
}
