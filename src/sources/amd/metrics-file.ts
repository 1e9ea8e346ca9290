/** Reads a card's gpu_metrics at most once a tick, and keeps the reading before for what only a difference tells. */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { readBytes } from "../../machine/sysfs/read.ts";
import { present, type ReadResult } from "../../machine/sysfs/read-result.ts";
import { oncePerTick } from "../cards.ts";
import { decodeGpuMetrics } from "./gpu-metrics/decode.ts";
import { interpretGpuMetrics, type MetricsReadings } from "./gpu-metrics/interpret.ts";

/** Twice the largest known table. */
const mostBytes = 8_192;

export class MetricsFile {
  readonly read: (timeMs: number) => Promise<ReadResult<MetricsReadings>>;
  #now: MetricsReadings | undefined;
  #before: MetricsReadings | undefined;

  constructor(device: string, fileAccess: FileAccess) {
    this.read = oncePerTick(async () => {
      const bytes = await readBytes(`${device}/gpu_metrics`, mostBytes, fileAccess);
      const decoded = bytes.ok ? decodeGpuMetrics(bytes.value) : bytes;
      if (!decoded.ok) return decoded;
      const readings = interpretGpuMetrics(decoded.value);
      this.#before = this.#now;
      this.#now = readings;
      return present(readings);
    });
  }

  /** The reading before the last one. */
  get before(): MetricsReadings | undefined {
    return this.#before;
  }
}
