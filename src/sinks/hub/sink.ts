/**
 * Pushes frames to a hub through a spool on disk: written frames survive a kill and an outage, are sent in order, and
 * are removed only when the hub acknowledges them. One request per tick, never more than one at a time.
 */
import path from "node:path";
import { FrameDecoder, FrameEncoder, type PushFrame } from "../../formats/frames/frame.ts";
import { ByteReader, FramesError } from "../../formats/frames/bytes.ts";
import type { Hello } from "../../formats/frames/hello.ts";
import type { HttpClient } from "../../net/http/client.ts";
import type { Log } from "../../base/log.ts";
import { presence } from "../../model/presence.ts";
import type { Clock } from "../../base/clock.ts";
import { BatchSender, type SendResult } from "../../base/send/batch-sender.ts";
import { pause } from "../../base/retry.ts";
import type { Delivery, ShippingStats, Sink } from "../../pipeline/sink.ts";
import { openSpool } from "../../pipeline/spool/open.ts";
import { createSpoolError, spoolQueue } from "../../pipeline/spool/queue.ts";
import type { SpoolRecord } from "../../pipeline/spool/segment.ts";
import type { Spool } from "../../pipeline/spool/spool.ts";
import { PushClient } from "./client.ts";
import { DefinitionFolder } from "./definitions.ts";
import { type PushBatch, FrameTimes, isStampedHere } from "./frame-times.ts";

export interface HubSinkOptions {
  /** The name in logs and self-metrics, without secrets. */
  readonly name: string;
  /** The request URL, including `/api/push/v1`. */
  readonly url: string;
  readonly http: HttpClient;
  readonly identity: Pick<Hello, "agent" | "version" | "host" | "job" | "instance">;
  /** How often frames come; also the heartbeat interval, but not below five seconds. */
  readonly intervalMs: number;
  readonly spool: { readonly dir: string; readonly maxBytes: number; readonly maxAgeMs: number };
  /** True if writers can wait, so that nothing is dropped from the spool. */
  readonly waits?: boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

const batchBytes = 512 * 1024;
/** The schedules of one tick fire a moment apart; waiting this long combines them into one request. */
const lingerMs = 100;
/** Ticks that are closer together than this share a request. */
const leastGapMs = 1_000;
/** This many pending records are a backlog, which is sent without lingering. */
const backlogRecords = 16;
const leastHeartbeatMs = 5_000;
/** Pending records beyond which a stream waits, so that it does not drop its own oldest frames from the spool. */
const streamRecords = 2_000;
const closeWithinMs = 1_200;
const goodbyeWithinMs = 500;

export class HubSink implements Sink {
  readonly name: string;
  readonly #options: HubSinkOptions;
  readonly #definitions: DefinitionFolder;
  readonly #spool: Spool;
  readonly #sender: BatchSender<SpoolRecord>;
  readonly #client: PushClient;
  readonly #times: FrameTimes;
  readonly #heartbeatMs: number;
  #lastSentMs = Number.NEGATIVE_INFINITY;
  #isReachable = false;
  #cancelHeartbeat: () => void = () => {};

