/** Reads a GPU-Z log, once or as it grows, and emits one frame per row with the log's own time. Never invents a row or an hour. */
import { type GpuzRow, type RowCounts, RowParser } from "../../formats/gpuz/rows.ts";
import { LocalClock, type TimeNote, type Zone } from "../../formats/gpuz/time.ts";
import type { Log } from "../../base/log.ts";
import { createReadStream } from "node:fs";
import { formatError, GpulseError, systemCode } from "../../base/error.ts";
import { gpuzDevice } from "../../formats/gpuz/device.ts";
import { GpuzFrames } from "../../formats/gpuz/frames.ts";
import type { GpuzHeader } from "../../formats/gpuz/header.ts";
import type { Device } from "../../model/device.ts";
import type { Vendor } from "../../model/vendor.ts";
import type { Frame } from "../../model/frame.ts";
import type { DeadLetter } from "../../model/origin.ts";
import type { SourceContext, StreamingSource } from "../source.ts";
import { FileFollower } from "./follow.ts";

/* Warnings about a log: damaged lines, ambiguous or missing hours, clock jumps. Each kind is logged a few times at most. */

const timeSays: Record<TimeNote, string> = {
  twice: "this hour comes twice when clocks go back: took the one nearer to the row before",
  never: "this hour does not exist in the time zone: is timezone=… that of the logging machine?",
  back: "the clock of the logging machine went back: the row keeps its time",
  "same-second": "several rows share a second: distinguished by a millisecond each",
};
const mostOfAKind: Record<TimeNote, number> = { twice: 1, never: 1, back: 10, "same-second": 1 };

class LogNotes {
  readonly #file: string;
  readonly #log: Log;
  readonly #said = new Map<string, number>();

  constructor(file: string, log: Log) {
    this.#file = file;
    this.#log = log;
  }

  say(message: string): void {
    this.#log.warn(message, { file: this.#file });
  }

  time(note: TimeNote, localMs: number, timeMs: number): void {
    const said = (this.#said.get(note) ?? 0) + 1;
    this.#said.set(note, said);
    if (said > mostOfAKind[note]) return;
    const row = new Date(localMs).toISOString().slice(0, 19).replace("T", " ");
    const fields = { file: this.#file, row, instant: new Date(timeMs).toISOString() };
    if (note === "same-second") this.#log.info(timeSays[note], fields);
    else this.#log.warn(timeSays[note], fields);
  }

  /** Logs each count once, when it first is not zero. */
  warnings(counts: RowCounts): void {
    const warn = (kind: keyof RowCounts, message: string): void => {
      if (counts[kind] === 0 || this.#said.has(kind)) return;
      this.#said.set(kind, 1);
      this.#log.warn(message, { file: this.#file, lines: counts[kind] });
    };
    warn("beforeHeader", "rows before the first header were left out: their columns are unknown");
    warn(
      "unusable",
      "lines that are neither header nor a row with as many cells as its header were left out",
    );
    warn("cut", "rows that are cut short were used as far as they are whole");
    warn("decimalComma", "rows write a decimal comma: read as a point");
  }

  summary(counts: RowCounts): void {
    this.warnings(counts);
    if (counts.rows === 0) this.say("the log has a header but no rows");
    const stepsBack = this.#said.get("back") ?? 0;
    this.#log.info("read the log", {
      file: this.#file,
      rows: counts.rows,
      headers: counts.headers,
      ...(stepsBack === 0 ? {} : { stepsBack }),
    });
  }
}

interface GpuzOptions {
  readonly file: string;
  readonly gpuName: string | undefined;
  readonly vendor: Vendor | undefined;
  readonly uuid: string | undefined;
  readonly index: number;
  readonly zone: Zone;
  readonly follow: boolean;
  readonly from: "start" | "end";
  readonly pollMs: number;
  readonly host: string;
  readonly log: Log;
  readonly reject?: SourceContext["reject"];
}

type Emit = (frame: Frame) => Promise<void>;
/** Parsed at a time: cells that wait for their turn survive garbage collections, which copy them. */
const partBytes = 32_768;
/** Limit of unreadable lines before a header, for a file that may not be a log. */
const mostLettersBeforeHeader = 1_000;

export class GpuzSource implements StreamingSource {
  readonly shape = "streaming";
  readonly #options: GpuzOptions;
  readonly #follower: FileFollower;
  readonly #notes: LogNotes;
  #parser = this.#newParser();
  #letters: DeadLetter[] = [];
  #clock: LocalClock;
  #device: Device | undefined;
  #frames: GpuzFrames | undefined;
  #skipping: boolean;
  #firstBytes = Buffer.alloc(0);

  constructor(options: GpuzOptions) {
    this.#options = options;
    this.#follower = new FileFollower(options.file, options.pollMs);
    this.#notes = new LogNotes(options.file, options.log);
    this.#clock = new LocalClock(options.zone);
    this.#skipping = options.follow && options.from === "end";
  }

  devices(): readonly Device[] {
    return this.#device === undefined ? [] : [this.#device];
  }

  rejectedRows(): number {
    const { unusable, beforeHeader } = this.#parser.counts;
    return unusable + beforeHeader;
  }

