/**
 * NVIDIA's GPUs through nvidia-smi, if NVML cannot be loaded. A run costs 0.1 s of processor time, so all readings are in the
 * slow tier, and each frame is made from its own runs: no changing value is repeated.
 */
import { gpu, type Tier } from "../../../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../../../model/device.ts";
import { type Frame, FrameWriter } from "../../../model/frame.ts";
import { labelKey, type LabelSet } from "../../../model/labels.ts";
import { type Layout, LayoutBuilder } from "../../../model/layout.ts";
import type { OwnerResolver } from "../../../machine/owners/resolver.ts";
import type { PolledSource } from "../../source.ts";
import { ownerExtras, processExtras } from "../attribution.ts";
import type { GpuMetric, ProcessReading } from "../protocol.ts";
import { SmiClient } from "./client.ts";
import type { SmiGpu } from "./gpu.ts";
import { shareKey } from "./pmon.ts";
import type { SmiRunner } from "./run.ts";
import type { SmiCell } from "./value.ts";

export interface SmiSourceOptions {
  readonly host: string;
  readonly runner: SmiRunner;
  readonly resolver: OwnerResolver;
  readonly processes: boolean;
}

interface Sample {
  readonly metric: GpuMetric;
  readonly labels: LabelSet;
  readonly cell: SmiCell;
}

/** Deadline of one run; it is slow if the driver is not persistently loaded or the machine is busy. */
export const smiRunDeadlineMs = 30_000;

export class SmiSource implements PolledSource {
  readonly shape = "polled";
  readonly tiers: readonly Tier[] = ["slow"];
  /** A read consists of one long run and a few short ones. */
  readonly deadlineMs = 2 * smiRunDeadlineMs;
  readonly #options: SmiSourceOptions;
  /** Every GPU seen so far, so that one that is no longer listed is reported as down. */
  readonly #known = new Map<string, Device>();
  #layout: Layout = { series: [] };
  #shape = "";
  readonly #client: SmiClient;

  constructor(options: SmiSourceOptions) {
    this.#options = options;
    this.#client = new SmiClient(options.runner);
  }

  devices(): readonly Device[] {
    return [...this.#known.values()];
  }

  async read(_tier: Tier, timeMs: number): Promise<Frame> {
    const gpus = await this.look();
    const samples = [
      ...this.#samples(gpus),
      ...(await this.#peers(gpus, timeMs)),
      ...(await this.#extras(gpus)),
    ];
    const shape = samples.map(({ metric, labels }) => metric + labelKey(labels)).join("\n");
    if (shape !== this.#shape) {
      const builder = new LayoutBuilder();
      for (const { metric, labels } of samples) builder.add(gpu[metric], labels);
      this.#layout = builder.build();
      this.#shape = shape;
    }
    const writer = new FrameWriter(this.#layout, timeMs);
    samples.forEach(({ cell }, slot) => {
      if (typeof cell === "number") writer.set(slot, cell);
      else writer.absent(slot, cell);
    });
    return writer.finish();
  }

  close(): void {
    this.#options.runner.close();
  }

  /** Throws an error with one sentence if nvidia-smi returned nothing usable. */
  async look(): Promise<readonly SmiGpu[]> {
    const gpus = await this.#client.gpus();
    const unique = new Map(gpus.map((one) => [one.device.uuid, one]));
    for (const { device } of unique.values()) this.#known.set(device.uuid, device);
    return [...unique.values()];
  }

  #samples(gpus: readonly SmiGpu[]): Sample[] {
    const { host } = this.#options;
    const listed = new Set(gpus.map(({ device }) => device.uuid));
    const samples: Sample[] = this.devices().flatMap((device): Sample[] => [
      { metric: "up", labels: deviceLabels(device, host), cell: listed.has(device.uuid) ? 1 : 0 },
      { metric: "info", labels: deviceInfoLabels(device, host), cell: 1 },
    ]);
    for (const { device, readings, processes } of gpus) {
      for (const { metric, labels, cell } of readings)
        samples.push({ metric, labels: deviceLabels(device, host, labels), cell });
      samples.push({
        metric: "processes",
        labels: deviceLabels(device, host),
        cell: typeof processes === "string" ? processes : processes.length,
      });
    }
    return samples;
  }

  async #peers(gpus: readonly SmiGpu[], timeMs: number): Promise<Sample[]> {
    const devices = gpus.map(({ device }) => device);
    const peers = await this.#client.peers(devices, timeMs);
    return peers.map(({ device, peer, cell }) => ({
      metric: "p2pAccessible",
      labels: deviceLabels(device, this.#options.host, { peer: peer.uuid }),
      cell,
    }));
  }

  async #extras(gpus: readonly SmiGpu[]): Promise<Sample[]> {
    const { host, resolver } = this.#options;
    const shares = this.#options.processes
      ? await this.#client.shares()
      : new Map<string, number>();
    const processes = gpus.flatMap((one, device) =>
      (typeof one.processes === "string" ? [] : one.processes).map(
        ({ pid, name, kind, memoryBytes }): ProcessReading => {
          const share = shares.get(shareKey(one.device.index, pid));
          return {
            device,
            pid,
            kind,
            memoryBytes,
            name,
            utilizationRatio: share,
          };
        },
      ),
    );
    const devices = gpus.map(({ device }) => device);
    const labels = (at: number, extra?: Readonly<Record<string, string | undefined>>): LabelSet => {
      const device = devices[at];
      if (device === undefined) throw new Error(`BUG: nvidia-smi listed no GPU ${at}`);
      return deviceLabels(device, host, extra);
    };
    const extras = [
      ...(await ownerExtras(devices, processes, resolver, labels)),
      ...(this.#options.processes ? await processExtras(processes, resolver, labels) : []),
    ];
    return extras.map((extra): Sample => ({
      metric: extra.metric,
      labels: extra.labels,
      cell: extra.value ?? "unsupported",
    }));
  }
}
