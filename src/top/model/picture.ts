/** Everything the screen is drawn from, as one value: the latest update, its time, and the state of the connection. */
import type { HistoryKey, WireDevice, WireRow } from "../../view/live/protocol.ts";
import type { Gpu } from "../../view/gpu.ts";
import type { GpuCounters } from "./counters.ts";
import type { GpuTask } from "./process.ts";

export type Link =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  | { readonly kind: "lost"; readonly why: string; readonly retryAtMs: number };

export interface FeedUpdate {
  readonly devices: readonly WireDevice[];
  readonly rows: readonly WireRow[];
  /** By the sender's clock. */
  readonly timeMs: number;
  /** One sentence per source that does not deliver. */
  readonly problems: readonly string[];
  readonly tasks: readonly GpuTask[];
  /** True while the response with the processes has not arrived; they are requested separately. */
  readonly areTasksPending?: boolean;
}

export interface Picture {
  /** Source of the data, for the first line: a host name or an address. */
  readonly from: string;
  readonly origin: "local" | "agent" | "hub";
  readonly link: Link;
  /** Time since the last update. */
  readonly silentMs: number;
  readonly nowMs: number;
  readonly timeMs: number;
  readonly gpus: readonly Gpu[];
  readonly tasks: readonly GpuTask[];
  readonly areTasksPending: boolean;
  readonly problems: readonly string[];
  /** The last `count` points, oldest first, `stepSeconds` apart; null without a reading. */
  history(device: WireDevice, key: HistoryKey, count: number): readonly (number | null)[];
  /** Seconds from one point of the history to the next. */
  readonly stepSeconds: number;
  counters(gpu: Gpu): GpuCounters;
}

/** After this time without an update, values are shown as old. */
export const STALE_AFTER_MS = 4_000;

export const isStale = ({ link, silentMs }: Pick<Picture, "link" | "silentMs">): boolean =>
  link.kind === "lost" || silentMs > STALE_AFTER_MS;

/** Whether all, some or none of the GPUs are simulated; simulated values are always marked. */
export function simulatedOf(gpus: readonly Gpu[]): "all" | "some" | "none" {
  const count = gpus.filter(({ device }) => device.simulated).length;
  return count === 0 ? "none" : count === gpus.length ? "all" : "some";
}
