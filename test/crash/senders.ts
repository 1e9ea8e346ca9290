// Senders that know what the hub acknowledged: remote write with new and late series, floats and native histograms, of the present
// and of days ago, and InfluxDB's line protocol. A batch is sent until it is acknowledged, then the next; every value can be
// computed again from its place.

import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { compress } from "snappyjs";

import { encodeWriteRequest } from "../../src/formats/remote-write/encode.ts";
import { BatchBuilder } from "../../src/formats/samples/builder.ts";
import { labelSet } from "../../src/model/labels.ts";
import type { SampleVerdict } from "../chaos/counts.ts";
import { histogramFor, histogramText, sampleText, type ShownHistogram } from "./histogram.ts";

const series = 20;
/** A part of the series gets a new name every so many batches. */
const churnBatches = 40;
const lateMs = 3;
const pauseMs = 12;
const silenceMs = 3_000;

/** No value like another, so that none can stand in for another. */
const valueOf = (batch: number, one: number): number => Math.sin(batch * series + one + 1);
const lateValueOf = (batch: number, one: number): number => Math.cos(batch * series + one + 1);
const churnOf = (batch: number, one: number): string =>
  one % 5 === 0 ? String(Math.floor(batch / churnBatches)) : "";
/** Every tenth batch also brings a sample from before its own time. */
const isLate = (batch: number): boolean => batch % 10 === 9;

/** Some series of remote write are native histograms. */
const isHistogram = (one: number): boolean => one % 4 === 1;
const numberOf = (batch: number, one: number): number => batch * series + one + 1;

interface Protocol {
  readonly hasHistograms: boolean;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  encode(name: string, batch: number, timeMs: number): Buffer;
}

const remoteWrite = (): Protocol => ({
  hasHistograms: true,
  path: "/api/v1/write",
  headers: {
    "content-type": "application/x-protobuf",
    "content-encoding": "snappy",
    "x-prometheus-remote-write-version": "0.1.0",
  },
  encode: (name, batch, timeMs) => {
    const builder = new BatchBuilder();
    for (let one = 0; one < series; one++) {
      const labels = labelSet({
        __name__: name,
        series: String(one),
        churn: churnOf(batch, one) || undefined,
      });
      const place = builder.series(labels);
      const put = (atMs: number, value: number): void => {
        if (!isHistogram(one)) builder.add(place, atMs, value);
        else builder.addHistogram(place, atMs, histogramFor(value, numberOf(batch, one)));
      };
      put(timeMs, valueOf(batch, one));
      if (isLate(batch)) put(timeMs - lateMs, lateValueOf(batch, one));
    }
    return Buffer.from(compress(encodeWriteRequest(builder.finish())));
  },
});

const lineProtocol = (): Protocol => ({
  hasHistograms: false,
  path: "/api/v2/write?precision=ms",
  headers: { "content-type": "text/plain" },
  encode: (name, batch, timeMs) => {
    const lines: string[] = [];
    for (let one = 0; one < series; one++) {
      const churn = churnOf(batch, one);
      const key = `${name},series=${one}${churn === "" ? "" : `,churn=${churn}`} value=`;
      lines.push(`${key}${valueOf(batch, one)} ${timeMs}`);
      if (isLate(batch)) lines.push(`${key}${lateValueOf(batch, one)} ${timeMs - lateMs}`);
    }
    return Buffer.from(lines.join("\n"));
  },
});

/** History begins so long ago, and passes so much faster than the clock that hours of it are sealed and rolled up between kills. */
const historyAgoMs = 10 * 86_400_000;
const historyStepMs = 30_000;
const hourMs = 3_600_000;

interface SenderKind {
  readonly protocol: () => Protocol;
  /** The time of the next batch. */
  readonly next: (beforeMs: number | undefined) => number;
  /** What a query for its samples asks for at once. */
  readonly windowMs: number;
}

const present = (beforeMs = 0): number => Math.max(Date.now(), beforeMs + 2 * lateMs);
const history = (beforeMs?: number): number =>
  beforeMs === undefined
    ? Math.floor((Date.now() - historyAgoMs) / hourMs) * hourMs
    : beforeMs + historyStepMs;

const kinds = {
  remote: { protocol: remoteWrite, next: present, windowMs: 300_000 },
  line: { protocol: lineProtocol, next: present, windowMs: 300_000 },
  history: { protocol: remoteWrite, next: history, windowMs: 24 * hourMs },
} satisfies Readonly<Record<string, SenderKind>>;

