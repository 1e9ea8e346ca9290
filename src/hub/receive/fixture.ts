/** A server with every way in over a store in a temporary folder, and requests as real clients send them. For tests. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify, type FastifyInstance } from "fastify";
import protobuf from "protobufjs";
import { compress } from "snappyjs";
import { silentLog } from "../../base/log.ts";
import { addApi } from "../api/api.ts";
import { type EmbeddedStorage, openStorage } from "../storage.ts";
import { type IngestOutcome, ingestOutcomes, type ReceiverName } from "./receiver-counts.ts";

export const nowMs = 1_790_000_000_000;

export interface ReceiverFixture {
  readonly app: FastifyInstance;
  readonly storage: EmbeddedStorage;
  /** What a query gives now, one line a series. */
  query(expression: string): Promise<string[]>;
  /** What was counted since the last call, without zeros. */
  counted(way: ReceiverName): Partial<Record<IngestOutcome, number>>;
  close(): Promise<void>;
}

export async function openReceiverFixture(): Promise<ReceiverFixture> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-receive-"));
  const storage = await openStorage({
    dir: path.join(folder, "data"),
    retentionMs: 30 * 86_400_000,
    log: silentLog,
    nowMs: () => nowMs,
    version: "1.2.3",
  });
  const app = fastify({ forceCloseConnections: true });
  await addApi(app, storage.api);
  const before = new Map<string, number>();
  return {
    app,
    storage,
    query: async (expression) => {
      const { data } = await storage.history.instant(expression, nowMs);
      if (data.type !== "vector") throw new Error("BUG: this is for vectors");
      return data.samples.map(
        ({ labels, value }) =>
          `${labels.map(([name, text]) => `${name}=${text}`).join(",")} ${value}`,
      );
    },
    counted: (way) =>
      Object.fromEntries(
        ingestOutcomes.flatMap((outcome) => {
          const key = `${way} ${outcome}`;
          const now = storage.api.received.count(way, outcome);
          const gained = now - (before.get(key) ?? 0);
          before.set(key, now);
          return gained === 0 ? [] : [[outcome, gained]];
        }),
      ),
    close: async () => {
      await app.close();
      await storage.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const { root } = protobuf.parse(
  `syntax = "proto3";
message V1 { repeated T1 timeseries = 1; }
message T1 { repeated L labels = 1; repeated S samples = 2; }
message L { string name = 1; string value = 2; }
message S { double value = 1; int64 timestamp = 2; }
message V2 { repeated string symbols = 4; repeated T2 timeseries = 5; }
message T2 { repeated uint32 labels_refs = 1; repeated S samples = 2; repeated H histograms = 3; repeated E exemplars = 4; M metadata = 5; }
message H { double sum = 3; }
message E { double value = 2; }
message M { int32 type = 1; uint32 help_ref = 3; uint32 unit_ref = 4; }`,
  { keepCase: true },
);

export interface SentSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly (readonly [timeMs: number, value: number])[];
  readonly rest?: object;
}

const samplesOf = ({ samples }: SentSeries): object[] =>
  samples.map(([timestamp, value]) => ({ timestamp, value }));

const packed = (type: "V1" | "V2", message: object): Buffer => {
  const found = root.lookupType(type);
  return Buffer.from(compress(found.encode(found.fromObject(message)).finish()));
};

export const writeV1 = (series: readonly SentSeries[]): Buffer =>
  packed("V1", {
    timeseries: series.map((each) => ({
      labels: Object.entries(each.labels).map(([name, value]) => ({ name, value })),
      samples: samplesOf(each),
    })),
  });

export function writeV2(series: readonly SentSeries[], symbols: string[] = [""]): Buffer {
  const ref = (text: string): number => {
    const at = symbols.indexOf(text);
    return at < 0 ? symbols.push(text) - 1 : at;
  };
  const timeseries = series.map((each) => ({
    labels_refs: Object.entries(each.labels).flatMap(([name, value]) => [ref(name), ref(value)]),
    samples: samplesOf(each),
    ...each.rest,
  }));
  return packed("V2", { symbols, timeseries });
}

export const v1Headers = {
  "content-type": "application/x-protobuf",
  "content-encoding": "snappy",
  "x-prometheus-remote-write-version": "0.1.0",
};
export const v2Headers = {
  ...v1Headers,
  "content-type": "application/x-protobuf;proto=io.prometheus.write.v2.Request",
  "x-prometheus-remote-write-version": "2.0.0",
};
