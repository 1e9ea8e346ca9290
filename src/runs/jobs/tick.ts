/** What the ledger is fed with: the state of one GPU at one instant, with everything that has happened since the last. */
import { deviceKey } from "../../model/device.ts";
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";

export interface TickOwner {
  readonly labels: OwnerLabels;
  readonly memoryBytes?: number | undefined;
  /** The largest since the last tick; absent where it is `memoryBytes`. */
  readonly peakMemoryBytes?: number | undefined;
  /** Share of the GPU's processor time. */
  readonly utilizationRatio?: number | undefined;
}

/** A reading that the source did not make is absent. Activity and memory are means of the readings since the last tick. */
export interface GpuTick {
  readonly uuid: string;
  readonly host: string;
  readonly gpu: number;
  readonly model: string;
  readonly simulated: boolean;
  readonly timeMs: number;
  /** A counter that only grows, until it starts again from 0. */
  readonly joules: number;
  readonly meter: "hardware" | "integrated";
  /** SM activity, else utilisation. */
  readonly activityRatio?: number | undefined;
  readonly tensorRatio?: number | undefined;
  readonly dramRatio?: number | undefined;
  /** Of the time since the last tick, how long it was not used; absent where `activityRatio` decides about all of it. */
  readonly idleMs?: number | undefined;
  /** When the idle time that goes on at this tick began, where that was after the last tick. */
  readonly idleSinceMs?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly peakMemoryBytes?: number | undefined;
  /** Counters since some start, by reason and by number. */
  readonly throttleSeconds?: Readonly<Record<string, number>> | undefined;
  readonly xids?: Readonly<Record<string, number>> | undefined;
  /** Kinds of anomalies that stand now. */
  readonly anomalies?: readonly string[] | undefined;
  /** Absent where the source does not report who uses the GPU; empty where nobody does. */
  readonly owners?: readonly TickOwner[] | undefined;
}

export const tickKey = ({ host, uuid }: Pick<GpuTick, "host" | "uuid">): string =>
  deviceKey(host, uuid);