export interface FoundSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly values?: readonly (readonly [number, string])[];
  readonly histograms?: readonly (readonly [number, ShownHistogram])[];
}

export interface Expectation {
  readonly fromMs: number;
  readonly untilMs: number;
  judge(found: readonly FoundSeries[]): SampleVerdict;
}

function compare(
  expected: ReadonlyMap<string, string>,
  found: readonly FoundSeries[],
  untilMs: number,
): SampleVerdict {
  let [right, duplicated, wrong, unexplained] = [0, 0, 0, 0];
  const seen = new Set<string>();
  for (const { metric, values = [], histograms = [] } of found)
    for (const [seconds, value] of [...values, ...histograms]) {
      const timeMs = Math.round(seconds * 1_000);
      if (timeMs > untilMs) continue;
      const key = `${metric["series"]}/${metric["churn"] ?? ""}@${timeMs}`;
      const want = expected.get(key);
      if (seen.has(key)) duplicated++;
      else if (want === undefined) unexplained++;
      else if (sampleText(value) === want) right++;
      else wrong++;
      seen.add(key);
    }
  const lost = expected.size - right - wrong;
  return { acknowledged: expected.size, lost, duplicated, wrong, unexplained };
}

export class Sender {
  /** The metric that it writes. */
  readonly metric: string;
  /** The time of each acknowledged batch. */
  readonly #timesMs: number[] = [];
  readonly #answers = new Map<string, number>();
  readonly #protocol: Protocol;
  readonly #next: SenderKind["next"];
  readonly windowMs: number;
  readonly #url: string;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #agent = new Agent({ keepAlive: true });

  constructor(url: string, kind: keyof typeof kinds) {
    this.#url = url;
    const { protocol, next, windowMs } = kinds[kind];
    this.#protocol = protocol();
    this.#next = next;
    this.windowMs = windowMs;
    this.metric = `crash_${kind}`;
    this.#running = this.#run();
    this.#running.catch(() => undefined);
  }

  get batches(): number {
    return this.#timesMs.length;
  }

  /** How often which status was answered. */
  get answers(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#answers);
  }

  /** Ends after the batch that is under way is acknowledged: the hub has to be there. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#agent.destroy();
  }

  /** What is acknowledged now, to be compared with what the hub returns later. Samples after `untilMs` are not looked at. */
  expectation(): Expectation {
    const expected = new Map<string, string>();
    const textOf = (batch: number, one: number, value: number): string =>
      this.#protocol.hasHistograms && isHistogram(one)
        ? histogramText(value, numberOf(batch, one))
        : String(value);
    for (const [batch, timeMs] of this.#timesMs.entries())
      for (let one = 0; one < series; one++) {
        const key = `${one}/${churnOf(batch, one)}`;
        expected.set(`${key}@${timeMs}`, textOf(batch, one, valueOf(batch, one)));
        if (isLate(batch))
          expected.set(`${key}@${timeMs - lateMs}`, textOf(batch, one, lateValueOf(batch, one)));
      }
    const [fromMs, untilMs] = [(this.#timesMs[0] ?? 0) - lateMs, this.#timesMs.at(-1) ?? 0];
    return { fromMs, untilMs, judge: (found) => compare(expected, found, untilMs) };
  }

  async #run(): Promise<void> {
    for (let batch = 0; !this.#stopping.signal.aborted; batch++) {
      const timeMs = this.#next(this.#timesMs.at(-1));
      const body = this.#protocol.encode(this.metric, batch, timeMs);
      for (;;) {
        const status = await this.#send(body);
        this.#answers.set(status, (this.#answers.get(status) ?? 0) + 1);
        if (status === "204") break;
        await sleep(status === "none" ? 15 : 40);
      }
      this.#timesMs.push(timeMs);
      await sleep(pauseMs);
    }
  }

  /** The status; "none" where nothing was answered. */
  #send(body: Buffer): Promise<string> {
    return new Promise((resolve) => {
      const sending = request(`${this.#url}${this.#protocol.path}`, {
        agent: this.#agent,
        method: "POST",
        headers: { ...this.#protocol.headers, "content-length": body.length },
        timeout: silenceMs,
      });
      sending.on("timeout", () => sending.destroy());
      sending.on("error", () => resolve("none"));
      sending.on("response", (answer) => {
        answer.resume();
        answer.on("close", () => resolve(answer.complete ? String(answer.statusCode) : "none"));
      });
      sending.end(body);
    });
  }
}