  async run(emit: Emit, signal: AbortSignal): Promise<void> {
    try {
      await (this.#options.follow ? this.#follow(emit, signal) : this.#readOnce(emit, signal));
    } catch (thrown) {
      if (signal.aborted) return;
      throw this.#asGpulseError(thrown);
    }
  }

  async close(): Promise<void> {
    await this.#follower.close();
  }

  async #readOnce(emit: Emit, signal: AbortSignal): Promise<void> {
    this.#parser = this.#newParser();
    this.#letters = [];
    this.#clock = new LocalClock(this.#options.zone);
    this.#firstBytes = Buffer.alloc(0);
    for await (const chunk of createReadStream(this.#options.file, {
      highWaterMark: 262_144,
      signal,
    })) {
      await this.#take(chunk as Buffer, emit);
    }
    await this.#emitRows(this.#parser.end(), emit);
    this.#check(true);
    this.#notes.summary(this.#parser.counts);
  }

  async #follow(emit: Emit, signal: AbortSignal): Promise<void> {
    for await (const event of this.#follower.run(signal)) {
      switch (event.kind) {
        case "bytes":
          await this.#take(event.bytes, emit);
          break;
        case "rewritten":
          this.#notes.say("the log was cut short or written over; reading it from its start");
          this.#parser.restart();
          break;
        case "replaced":
          this.#notes.say("another file took the log's name; reading that one from its start");
          await this.#emitRows(this.#parser.end(), emit);
          this.#parser.restart();
          break;
        case "idle":
          this.#skipping = false;
          this.#check(false);
          this.#notes.warnings(this.#parser.counts);
          break;
      }
    }
  }

  async #take(bytes: Buffer, emit: Emit): Promise<void> {
    if (this.#firstBytes.length < 2)
      this.#firstBytes = Buffer.concat([this.#firstBytes, bytes.subarray(0, 2)]);
    for (let start = 0; start < bytes.length; start += partBytes)
      await this.#emitRows(this.#parser.push(bytes.subarray(start, start + partBytes)), emit);
  }

  #newParser(): RowParser {
    return new RowParser((line, reason) => {
      const { reject, file } = this.#options;
      const isFull =
        this.#parser.header === undefined && this.#letters.length >= mostLettersBeforeHeader;
      if (reject === undefined || this.#skipping || isFull) return;
      const content = Buffer.from(line, "latin1");
      this.#letters.push({ content, reason, source: `gpuz ${file}` });
    });
  }

  async #emitRows(rows: readonly GpuzRow[], emit: Emit): Promise<void> {
    await this.#giveLetters();
    for (const row of rows) {
      const { timeMs, note } = this.#clock.instant(row.localMs);
      if (this.#skipping) continue;
      if (note !== undefined) this.#notes.time(note, row.localMs, timeMs);
      this.#frames ??= new GpuzFrames(this.#deviceOf(row.header), this.#options.host);
      await emit(this.#frames.frame(row, timeMs));
    }
  }

  /** Dead letters are passed on only once the file is known to be a log. */
  async #giveLetters(): Promise<void> {
    if (this.#parser.header === undefined) return;
    for (const letter of this.#letters.splice(0)) await this.#options.reject?.(letter);
  }

  /** Reports the problem of a file without any rows, and the fix. */
  #check(ended: boolean): void {
    const { rows, headers, beforeHeader, unusable } = this.#parser.counts;
    const { file } = this.#options;
    if (headers > 0 || rows > 0) return;
    if (this.#firstBytes[0] === 0xff && this.#firstBytes[1] === 0xfe)
      throw new GpulseError(
        "FILE_FORMAT",
        `${file} is UTF-16 text: save it as ANSI or UTF-8, or name the file GPU-Z itself wrote.`,
      );
    if (beforeHeader > 0)
      throw new GpulseError(
        "FILE_FORMAT",
        `${file} has ${beforeHeader} rows but no header line, the one that begins with "Date": put the header of another log of this machine on top of it.`,
      );
    if (unusable > 0)
      throw new GpulseError(
        "FILE_FORMAT",
        `${file} is not a GPU-Z sensor log: no line begins with "Date". GPU-Z writes one where "Log to file" is ticked on its Sensors page.`,
      );
    if (ended)
      throw new GpulseError(
        "FILE_FORMAT",
        `${file} is empty. Add follow=true to wait for GPU-Z to write into it.`,
      );
  }

  #deviceOf(header: GpuzHeader): Device {
    const { file } = this.#options;
    this.#device = gpuzDevice(header, file, this.#options, (text) => this.#notes.say(text));
    return this.#device;
  }

  #asGpulseError(thrown: unknown): unknown {
    const code = systemCode(thrown);
    const { file } = this.#options;
    if (thrown instanceof GpulseError || code === undefined) return thrown;
    const says =
      code === "ENOENT"
        ? `There is no file ${file}. Give the path of the log that GPU-Z writes, or add follow=true to wait for it.`
        : code === "EACCES" || code === "EPERM"
          ? `This user may not read ${file}.`
          : `${file} cannot be read: ${formatError(thrown)}.`;
    return new GpulseError("FILE_UNREADABLE", says, { cause: thrown });
  }
}
