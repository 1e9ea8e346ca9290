/** The sink interface and its declaration. */
import type { GenericSchema, InferOutput } from "valibot";
import type { ComponentDefinition } from "../config/component.ts";
import type { SampleBatch } from "../formats/samples/batch.ts";
import type { Log } from "../base/log.ts";
import type { Tier } from "../model/catalogue/index.ts";
import type { Device } from "../model/device.ts";
import type { Frame } from "../model/frame.ts";
import type { LabelSet } from "../model/labels.ts";
import type { DeadLetter, Origin } from "../model/origin.ts";
import type { Clock } from "../base/clock.ts";
import type { SendStats } from "../base/send/batch-sender.ts";
import type { SpoolStats } from "./spool/spool.ts";

/** A frame on its way to the sinks, with its origin. */
export interface Delivery {
  readonly frame: Frame;
  readonly source: string;
  readonly tier: Tier | "stream";
  /** Age at which the frame's values are no longer current. */
  readonly freshForMs: number;
  /** Every device the source has seen, lost GPUs included. */
  readonly devices: readonly Device[];
  /** The machine the frame was read on; absent for this machine. */
  readonly host?: string | undefined;
  /**
   * False for scraped series: a Prometheus that scrapes this page may scrape the target too, and would store its series
   * twice.
   */
  readonly isExposed?: boolean | undefined;
  /** Position in a replayable log. */
  readonly origin?: Origin | undefined;
  /** Tags found by the stream, per GPU UUID, such as `high_gpu_temperature`. GPUs without tags have no entry. */
  readonly tags?: ReadonlyMap<string, readonly string[]> | undefined;
}

/** Changes deliveries between the read and the sinks, in order. It must be fast. */
export type Transform = (delivery: Delivery) => Delivery;

export interface Sink {
  readonly name: string;
  /**
   * Resolves when the sink has accepted the delivery. A rejection loses and counts this frame; the next one is still
   * written.
   */
  write(delivery: Delivery): void | Promise<void>;
  /**
   * Resolves when everything written so far survives a kill: it has reached its destination or the sink's spool. Retries
   * without a time limit, and rejects only if the data can never be stored. Absent if a resolved write already
   * guarantees that.
   */
  flush?(signal: AbortSignal): Promise<void>;
  /** True if writes may continue during a flush. They do not prolong it: a flush covers only earlier writes. */
  readonly takesWhileFlushing?: boolean;
  /**
   * Minimum time between timed checkpoints, for a sink whose output gets worse with frequent flushes, such as many small
   * files.
   */
  readonly rollMs?: number;
  /** Stores a dead letter; resolves when it is stored. */
  reject?(letter: DeadLetter): Promise<void>;
  /** Accepts samples that a hub forwards. They survive a kill once this returns. Absent for sinks that accept only frames. */
  samples?(batch: SampleBatch): void;
  /** Like `samples`, for sinks that forward frames unchanged. `labels` are added to series that lack them. */
  relay?(delivery: Delivery, labels: LabelSet): void;
  /** Ends the forwarded series of this source, which has no more data. */
  relayEnd?(source: string, timeMs: number): void;
  /** Pending and sent counts, for sinks that send over a network. */
  shipping?(): ShippingStats;
  /** Flushes buffered data and releases all resources. Called once, after the last write has ended. */
  close(): void | Promise<void>;
}

export interface ShipStats extends SendStats {
  /** How far this machine's clock is ahead of the receiver's; absent if the receiver does not report its own. */
  readonly clockAheadSeconds?: number;
  /** Samples sent with a corrected timestamp; absent if the sink never corrects any. */
  readonly restampedSamples?: number;
}

export interface ShippingStats {
  readonly ship: ShipStats;
  readonly spool: SpoolStats;
}

export interface SinkContext {
  readonly log: Log;
  /** Standard output, passed in so that nothing else writes to it. */
  readonly stdout: NodeJS.WritableStream;
  readonly clock: Clock;
  /** The trusted time for deletions, unaffected by wall clock jumps; absent if the caller has none. */
  readonly trustedNowMs?: () => number;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly hostName: string;
  /** Labels that every series of this machine's frames carries, as Prometheus would add them when it scrapes the machine. */
  readonly identity: LabelSet;
  /** True in a hub, which forwards data from others. */
  readonly isHub?: boolean;
  /** True in a pipe, whose writers can wait: a full sink blocks instead of dropping the oldest. */
  readonly waits?: boolean;
  /** Parent folder of the sinks' spools; each sink that sends over a network has its own subfolder. */
  readonly spoolDir: string;
  readonly version: string;
}

/** The declaration of a sink type. */
export interface SinkDefinition<
  Schema extends GenericSchema = GenericSchema,
> extends ComponentDefinition<Schema> {
  create(options: InferOutput<Schema>, context: SinkContext): Promise<Sink>;
}

export function defineSink<Schema extends GenericSchema>(
  definition: SinkDefinition<Schema>,
): SinkDefinition<Schema> {
  return definition;
}
