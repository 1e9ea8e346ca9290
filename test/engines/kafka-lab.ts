// Opens Kafka sources and sinks like the commands and records what they read, for tests with a real broker.

import { createLog, type Log } from "../../src/base/log.ts";
import { gpu } from "../../src/model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../src/model/device.ts";
import type { Frame } from "../../src/model/frame.ts";
import { identityOf } from "../../src/model/identity.ts";
import { LayoutBuilder } from "../../src/model/layout.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { Delivery, Sink } from "../../src/pipeline/sink.ts";
import { openSink } from "../../src/sinks/open.ts";
import { openSources } from "../../src/sources/open.ts";
import type { StreamingSource } from "../../src/sources/source.ts";

export const startMs = Date.UTC(2026, 0, 1);

export function gpus(count: number): Device[] {
  return Array.from({ length: count }, (_, index) => ({
    uuid: `GPU-${index}`,
    index,
    vendor: "nvidia",
    model: "H200",
    simulated: true,
  }));
}

/** One frame per second with every GPU; the power value identifies the frame. */
export function frames(devices: readonly Device[]): (at: number) => Delivery {
  const builder = new LayoutBuilder();
  for (const device of devices) builder.add(gpu.power, deviceLabels(device, "lab"));
  const layout = builder.build();
  return (at) => ({
    frame: {
      timeMs: startMs + at * 1_000,
      layout,
      values: new Float64Array(devices.length).fill(at % 1_000),
      presence: new Uint8Array(devices.length),
    },
    source: "sim",
    tier: "stream",
    freshForMs: 1_000,
    devices,
    tags: new Map([["GPU-0", ["high_power"]]]),
  });
}

export function lines(): { readonly log: Log; readonly said: string[] } {
  const said: string[] = [];
  const log = createLog({
    level: "info",
    json: false,
    colour: false,
    nowMs: () => Date.now(),
    write: (line) => said.push(line),
  });
  return { log, said };
}

export async function sinkTo(url: string, log: Log = lines().log): Promise<Sink> {
  return openSink(url, {
    log,
    stdout: process.stdout,
    clock: systemClock,
    random: Math.random,
    hostName: "lab",
    identity: identityOf("lab"),
    spoolDir: "unused",
    version: "1.0.0",
  });
}

export async function sourceFrom(url: string, log: Log = lines().log): Promise<StreamingSource> {
  const [opened] = await openSources([url], {
    host: "here",
    log,
    nowMs: () => Date.now(),
    sysfs: "/sys",
    procfs: "/proc",
  });
  if (opened?.source.shape !== "streaming") throw new Error(`${url} is no stream`);
  return opened.source;
}

export async function write(
  url: string,
  count: number,
  devices: readonly Device[],
  log?: Log,
): Promise<void> {
  const sink = await sinkTo(url, log);
  const make = frames(devices);
  for (let at = 0; at < count; at++) await sink.write(make(at));
  await sink.flush?.(new AbortController().signal);
  await sink.close();
}

export interface ConsumedFrame {
  readonly uuid: string;
  readonly timeMs: number;
  readonly value: number;
  readonly partition: number;
  readonly offset: number;
  readonly host: string;
  readonly tags: readonly string[];
}

/** A reader that records its frames and commits after a fixed number, like a pipe. */
export class ConsumerSession {
  readonly seen: ConsumedFrame[] = [];
  readonly source: StreamingSource;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #sinceCommit = 0;

  constructor(source: StreamingSource, commitEvery = Number.POSITIVE_INFINITY) {
    this.source = source;
    const emit: Parameters<StreamingSource["run"]>[0] = async (frame, about) => {
      if (this.#sinceCommit >= commitEvery) {
        this.#sinceCommit = 0;
        await source.commit?.();
      }
      this.#sinceCommit++;
      this.seen.push({
        uuid: about?.devices?.[0]?.uuid ?? "",
        timeMs: frame.timeMs,
        value: powerOf(frame),
        partition: about?.origin?.partition ?? -1,
        offset: about?.origin?.offset ?? -1,
        host: about?.host ?? "",
        tags: [...(about?.tags?.values() ?? [])].flat(),
      });
    };
    this.#done = source.run(emit, this.#stop.signal);
  }

  /** Waits for the end of the source, commits and closes. */
  async end(): Promise<ConsumedFrame[]> {
    await this.#done;
    await this.source.commit?.();
    await this.source.close();
    return this.seen;
  }

  /** Commits the delivered frames, unless it simulates a crash, and closes. */
  async stop(commit = true): Promise<ConsumedFrame[]> {
    this.#stop.abort();
    await this.#done;
    if (commit) await this.source.commit?.();
    await this.source.close();
    return this.seen;
  }
}

const powerOf = ({ layout, values }: Frame): number =>
  values[layout.series.findIndex(({ metric }) => metric === gpu.power)] ?? Number.NaN;

export async function readAll(url: string, log?: Log): Promise<ConsumedFrame[]> {
  return new ConsumerSession(
    await sourceFrom(`${url}${url.includes("?") ? "&" : "?"}until=end`, log),
  ).end();
}

export const keyOf = ({ uuid, timeMs }: ConsumedFrame): string => `${uuid} ${timeMs}`;

/** True if each GPU's frames are in time order. */
export function inOrder(read: readonly ConsumedFrame[]): boolean {
  const last = new Map<string, number>();
  return read.every(({ uuid, timeMs }) => {
    const before = last.get(uuid) ?? 0;
    last.set(uuid, timeMs);
    return timeMs > before;
  });
}
