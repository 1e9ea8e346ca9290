/** The input of the ledger: the state of one GPU at one instant, and what happened since the previous one. */
import { deviceKey } from "../../model/device.ts";
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";

export interface TickOwner {
  readonly labels: OwnerLabels;
  readonly memoryBytes?: number | undefined;
  /** The maximum since the last tick; absent if equal to `memoryBytes`. */
  readonly peakMemoryBytes?: number | undefined;
  /** Share of the GPU's processor time. */
  readonly utilizationRatio?: number | undefined;
}

/** Readings that the source did not report are absent. Activity and memory are means of the readings since the last tick. */
export interface GpuTick {
  readonly uuid: string;
  readonly host: string;
  readonly gpu: number;
  readonly model: string;
  readonly simulated: boolean;
  readonly timeMs: number;
  /** A monotonic counter that may be reset to 0. */
  readonly joules: number;
  readonly meter: "hardware" | "integrated";
  /** Set if the GPU was read without a gap from this time on, although that is longer than the ledger's limit for a gap. */
  readonly coveredFromMs?: number | undefined;
  /** SM activity, else utilisation. */
  readonly activityRatio?: number | undefined;
  readonly tensorRatio?: number | undefined;
  readonly dramRatio?: number | undefined;
  /** The unused time since the last tick; absent if `activityRatio` decides for all of it. */
  readonly idleMs?: number | undefined;
  /** The start of the idle time that continues at this tick, if after the last tick. */
  readonly idleSinceMs?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly peakMemoryBytes?: number | undefined;
  /** Counters since some start, by reason and by Xid number. */
  readonly throttleSeconds?: Readonly<Record<string, number>> | undefined;
  readonly xids?: Readonly<Record<string, number>> | undefined;
  /** Kinds of anomalies that are active now. */
  readonly anomalies?: readonly string[] | undefined;
  /** Absent if the source does not report users of the GPU; empty if there are none. */
  readonly owners?: readonly TickOwner[] | undefined;
}

/** True if the time between two ticks of a GPU is too long to infer what happened in it from them. */
export const hasGap = (
  last: Pick<GpuTick, "timeMs">,
  { timeMs, coveredFromMs }: Pick<GpuTick, "timeMs" | "coveredFromMs">,
  gapMs: number,
): boolean =>
  timeMs - last.timeMs > gapMs && !(coveredFromMs !== undefined && coveredFromMs <= last.timeMs);

export const tickKey = ({ host, uuid }: Pick<GpuTick, "host" | "uuid">): string =>
  deviceKey(host, uuid);
