/**
 * The series of a fleet for the hub's benchmark, generated from a seed: forty series per GPU, rounded like sensor values, with an
 * info series to join and a histogram.
 */
import { type LabelSet, labelSet } from "../src/model/labels.ts";
import { FleetValues, random } from "./store-data.ts";
import { WriteRequests } from "./remote-write.ts";

const parts = ["gpu", "gpu_module", "gpu_board"];
/** In the order of the kinds in FleetValues. */
const kinds = [
  "power_limit_watts",
  "temperature_limit_celsius",
  "clock_max_hertz",
  "temperature_celsius",
  "power_watts",
  "energy_joules_total",
  "utilization_ratio",
  "memory_used_bytes",
  "clock_hertz",
  "throttle_active",
];
const bounds = ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "+Inf"];
const sensors = parts.length * kinds.length;
/** 30 sensors, one info series, nine buckets. */
export const seriesPerGpu = sensors + 1 + bounds.length;

export function fleetSeries(gpus: number): LabelSet[] {
  const series: LabelSet[] = [];
  for (let gpu = 0; gpu < gpus; gpu++) {
    const host = `node-${Math.floor(gpu / 8)}`;
    const common = {
      uuid: `GPU-${gpu.toString(16).padStart(8, "0")}-5be5-4ba0-a0d5-5fc4a3a0c1d2`,
      gpu: String(gpu % 8),
      host,
      instance: `${host}:9400`,
      job: "gpulse",
    };
    for (const part of parts)
      for (const kind of kinds) series.push(labelSet({ ...common, __name__: `${part}_${kind}` }));
    const model = gpu % 3 === 0 ? "NVIDIA H100" : "NVIDIA H200";
    series.push(labelSet({ ...common, __name__: "gpu_info", model, driver: "570.86" }));
    for (const le of bounds)
      series.push(labelSet({ ...common, __name__: "gpu_step_seconds_bucket", le }));
  }
  return series;
}

/** The values of successive instants. */
export class Instants {
  readonly row: Float64Array;
  readonly #values: FleetValues;
  readonly #buckets: Float64Array;
  readonly #next = random(5);

  constructor(gpus: number) {
    this.row = new Float64Array(gpus * seriesPerGpu).fill(1);
    this.#values = new FleetValues(gpus * sensors, sensors);
    this.#buckets = new Float64Array(gpus * bounds.length);
  }

  next(): void {
    const gpus = this.row.length / seriesPerGpu;
    for (let gpu = 0; gpu < gpus; gpu++) {
      const from = gpu * seriesPerGpu;
      for (let i = 0; i < sensors; i++) this.row[from + i] = this.#values.value(gpu * sensors + i);
      let more = 0;
      for (let i = 0; i < bounds.length; i++) {
        const at = gpu * bounds.length + i;
        more += Math.floor(this.#next() * 3);
        this.#buckets[at] = (this.#buckets[at] ?? 0) + more;
        this.row[from + sensors + 1 + i] = this.#buckets[at] ?? 0;
      }
    }
  }
}

export interface BenchFleet {
  readonly gpus: number;
  readonly steps: number;
  readonly stepMs: number;
  readonly startMs: number;
}

export interface FleetRequests {
  readonly samples: number;
  /** Encoded requests per sender; a series is always sent by the same sender, in time order. */
  readonly senders: readonly (readonly Buffer[])[];
}

export const seriesPerRequest = 2_000;

export function encodeFleet(fleet: BenchFleet, senderCount: number): FleetRequests {
  const series = fleetSeries(fleet.gpus);
  const requests = new WriteRequests(series);
  const instants = new Instants(fleet.gpus);
  const perSender = Math.ceil(series.length / senderCount);
  const senders = Array.from({ length: senderCount }, (): Buffer[] => []);
  for (let step = 0; step < fleet.steps; step++) {
    instants.next();
    const timeMs = fleet.startMs + step * fleet.stepMs;
    senders.forEach((bodies, sender) => {
      const end = Math.min(series.length, (sender + 1) * perSender);
      for (let from = sender * perSender; from < end; from += seriesPerRequest) {
        const to = Math.min(end, from + seriesPerRequest);
        bodies.push(requests.encode(from, to, [timeMs], (i) => instants.row[i] ?? 0));
      }
    });
  }
  return { samples: series.length * fleet.steps, senders };
}
