/** Keeps the last minute of each GPU's board and chip power, for an average with its window and sample count. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { deviceKey } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery, Sink } from "../../pipeline/sink.ts";

export interface AveragePower {
  readonly watts: number;
  /** From the oldest to the newest reading in the window. */
  readonly windowSeconds: number;
  readonly samples: number;
}

/** The readings of one metric of a GPU, oldest first from `first`; those before it have left the window. */
interface PowerReadings {
  readonly times: number[];
  readonly watts: number[];
  first: number;
}

interface PowerSlot {
  readonly slot: number;
  readonly readings: PowerReadings;
}

const windowMs = 60_000;
/** A minute at ten readings per second is 600; a faster stream keeps its newest readings. */
const maxReadings = 1_200;
/** Readings that have left the window are removed this many at a time. */
const removedAtOnce = 64;

const keyOf = ({ name }: MetricEntry, host: string, uuid: string): string =>
  `${name} ${deviceKey(host, uuid)}`;

export class RecentPower implements Sink {
  readonly name = "recent-power";
  /** By metric and device. */
  readonly #readings = new Map<string, PowerReadings>();
  /** The power readings of each layout: a hub that scrapes shows a frame of hundreds of series for each page. */
  #slots = new WeakMap<Layout, readonly PowerSlot[]>();

  write({ frame: { layout, timeMs, values, presence: states } }: Delivery): void {
    let slots = this.#slots.get(layout);
    if (slots === undefined) this.#slots.set(layout, (slots = this.#slotsOf(layout)));
    for (const { slot, readings } of slots)
      if (states[slot] === presence.present) add(readings, timeMs, values[slot] ?? 0);
  }

  /** Returns undefined if there was no reading in the last minute. */
  average(
    host: string,
    uuid: string,
    nowMs: number,
    metric: MetricEntry = gpu.power,
  ): AveragePower | undefined {
    const { times, watts, first } = this.#readings.get(keyOf(metric, host, uuid)) ?? none;
    let total = 0;
    let samples = 0;
    let [firstMs, lastMs] = [0, 0];
    for (let at = first; at < times.length; at++) {
      const timeMs = times[at] ?? 0;
      if (timeMs <= nowMs - windowMs) continue;
      if (samples === 0) firstMs = timeMs;
      lastMs = timeMs;
      total += watts[at] ?? 0;
      samples++;
    }
    if (samples === 0) return undefined;
    return {
      watts: Math.round((total / samples) * 1_000) / 1_000,
      windowSeconds: (lastMs - firstMs) / 1_000,
      samples,
    };
  }

  close(): void {
    this.#readings.clear();
    this.#slots = new WeakMap();
  }

  #slotsOf({ series }: Layout): readonly PowerSlot[] {
    return series.flatMap(({ metric, labels }, slot) => {
      if (metric !== gpu.power && metric !== gpu.chipPower) return [];
      const key = keyOf(metric, labelValue(labels, "host") ?? "", labelValue(labels, "uuid") ?? "");
      let readings = this.#readings.get(key);
      if (readings === undefined)
        this.#readings.set(key, (readings = { times: [], watts: [], first: 0 }));
      return [{ slot, readings }];
    });
  }
}

const none: PowerReadings = { times: [], watts: [], first: 0 };

function add(readings: PowerReadings, timeMs: number, watts: number): void {
  const { times } = readings;
  times.push(timeMs);
  readings.watts.push(watts);
  let { first } = readings;
  while ((times[first] ?? timeMs) <= timeMs - windowMs) first++;
  first = Math.max(first, times.length - maxReadings);
  if (first >= removedAtOnce) {
    times.splice(0, first);
    readings.watts.splice(0, first);
    first = 0;
  }
  readings.first = first;
}
