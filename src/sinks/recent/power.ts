/** Keeps the last minute of each GPU's board and chip power, for an average with its window and sample count. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { deviceKey } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery, Sink } from "../../pipeline/sink.ts";

export interface AveragePower {
  readonly watts: number;
  /** From the oldest to the newest reading in the window. */
  readonly windowSeconds: number;
  readonly samples: number;
}

interface PowerReading {
  readonly timeMs: number;
  readonly watts: number;
}

const windowMs = 60_000;
/** A minute at ten readings per second is 600; a faster stream keeps its newest readings. */
const maxReadings = 1_200;

const keyOf = ({ name }: MetricEntry, host: string, uuid: string): string =>
  `${name} ${deviceKey(host, uuid)}`;

export class RecentPower implements Sink {
  readonly name = "recent-power";
  /** By metric and device. */
  readonly #readings = new Map<string, PowerReading[]>();

  write({ frame }: Delivery): void {
    frame.layout.series.forEach(({ metric, labels }, slot) => {
      if (metric !== gpu.power && metric !== gpu.chipPower) return;
      if (frame.presence[slot] !== presence.present) return;
      const key = keyOf(metric, labelValue(labels, "host") ?? "", labelValue(labels, "uuid") ?? "");
      const readings = this.#readings.get(key) ?? [];
      readings.push({ timeMs: frame.timeMs, watts: frame.values[slot] ?? 0 });
      const from = readings.findIndex(({ timeMs }) => timeMs > frame.timeMs - windowMs);
      readings.splice(0, Math.max(from, readings.length - maxReadings, 0));
      this.#readings.set(key, readings);
    });
  }

  /** Returns undefined if there was no reading in the last minute. */
  average(
    host: string,
    uuid: string,
    nowMs: number,
    metric: MetricEntry = gpu.power,
  ): AveragePower | undefined {
    const readings = (this.#readings.get(keyOf(metric, host, uuid)) ?? []).filter(
      ({ timeMs }) => timeMs > nowMs - windowMs,
    );
    const first = readings[0];
    const last = readings.at(-1);
    if (first === undefined || last === undefined) return undefined;
    const total = readings.reduce((sum, { watts }) => sum + watts, 0);
    return {
      watts: Math.round((total / readings.length) * 1_000) / 1_000,
      windowSeconds: (last.timeMs - first.timeMs) / 1_000,
      samples: readings.length,
    };
  }

  close(): void {
    this.#readings.clear();
  }
}
