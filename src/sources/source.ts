/** Defines a source, a polled or streaming producer of frames, and its declaration. */
import type { GenericSchema, InferOutput } from "valibot";
import type { ComponentDefinition } from "../config/component.ts";
import type { Log } from "../base/log.ts";
import type { Tier } from "../model/catalogue/index.ts";
import type { Device } from "../model/device.ts";
import type { Frame } from "../model/frame.ts";
import type { DeadLetter, Origin } from "../model/origin.ts";
import type { FileAccess } from "../machine/sysfs/file-access.ts";

export interface SourceContext {
  readonly host: string;
  /** The position among several sources of the same kind, in configuration order; 1 if absent. */
  readonly ordinal?: number;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Paths of /sys and /proc, which may differ in a container that mounts the host's. */
  readonly sysfs: string;
  readonly procfs: string;
  /** The kubelet's PodResources socket; the kubelet's default path if absent. */
  readonly kubeletSocket?: string | undefined;
  /** Opens files under these paths; the host's file system if absent. A capture records what is read through it. */
  readonly fileAccess?: FileAccess;
  /** Stores a dead letter; resolves when it is stored. If absent, dead letters are only counted and logged. */
  readonly reject?: (letter: DeadLetter) => Promise<void>;
}

/** Metadata of a streamed frame. */
export interface StreamFrameInfo {
  readonly origin?: Origin;
  /** The machine the frame was read on, if not this one. */
  readonly host?: string;
  /** The devices of this frame, if the stream contains many machines. */
  readonly devices?: readonly Device[];
  /** Tags per GPU (by UUID) that an earlier stage has already found. */
  readonly tags?: ReadonlyMap<string, readonly string[]>;
}

export type Emit = (frame: Frame, about?: StreamFrameInfo) => Promise<void>;

/** A child process that a source reads through, so that a crash in a driver's library does not crash this process. */
export interface SourceProcess {
  /** How often it ended by itself and was restarted. */
  readonly restarts: number;
  /** Processor time since its start; absent if it is not running. */
  readonly cpuSeconds?: number;
  readonly residentBytes?: number | undefined;
}

/** A source that is read on a schedule. The pipeline never calls `read` while an earlier call on the same source is pending. */
export interface PolledSource {
  readonly shape: "polled";
  readonly tiers: readonly Tier[];
  /** Deadline of a read, for a slow source; the pipeline's own if absent. */
  readonly deadlineMs?: number | undefined;
  devices(): readonly Device[];
  /** Why the GPU with this UUID is down, for the log; undefined if the source does not know it. */
  lossOf?(uuid: string): string | undefined;
  /** Absent if the source reads in this process. */
  process?(): SourceProcess;
  /** Registers a listener for changes before a tier's schedule; the pipeline then reads that tier at once. */
  onChange?(listener: (tier: Tier) => void): void;
  /** Returns one frame for the instant. If it throws, only this read fails; a late result is dropped. */
  read(tier: Tier, timeMs: number, signal: AbortSignal): Frame | Promise<Frame>;
  close(): void | Promise<void>;
}

/** A source that runs by itself until its data ends or the signal aborts. `emit` resolves when there is room downstream: await it. */
export interface StreamingSource {
  readonly shape: "streaming";
  /**
   * True if another process continues from what this one committed (a consumer group): committed data must have been delivered,
   * not be waiting in a spool of this machine.
   */
  readonly sharesWork?: boolean;
  /** True if clients wait until their data is committed, so that no sink's roll interval may delay a checkpoint. */
  readonly answersOnCommit?: boolean;
  devices(): readonly Device[];
  /** @param checkpoint stores and commits what was emitted, before another process takes over; absent if nothing is stored */
  run(emit: Emit, signal: AbortSignal, checkpoint?: () => Promise<void>): Promise<void>;
  /**
   * Called when every sink has stored every frame whose `emit` has resolved, so that it need not be read again. A frame whose
   * `emit` is pending is not included.
   */
  commit?(): Promise<void>;
  /** Records the frames emitted until now and returns a function that commits exactly these. */
  mark?(): () => Promise<void>;
  /** Number of pieces of input set aside by the source itself, with their reasons, without a call of `reject`. */
  lettersKept?(): number;
  /** Number of unusable input rows since the source was opened. */
  rejectedRows?(): number;
  /** The last known lag of each partition. */
  lag?(): readonly SourceLag[];
  /** Available records that have not been emitted; undefined if unknown, such as without a broker. */
  unreadRecords?(): number | undefined;
  close(): void | Promise<void>;
}

export interface SourceLag {
  readonly log: string;
  readonly partition: number;
  readonly records: number;
}

export type Source = PolledSource | StreamingSource;

export interface DoctorFinding {
  readonly state: "found" | "not-found" | "denied" | "failed";
  /** The finding in one sentence. */
  readonly says: string;
  /** The exact command or container flag that fixes it. */
  readonly fix?: string;
  readonly devices?: readonly Device[];
}

/** The one declaration of a source, from which its configuration, command line, docs and doctor check are made. */
export interface SourceDefinition<
  Schema extends GenericSchema = GenericSchema,
> extends ComponentDefinition<Schema> {
  /** True if `auto` may select it; false for the simulator. */
  readonly auto: boolean;
  /** The vendor's commands whose output belongs in a capture of a machine: `["nvidia-smi", "-q", "-x"]`. */
  readonly captureCommands?: readonly (readonly [command: string, ...args: string[]])[];
  /** Probes for the source without waking or changing anything. */
  doctor(options: InferOutput<Schema>, context: SourceContext): Promise<DoctorFinding>;
  create(options: InferOutput<Schema>, context: SourceContext): Promise<Source>;
}

/** Preserves a definition's option type while it is written, and erases it for the list. */
export function defineSource<Schema extends GenericSchema>(
  definition: SourceDefinition<Schema>,
): SourceDefinition<Schema> {
  return definition;
}
