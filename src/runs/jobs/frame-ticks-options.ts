/** What `FrameTicks` takes, needs and returns. */
import type { Delivery } from "../../pipeline/sink.ts";
import type { UnchangedGpus } from "./tick-codec.ts";
import type { GpuTick } from "./tick.ts";

export type TickDelivery = Pick<Delivery, "frame" | "devices" | "tier" | "isExposed">;

/** The identity of a GPU. */
export interface GpuName {
  readonly host: string;
  readonly uuid: string;
  /** Their `deviceKey`. */
  readonly key: string;
}

export type LastTick = Pick<GpuTick, "timeMs" | "joules" | "meter">;

export interface FrameTicksOptions {
  /** Returns the kinds of anomalies that are active on a GPU. */
  readonly anomaliesOf?: ((gpu: GpuName) => readonly string[]) | undefined;
  /** A GPU with activity above this counts as used. */
  readonly floorRatio?: number | undefined;
  /** Returns the ledger's last tick of a GPU, which another process may have read: readings up to it are skipped. */
  readonly lastTickOf?: ((gpu: GpuName) => LastTick | undefined) | undefined;
  /** True for machines on which a job waits to be closed: their readings are not delayed. */
  readonly isUrgent?: ((host: string) => boolean) | undefined;
  /** Returns the maximum time accumulated in one tick. */
  readonly mostDelayMs?: (() => number) | undefined;
  /** The index of a GPU in the journal, which `FrameChanges.unchanged` refers to. */
  readonly indexOf?: ((key: string) => number) | undefined;
}

/** The result of a frame. */
export interface FrameChanges {
  readonly ticks: readonly GpuTick[];
  /** For the journal only; valid until the next frame. */
  readonly unchanged: UnchangedGpus | undefined;
}
