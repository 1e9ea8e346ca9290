/** The interface of a sink, and its declaration. */
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

/** A frame on its way, with where it came from. */
export interface Delivery {
  readonly frame: Frame;
  readonly source: string;
  readonly tier: Tier | "stream";
  /** How old the frame may grow before its values are no longer the present. */
  readonly freshForMs: number;
  /** What the source has seen, lost GPUs included. */
  readonly devices: readonly Device[];
  /** The machine it was read on; absent where that is this one. */
  readonly host?: string | undefined;
  /** False for what was scraped: a Prometheus that scrapes this page may scrape the target too and would have it twice. */
  readonly isExposed?: boolean | undefined;
  /** Where it stands in a log that can be read again. */
  readonly origin?: Origin | undefined;
  /** What the stream found on the way, by GPU (uuid): names such as `high_gpu_temperature`. A GPU without any is not in it. */
  readonly tags?: ReadonlyMap<string, readonly string[]> | undefined;
}

/** Changes deliveries between a read and the sinks, in order; it must be fast. */
export type Transform = (delivery: Delivery) => Delivery;

export interface Sink {
  readonly name: string;
  /** Resolves when the sink has accepted it. A rejection loses this frame, counted; the next is written all the same. */
  write(delivery: Delivery): void | Promise<void>;
  /**
   * Resolves when everything written so far outlives a kill: it is where it goes, or in the sink's spool. Tries as long as that
   * takes; rejects only where it never will. Absent where a resolved write guarantees that already.
   */
  flush?(signal: AbortSignal): Promise<void>;
  /** Writes may go on while it flushes, and do not make the flush longer: it is about what was written before. */
  readonly takesWhileFlushing?: boolean;
  /** Flushing more often makes what it stores worse, such as many small files: checkpoints by time are this far apart. */
  readonly rollMs?: number;
  /** Stores a dead letter; resolves when it is stored. */
  reject?(letter: DeadLetter): Promise<void>;
  /** For a hub that hands on what it received: when it returns they outlive a kill. Absent where a sink takes frames alone. */
  samples?(batch: SampleBatch): void;
  /** The same for frames, where they go as they are and not as samples. Labels are for series that do not have them. */
  relay?(delivery: Delivery, labels: LabelSet): void;
  /** Nothing comes from this source any more: what was relayed of it ends. */
  relayEnd?(source: string, timeMs: number): void;
  /** What waits and what was sent, for sinks that send over a network. */
  shipping?(): ShippingStats;
  /** Flushes what is held and lets go of everything; called once, after the last write has ended. */
  close(): void | Promise<void>;
}

export interface ShipStats extends SendStats {
  /** How far this machine's clock is ahead of the receiver's; absent where the receiver does not report its own. */
  readonly clockAheadSeconds?: number;
  /** Samples sent with a corrected time; absent where a sink never corrects. */
  readonly restampedSamples?: number;
}

export interface ShippingStats {
  readonly ship: ShipStats;
  readonly spool: SpoolStats;
}

export interface SinkContext {
  readonly log: Log;
  /** Standard output, handed in so that nothing else writes there. */
  readonly stdout: NodeJS.WritableStream;
  readonly clock: Clock;
  /** The time that deletions are judged by, where the opener has one: it follows no jump of the wall clock. */
  readonly trustedNowMs?: () => number;
  /** 0 up to 1. */
  readonly random: () => number;
  readonly hostName: string;
  /** Labels that every series of this machine's frames carries, as a scrape of it would give them. */
  readonly identity: LabelSet;
  /** A hub opens it, to hand on what others sent. */
  readonly isHub?: boolean;
  /** A pipe opens it, and its writers can wait: a full sink blocks instead of dropping the oldest. */
  readonly waits?: boolean;
  /** A sink that sends keeps what waits in a folder of its own in here. */
  readonly spoolDir: string;
  readonly version: string;
}

/** The one declaration of a sink. */
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
