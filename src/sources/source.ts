/** What a source is: something that produces frames, polled or streaming, and how one is declared. */
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
  /** Which of several sources of one kind it is, in the order of the configuration; 1 where absent. */
  readonly ordinal?: number;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Where /sys and /proc are, so that a container can mount the host's elsewhere. */
  readonly sysfs: string;
  readonly procfs: string;
  /** The kubelet's PodResources socket; where a kubelet usually has it if absent. */
  readonly kubeletSocket?: string | undefined;
  /** How files under them are opened; the machine's own way where absent. A capture records what goes through it. */
  readonly fileAccess?: FileAccess;
  /** Stores a dead letter; resolves when it is stored. If absent, dead letters are only counted and logged. */
  readonly reject?: (letter: DeadLetter) => Promise<void>;
}

/** What a stream knows of a frame beyond the frame. */
export interface StreamFrameInfo {
  readonly origin?: Origin;
  /** The machine it was read on, where that is not this one. */
  readonly host?: string;
  /** Where the stream carries many machines: the devices of this frame alone. */
  readonly devices?: readonly Device[];
  /** Found before it came here, by GPU (uuid). */
  readonly tags?: ReadonlyMap<string, readonly string[]>;
}

export type Emit = (frame: Frame, about?: StreamFrameInfo) => Promise<void>;

/** A process of its own that a source reads through, so that a crash in a driver's library is not ours. */
export interface SourceProcess {
  /** How often it ended by itself and was started again. */
  readonly restarts: number;
  /** Since its start; absent while none runs. */
  readonly cpuSeconds?: number;
  readonly residentBytes?: number | undefined;
}

/** Read on a schedule. The pipeline never calls `read` of a source again while a call of it has not ended. */
export interface PolledSource {
  readonly shape: "polled";
  readonly tiers: readonly Tier[];
  /** How long a read may take, for a source that is slow by nature; the pipeline's own deadline where absent. */
  readonly deadlineMs?: number | undefined;
  devices(): readonly Device[];
  /** Why the GPU with this UUID is down, for the log; undefined where the source does not know. */
  lossOf?(uuid: string): string | undefined;
  /** Absent where it reads in this process. */
  process?(): SourceProcess;
  /** Calls the listener when a tier has news before its schedule: the pipeline then reads that tier at once. */
  onChange?(listener: (tier: Tier) => void): void;
  /** One frame for the instant. Throwing fails this read alone; a late answer is thrown away. */
  read(tier: Tier, timeMs: number, signal: AbortSignal): Frame | Promise<Frame>;
  close(): void | Promise<void>;
}

/** Runs by itself until its data ends or the signal aborts. `emit` resolves when there is room downstream: await it. */
export interface StreamingSource {
  readonly shape: "streaming";
  /** Another process goes on with what this one has not committed: what it commits must have arrived, not wait in a spool here. */
  readonly sharesWork?: boolean;
  /** Clients wait until what they sent is committed: no sink's roll interval may delay a checkpoint. */
  readonly answersOnCommit?: boolean;
  devices(): readonly Device[];
  /** @param checkpoint stores and commits what was emitted, before another process goes on with it; absent where nothing is stored */
  run(emit: Emit, signal: AbortSignal, checkpoint?: () => Promise<void>): Promise<void>;
  /** Every sink holds every frame whose `emit` has resolved: it need not be read again. One whose `emit` still waits is not among them. */
  commit?(): Promise<void>;
  /** Remembers which frames those are now, and gives what commits them and none that came later. */
  mark?(): () => Promise<void>;
  /** How many pieces of input it has put aside by itself, with their reasons: those that `reject` was not asked to keep. */
  lettersKept?(): number;
  /** How many rows of its input it could not use since it was opened. */
  rejectedRows?(): number;
  /** The last known lag of each partition. */
  lag?(): readonly SourceLag[];
  /** Records that are there and not yet emitted; undefined while that is unknown, such as without a broker. */
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
  /** One sentence: what was seen. */
  readonly says: string;
  /** The exact command or container flag that fixes it. */
  readonly fix?: string;
  readonly devices?: readonly Device[];
}

/** The one declaration of a source: config, command line, docs and doctor are all made from it. */
export interface SourceDefinition<
  Schema extends GenericSchema = GenericSchema,
> extends ComponentDefinition<Schema> {
  /** Whether `auto` may pick it; the simulator never is. */
  readonly auto: boolean;
  /** Commands of the vendor whose output belongs into a capture of a machine: `["nvidia-smi", "-q", "-x"]`. */
  readonly captureCommands?: readonly (readonly [command: string, ...args: string[]])[];
  /** Looks without waking or changing anything. */
  doctor(options: InferOutput<Schema>, context: SourceContext): Promise<DoctorFinding>;
  create(options: InferOutput<Schema>, context: SourceContext): Promise<Source>;
}

/** Keeps a definition's option type while it is written, and erases it for the list. */
export function defineSource<Schema extends GenericSchema>(
  definition: SourceDefinition<Schema>,
): SourceDefinition<Schema> {
  return definition;
}
