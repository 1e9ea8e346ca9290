/**
 * Processes one uploaded GPU-Z log: reads it in pieces, adds tags, and writes the lake's tables and a summary. Output names are
 * derived from the object's key and beginning, and existing rows are not written again: a repeated event changes nothing, and a
 * grown log that is uploaded again adds its new rows.
 */
import type { Env } from "../../config/secrets.ts";
import { createHash } from "node:crypto";
import { GpulseError } from "../../base/error.ts";
import { openFiles } from "../../net/objects/open.ts";
import type { FileStore } from "../../net/objects/store.ts";
import { gpuzDevice } from "../../formats/gpuz/device.ts";
import { GpuzFrames } from "../../formats/gpuz/frames.ts";
import { type GpuzRow, RowParser } from "../../formats/gpuz/rows.ts";
import { LocalClock } from "../../formats/gpuz/time.ts";
import { runLakeJob } from "../../lake/job.ts";
import { LakeWriter } from "../../lake/writer.ts";
import type { Log } from "../../base/log.ts";
import type { Device } from "../../model/device.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { createProcessing } from "../../pipeline/tags/options.ts";
import type { UploadedObject } from "./event.ts";
import { HubForward } from "./forward.ts";
import type { LambdaSettings } from "./settings.ts";
import { type LogSummary, LogSummaryBuilder } from "./summary.ts";

export interface LambdaContext {
  readonly env: Env;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly version: string;
  readonly signal: AbortSignal;
}

/** Read size; the whole object is never in memory. */
const pieceBytes = 4 * 2 ** 20;
/** Memory for rows waiting to be written: a function has at least 128 MB. */
const heldBytes = 24 * 2 ** 20;

export async function processObject(
  object: UploadedObject,
  settings: LambdaSettings,
  surroundings: LambdaContext,
): Promise<LogSummary> {
  const { bucket, key, bytes } = object;
  const shown = `s3://${bucket}/${key}`;
  if (bytes > settings.maxBytes)
    throw new GpulseError(
      "FILE_FORMAT",
      `${shown} has ${bytes} bytes, more than the ${settings.maxBytes} this function takes: raise GPULSE_MAX_BYTES and the function's time, or use gpulse pipe --from s3://….`,
    );
  const { env, log, nowMs, random, version, signal } = surroundings;
  const input = await openFiles(`s3://${bucket}${settings.query}`, env);
  const begin = await readBeginning(input, key, bytes, signal);
  const id = createHash("sha256")
    .update(JSON.stringify([bucket, key, begin]))
    .digest("hex");
  const name = `upload-${id.slice(0, 16)}`;
  const output = await openFiles(settings.output, env);
  const host = settings.host ?? bucket;
  const forward = settings.hub && new HubForward(settings.hub, version);
  const summary = new LogSummaryBuilder();
  const writer = new LakeWriter({
    files: output,
    workers: { run: runLakeJob, close: async () => {} },
    id: name,
    version,
    log,
    nowMs,
    random,
    maxBytes: heldBytes,
  });
  const reader = new LogReader(shown, settings, host, log);
  const { transforms } = createProcessing(settings.rules);
  try {
    let offset = 0;
    for await (const plain of reader.deliveries(pieces(input, key, bytes, signal))) {
      const delivery = transforms.reduce((one, transform) => transform(one), plain);
      const { frame, devices, tags } = delivery;
      summary.take(delivery);
      await writer.take(
        { frame, devices, host, tags },
        { log: name, partition: 0, offset: offset++, since: 0 },
        signal,
      );
      await forward?.take(delivery, signal);
    }
    reader.check();
    await writer.flush(signal);
    await forward?.flush(signal);
    const { device, unusable } = reader;
    const report = summary.finish({
      source: object,
      host,
      unusable,
      ...(device !== undefined && { device }),
    });
    const text = Buffer.from(`${JSON.stringify(report, undefined, 2)}\n`);
    // Written last: if it exists, everything else does.
    await output.write(`summaries/${name}.json`, text, signal);
    return report;
  } finally {
    input.close();
    output.close();
    forward?.close();
  }
}

const beginningBytes = 65_536;

/** Identifies a log by its header and first row: another log under the same key differs there, a grown log does not. */
async function readBeginning(
  files: FileStore,
  key: string,
  bytes: number,
  signal: AbortSignal,
): Promise<string> {
  const end = Math.min(bytes, beginningBytes);
  if (end === 0) return "";
  const text = Buffer.from(await files.read(key, { start: 0, end }, signal)).toString("latin1");
  return text.split("\n", 2).join("\n").trimEnd();
}

async function* pieces(
  files: FileStore,
  key: string,
  bytes: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes; start += pieceBytes)
    yield await files.read(key, { start, end: Math.min(bytes, start + pieceBytes) }, signal);
}

/** Converts pieces of a log to deliveries, and collects its errors. */
class LogReader {
  device: Device | undefined;
  readonly #shown: string;
  readonly #settings: LambdaSettings;
  readonly #host: string;
  readonly #log: Log;
  readonly #parser = new RowParser();
  #frames: GpuzFrames | undefined;

  constructor(shown: string, settings: LambdaSettings, host: string, log: Log) {
    this.#shown = shown;
    this.#settings = settings;
    this.#host = host;
    this.#log = log;
  }

  get unusable(): number {
    const { unusable, beforeHeader } = this.#parser.counts;
    return unusable + beforeHeader;
  }

  async *deliveries(from: AsyncIterable<Uint8Array>): AsyncGenerator<Delivery> {
    const clock = new LocalClock(this.#settings.zone);
    for await (const bytes of from)
      for (const row of this.#parser.push(bytes)) yield this.#delivery(row, clock);
    for (const row of this.#parser.end()) yield this.#delivery(row, clock);
  }

  /** @throws GpulseError if the file was no GPU-Z log. */
  check(): void {
    if (this.#parser.counts.headers > 0) return;
    throw new GpulseError(
      "FILE_FORMAT",
      `${this.#shown} is not a GPU-Z sensor log: no line begins with "Date". Upload the file that GPU-Z writes where "Log to file" is ticked, as ANSI or UTF-8.`,
    );
  }

  #delivery(row: GpuzRow, clock: LocalClock): Delivery {
    const { gpuName, vendor } = this.#settings;
    this.device ??= gpuzDevice(
      row.header,
      this.#shown,
      { gpuName, vendor, uuid: undefined, index: 0, host: this.#host },
      (sentence) => this.#log.warn(sentence, { object: this.#shown }),
    );
    this.#frames ??= new GpuzFrames(this.device, this.#host);
    return {
      frame: this.#frames.frame(row, clock.instant(row.localMs).timeMs),
      source: this.#shown,
      tier: "stream",
      freshForMs: 5_000,
      devices: [this.device],
      host: this.#host,
    };
  }
}