  constructor(options: HubSinkOptions) {
    this.#options = options;
    this.name = options.name;
    const { clock, log, random, spool } = options;
    const maxAgeMs = options.waits === true ? Infinity : spool.maxAgeMs;
    this.#spool = openSpool({ ...spool, maxAgeMs, clock, log, name: options.name });
    this.#definitions = new DefinitionFolder(path.join(spool.dir, "definitions"), log);
    this.#times = new FrameTimes({
      to: options.name,
      folder: spool.dir,
      nextPosition: () => this.#spool.nextPosition,
      clock,
      log,
    });
    this.#heartbeatMs = Math.max(leastHeartbeatMs, options.intervalMs);
    this.#client = new PushClient({
      url: options.url,
      http: options.http,
      definitions: this.#definitions,
      identity: {
        ...options.identity,
        session: this.#spool.id,
        intervalMs: this.#heartbeatMs,
      },
      spool: () => this.#spoolState(),
      clock,
      log,
    });
    this.#sender = new BatchSender({
      name: options.name,
      queue: { ...spoolQueue(this.#spool, batchBytes), linger: () => this.#linger() },
      samplesOf: ({ samples }) => samples,
      sizeOf: ({ bytes }) => bytes.length,
      send: (records, signal) => this.#send(records, signal),
      backoff: { firstMs: 500, longestMs: 30_000 },
      clock,
      random,
      log,
    });
    this.#sender.start();
    this.#beat();
  }

  async write(delivery: Delivery): Promise<void> {
    this.#observe(delivery);
    const { bytes, samples } = this.#encode(delivery);
    if (this.#options.waits === true) await this.#spool.room(bytes.length);
    if (!this.#keep(bytes, samples) && this.#options.waits === true)
      throw createSpoolError(this.name, this.#options.spool.dir);
    if (delivery.tier !== "stream") return;
    while (this.#spool.stats().records > streamRecords)
      await pause(20, undefined, this.#options.clock);
  }

  shipping(): ShippingStats {
    const { clockAheadMs } = this.#client;
    return {
      ship: {
        ...this.#sender.stats(),
        ...(clockAheadMs !== undefined && { clockAheadSeconds: clockAheadMs / 1_000 }),
        restampedSamples: this.#times.restampedSamples,
      },
      spool: this.#spool.stats(),
    };
  }

  async close(): Promise<void> {
    this.#cancelHeartbeat();
    await this.#sender.close(closeWithinMs);
    if (this.#isReachable) {
      const signal = AbortSignal.timeout(goodbyeWithinMs);
      await this.#client.push([], { goodbye: true, signal }).catch(() => undefined);
    }
    await this.#spool.close();
    this.#options.http.close();
  }

  /** Appends to the spool; the record is in it when this returns. */
  append(delivery: Delivery): void {
    this.#observe(delivery);
    const { bytes, samples } = this.#encode(delivery);
    this.#keep(bytes, samples);
  }

  #observe({ host = "", tier }: Delivery): void {
    if (isStampedHere({ host, tier })) this.#times.observe();
  }

  #keep(bytes: Uint8Array, samples: number): boolean {
    return this.#spool.append(bytes, samples) !== undefined;
  }

  #encode({ frame, source, tier, freshForMs, devices, host }: Delivery) {
    const wire: PushFrame = {
      sequence: 1,
      layout: this.#definitions.layout(frame.layout),
      devices: this.#definitions.devices(devices),
      source,
      host: host ?? "",
      tier,
      freshForMs,
      timeMs: frame.timeMs,
      presence: frame.presence,
      values: frame.values,
    };
    const resolutions = this.#definitions.resolutions(wire.layout);
    if (resolutions === undefined) throw new Error("BUG: a layout is not known to its own sink");
    let samples = 0;
    for (const state of frame.presence) if (state === presence.present) samples++;
    return { bytes: new FrameEncoder().encode(wire, resolutions), samples };
  }

  async #send(records: readonly SpoolRecord[], signal: AbortSignal): Promise<SendResult> {
    let batch = this.#decodeAll(records);
    this.#lastSentMs = this.#options.clock.monotonicMs();
    this.#isReachable = false;
    let pushed = await this.#client.push(batch.frames, { signal });
    if (pushed.outcome === "outside") {
      this.#isReachable = true;
      const because = this.#times.holdBecause(pushed.clock);
      if (because !== undefined) return { outcome: "retry", problem: because };
      batch = this.#times.correct(batch, records, pushed.clock);
      pushed = await this.#client.push(batch.frames, { signal });
    }
    if (pushed.outcome === "outside")
      return { outcome: "retry", problem: "the hub accepts other times than a moment ago" };
    if (pushed.outcome === "retry") return pushed;
    this.#isReachable = true;
    if (pushed.outcome === "acknowledged") {
      const wanted = batch.frames.at(-1)?.sequence ?? 0;
      if (pushed.sequence < wanted)
        return { outcome: "retry", problem: "the hub took only a part", afterMs: 0 };
      this.#times.acknowledged(batch);
      if (this.#spool.stats().records <= records.length) this.#definitions.tidy();
      return { outcome: "sent", refusedSamples: batch.lostSamples, problem: batch.problem };
    }
    return pushed;
  }

  #decodeAll(records: readonly SpoolRecord[]): PushBatch {
    const frames: PushFrame[] = [];
    let lostSamples = 0;
    for (const record of records) {
      const frame = this.#frame(record);
      if (frame === undefined) lostSamples += record.samples;
      else frames.push(frame);
    }
    const problem = "frames in the spool whose layout is lost cannot be read";
    return {
      frames,
      lostSamples,
      restampedSamples: 0,
      ...(lostSamples > 0 && { problem }),
    };
  }

  /** Returns undefined if the record cannot be decoded: its layout is lost, or another version of gpulse wrote it. */
  #frame({ bytes, position }: SpoolRecord): PushFrame | undefined {
    try {
      return this.#decode(bytes, position);
    } catch (thrown) {
      if (thrown instanceof FramesError) return undefined;
      throw thrown;
    }
  }

  #decode(bytes: Buffer, position: number): PushFrame | undefined {
    const reader = new ByteReader(bytes);
    const decoder = new FrameDecoder();
    const head = decoder.head(reader);
    const resolutions = this.#definitions.resolutions(head.layout);
    if (
      resolutions === undefined ||
      this.#definitions.content("devices", head.devices) === undefined
    )
      return undefined;
    return { ...decoder.body(reader, head, resolutions), sequence: position };
  }

  async #linger(): Promise<void> {
    if (this.#spool.stats().records >= backlogRecords) return;
    const sinceMs = this.#options.clock.monotonicMs() - this.#lastSentMs;
    const gapMs = this.#options.intervalMs < leastGapMs ? leastGapMs : 0;
    await pause(Math.max(lingerMs, gapMs - sinceMs), undefined, this.#options.clock);
  }

  /** Sends a heartbeat while no frame is sent, and at the start, so that the hub has the agent before the first tick. */
  #beat(): void {
    const { clock } = this.#options;
    const idleMs = clock.monotonicMs() - this.#lastSentMs;
    const isWaiting = this.#times.isHeld || this.#spool.stats().records === 0;
    const isIdle = idleMs >= this.#heartbeatMs && isWaiting;
    if (isIdle) {
      this.#lastSentMs = clock.monotonicMs();
      this.#client.push([]).then(
        ({ outcome }) => (this.#isReachable = outcome === "acknowledged"),
        () => (this.#isReachable = false),
      );
    }
    this.#cancelHeartbeat = clock.after(this.#heartbeatMs / 2, () => this.#beat());
  }

  #spoolState(): Hello["spool"] {
    const { records, bytes, dropped } = this.#spool.stats();
    const lost = Object.values(dropped).reduce((sum, { records: count }) => sum + count, 0);
    return { records, bytes, lost };
  }
}
