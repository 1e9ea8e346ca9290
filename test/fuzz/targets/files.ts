// Files on disk, and data from logs and stores: our own files after damage, and the output of other programs.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import zlib from "node:zlib";

import { credentialsOf, influxCredentials } from "../../../src/access/credentials.ts";
import { looksLikeToken } from "../../../src/access/token.ts";
import { formatOf } from "../../../src/formats/exposition/parse.ts";
import { devices, someLayout } from "../../fixtures/formats/frames.ts";
import { BinaryDecoder, BinaryEncoder } from "../../../src/formats/message/binary.ts";
import { MessageDecoder } from "../../../src/formats/message/decode.ts";
import { MessageEncoder } from "../../../src/formats/message/encode.ts";
import { decodeClaims, encodeClaims } from "../../../src/net/kafka/assignor.ts";
import { acceptsGzip, negotiateFormat } from "../../../src/formats/prometheus/negotiate.ts";
import { ProtoError } from "../../../src/formats/protobuf/reader.ts";
import { openArchive } from "../../../src/formats/run/archive.ts";
import { readResponse, readResult } from "../../../src/storage/remote/response.ts";
import { readExport } from "../../../src/storage/remote/export-lines.ts";
import { decodeReadResponse } from "../../../src/storage/remote/remote-read.ts";
import { parseRecord as parseAgent } from "../../../src/hub/agents/record.ts";
import { cookieOf, sessionOf } from "../../../src/hub/auth/cookie.ts";
import { readPayload } from "../../../src/hub/events/payload.ts";
import { parseStoredPipe } from "../../../src/hub/pipes/spec.ts";
import { LakeFileError, openBytes, type ParquetFile } from "../../../src/lake/decode.ts";
import { encodeRows } from "../../../src/lake/encode.ts";
import { silentLog } from "../../../src/base/log.ts";
import { labelSet } from "../../../src/model/labels.ts";
import { connectPacket, publishPacket, readPacket } from "../../../src/net/mqtt/packets.ts";
import { FakeClock } from "../../fixtures/fake-clock.ts";
import { openSpool } from "../../../src/pipeline/spool/open.ts";
import { encodeRecord, readSegment, segmentFile } from "../../../src/pipeline/spool/segment.ts";
import { QueryError } from "../../../src/query/errors.ts";
import { parseEntry } from "../../../src/runs/jobs/entry.ts";
import { packRun, unpackRun } from "../../../src/runs/file/file.ts";
import { fixtureRun } from "../../fixtures/runs/runs.ts";
import { readPartial } from "../../../src/runs/record/partial.ts";
import { readTrace } from "../../../src/formats/run/trace.ts";
import { parsePhases, parseTrace } from "../../../bench/sim-compare/trace.ts";
import { frameBytes, framedBytes, scanFrames, sealFrame } from "../../../src/base/state/record.ts";
import { StateMap } from "../../../src/base/state/state-map.ts";
import {
  BlockDamagedError,
  type Footer,
  readFooter,
} from "../../../src/storage/embedded/blocks/format.ts";
import {
  parseDirectory,
  parsePageTable,
  parseTimebases,
} from "../../../src/storage/embedded/blocks/directory.ts";
import { decodeColumn } from "../../../src/storage/embedded/codec/decode.ts";
import { encodeColumn, encodedBound } from "../../../src/storage/embedded/codec/encode.ts";
import { histogramBytes } from "./histogram-seed.ts";
import { decodeSamples } from "../../../src/storage/embedded/codec/histogram-decode.ts";
import { StoreError } from "../../../src/storage/embedded/error.ts";
import { readManifest } from "../../../src/storage/embedded/files/manifest.ts";
import { parseHolder } from "../../../src/base/state/lock-holder.ts";
import { openSeriesLog } from "../../../src/storage/embedded/files/read-series-log.ts";
import { LabelIndex } from "../../../src/storage/embedded/index/index.ts";
import { readRecord, seriesBound, writeSeries } from "../../../src/storage/embedded/wal/records.ts";
import { isLoadgenDetail, parseLoadgenDetail } from "../../../src/runs/results/loadgen.ts";
import { parseServingResult } from "../../../src/runs/results/serving.ts";
import { parseSnapshot } from "../../../src/runs/snapshot/parse.ts";
import { parsePreferences } from "../../../src/view/preferences.ts";
import type { FuzzTarget } from "../contract.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-fuzz-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** A folder with only this file. */
function freshFolder(name: string, file: string, bytes: Uint8Array): string {
  const dir = path.join(folder, name);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  writeFileSync(path.join(dir, file), bytes);
  return dir;
}

/** Adds correct checksums to mutated payloads, so that the code behind the check is reached; the first byte determines the cut. */
function sealed(bytes: Buffer): Buffer {
  const cut = Math.min(bytes.length, (bytes[0] ?? 0) * 4);
  return Buffer.concat([bytes.subarray(0, cut), bytes.subarray(cut)].map(framedAs));
}

/** Splits one input into several payloads: a byte is the length of each, a zero takes the rest. */
function piecesOf(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes[at] ?? 0;
    const end = length === 0 ? bytes.length : Math.min(bytes.length, at + 1 + length);
    pieces.push(bytes.subarray(at + 1, end));
    at = end;
  }
  return pieces;
}

function framedAs(payload: Buffer, sequence: number): Buffer {
  const framed = Buffer.alloc(framedBytes(payload.length));
  framed.set(payload, frameBytes);
  sealFrame(framed, 0, payload.length, sequence);
  return framed;
}

const layout = someLayout();
const reported = {
  frame: {
    timeMs: 1_790_000_000_000,
    layout,
    values: Float64Array.from(layout.series, (_, at) => at),
    presence: new Uint8Array(layout.series.length),
  },
  devices,
  host: "lab",
};
const messages = new MessageDecoder();
const binary = new BinaryDecoder();

const run = fixtureRun({ seconds: 1, samplingMs: 500 });
const packed = (await packRun(run)).bytes;
const { entries } = await openArchive(packed, "fixture");
const trace = Buffer.from(entries.get("trace.parquet") ?? []);

const lakeRows = 12;
const someText = (name: string, ...dictionary: readonly string[]) => ({
  name,
  dictionary,
  index: Int32Array.from({ length: lakeRows }, (_, at) => at % dictionary.length),
});
const lakeFile = Buffer.from(
  await encodeRows(
    {
      table: "series",
      count: lakeRows,
      times: Float64Array.from({ length: lakeRows }, (_, at) => 1_790_000_000_000 + at * 1_000),
      texts: [someText("name", "a", "b"), someText("labels", "{}"), someText("uuid", "GPU-a")],
      numbers: [
        {
          name: "value",
          values: Float64Array.from({ length: lakeRows }, (_, at) => at / 3),
          present: new Uint8Array(lakeRows).fill(1),
        },
      ],
    },
    { version: "1.2.3" },
  ),
);
/** The footer, its length and the magic bytes at the end. */
const lakeFooterBytes = lakeFile.readUInt32LE(lakeFile.length - 8) + 8;

/** Reads every row, as a merge does. */
async function readAll(file: ParquetFile): Promise<void> {
  for (const [from, to] of file.groups) await file.rows(from, to);
}

const labels = [labelSet({ __name__: "up", job: "a" }), labelSet({ __name__: "x" })];
const seriesRecord = Buffer.alloc(seriesBound(labels));
const seriesBytes = seriesRecord.subarray(0, writeSeries(seriesRecord, 0, [1, 2], labels));

const seriesPayloads = [Buffer.of(1, 0, 2, 1, 97, 1, 98), Buffer.of(2, 1, 2, 1, 0, 1)];
const textSeries = Buffer.of(4, 0x81, 0x80, 0, 4, 1, 0, 1, 97, 0, 1, 99);
/** Two series of the same shape; the second shares a byte of its value. */
const sharingSeries = Buffer.from("0682800004000100000161000002636402010100010165", "hex");
const seriesLog = Buffer.concat(seriesPayloads.map(framedAs));

/** Also writes to the log: what was read must be usable for further writes. */
function readSeriesLog(bytes: Buffer): void {
  const dir = freshFolder("series", "series-1.log", bytes);
  const index = new LabelIndex();
  const options = { storeId: "0123456789abcdef", number: 1, requireLock: () => undefined };
  const { log } = openSeriesLog({ file: path.join(dir, "series-1.log"), ...options }, index, 0);
  const refs = [...index.all()];
  for (const ref of refs) index.labels(ref);
  log.add(index, refs);
  log.drop(refs);
  index.dropAll(refs);
  log.close();
}

const values = new Float64Array(16);
const words = new Uint32Array(values.buffer);
const column = Buffer.alloc(encodedBound(16));
values.set([1, 2, 3.5, 4, 5, 6, 7, Number.NaN, 9, 10, 11.25, 12, 13, 14, 15, 16]);
const columnBytes = Buffer.from(
  column.subarray(0, encodeColumn(values, words, 0, 16, column, 0, false)),
);

const spoolRecord = Buffer.alloc(256);
const spoolBytes = spoolRecord.subarray(
  0,
  encodeRecord(spoolRecord, {
    position: 1,
    timeMs: 1_790_000_000_000,
    samples: 3,
    bytes: Buffer.from("frame"),
  }),
);

const answerOf = (body: Buffer, status: number) => ({
  status,
  headers: {},
  body,
  url: "http://127.0.0.1/",
});
const refusing = (bytes: Buffer, ...reads: ((bytes: Buffer) => unknown)[]): void => {
  for (const read of reads)
    try {
      read(bytes);
    } catch (thrown) {
      if (!(thrown instanceof RangeError || thrown instanceof BlockDamagedError)) throw thrown;
    }
};
const footer = { series: 8, pages: 2, timebases: 2 } as unknown as Footer;

export const targets: readonly FuzzTarget[] = [
  {
    name: "snapshot-json",
    seeds: [
      '{"format":"gpulse-snapshot","version":1,"takenMs":1790000000000,"host":"a","facts":{"gpus":[]},"missing":{}}',
      '{"schema":"gpulse.stats/1"}',
    ],
    parse: (bytes) => parseSnapshot(bytes.toString(), "a.json"),
  },
  {
    name: "benchmark-result",
    seeds: ["loadgen-server-tokens.txt", "guidellm.json"].map((name) =>
      readFileSync(new URL(`../../fixtures/results/${name}`, import.meta.url)),
    ),
    cost: 5,
    parse: (bytes) => {
      const text = bytes.toString();
      return isLoadgenDetail(text) ? parseLoadgenDetail(text) : parseServingResult(text);
    },
  },
  {
    name: "run-archive",
    seeds: [packed],
    cost: 20,
    parse: (bytes) => unpackRun(bytes, "a.gpulserun"),
  },
  {
    name: "run-trace",
    seeds: [trace],
    cost: 20,
    parse: (bytes) => readTrace(bytes, "trace", { cells: 1_000_000, bytes: 16 * 1024 * 1024 }),
  },
  {
    name: "lake-parquet",
    seeds: [trace, lakeFile],
    refuses: [LakeFileError],
    cost: 20,
    parse: async (bytes) => readAll(await openBytes(bytes, "a.parquet")),
  },
  {
    name: "lake-parquet-pages",
    seeds: [lakeFile.subarray(4, lakeFile.length - lakeFooterBytes)],
    refuses: [LakeFileError],
    cost: 20,
    // The footer is valid: only the pages it describes are mutated.
    parse: async (bytes) => {
      const harmed = Buffer.from(lakeFile);
      bytes.copy(harmed, 4, 0, lakeFile.length - lakeFooterBytes - 4);
      return readAll(await openBytes(harmed, "a.parquet"));
    },
  },
  {
    name: "run-broken-off",
    seeds: [
      '{"layout":0,"uuid":"GPU-a","columns":["power","temperature"]}\n[0,1790000000000,1.5,null]\n[0,1790000000100,2,60]\n',
    ],
    cost: 4,
    parse: (bytes) => {
      const dir = freshFolder("partial", "trace.jsonl", bytes);
      writeFileSync(path.join(dir, "run.json"), JSON.stringify(run.run));
      return readPartial(dir);
    },
  },
  {
    name: "recorded-trace",
    seeds: [
      '[{"phase":"idle","start_ms":0,"end_ms":10}]',
      "time_ms,utilization,memory_utilization,memory_bytes,celsius,watts,sm_hertz,throttle\n1,2,3,4,5,6,7,0x4\n",
    ],
    refuses: [Error, SyntaxError],
    parse: (bytes) => {
      const text = bytes.toString();
      return text.startsWith("[") ? parsePhases(text) : parseTrace(text);
    },
  },
  {
    name: "kafka-message",
    seeds: [
      ...new MessageEncoder().encode(reported).map(({ value }) => value),
      ...new BinaryEncoder("1").encode(reported, "sim").map(({ value }) => value),
    ],
    parse: (bytes) => [messages.decode(bytes), binary.decode(bytes, [])],
  },
  {
    name: "kafka-claims",
    seeds: [encodeClaims({ generation: 7, owned: { gpu: [0, 3] } })],
    parse: (bytes) => decodeClaims(bytes),
  },
  {
    name: "mqtt-packet",
    seeds: [
      Buffer.of(0x20, 2, 0, 0),
      Buffer.of(0x40, 2, 0, 1),
      connectPacket({ clientId: "a", username: "u", password: undefined, keepAliveSeconds: 30 }),
      publishPacket({ topic: "a/b", payload: Buffer.from("x"), packetId: 1, retain: false }),
    ],
    refuses: [RangeError],
    parse: (bytes) => readPacket(bytes),
  },
  {
    name: "store-log-record",
    seeds: [seriesBytes],
    refuses: [RangeError],
    parse: (bytes) => {
      // Aligned to 8 bytes, as when the log is read: a view on it requires that.
      const payload = Buffer.from(new Uint8Array(bytes).buffer);
      readRecord(payload, { series: () => undefined, samples: () => undefined });
    },
  },
  {
    name: "store-column",
    seeds: [columnBytes],
    refuses: [RangeError],
    parse: (bytes) => {
      const into = new Float64Array(16);
      return decodeColumn(bytes, 0, 16, into, new Uint32Array(into.buffer), 0);
    },
  },
  {
    name: "store-histograms",
    seeds: [histogramBytes],
    refuses: [RangeError],
    parse: (bytes) => {
      const into = new Float64Array(16);
      return decodeSamples(bytes, 0, 16, into, new Uint32Array(into.buffer), 0, [], "checked");
    },
  },
  {
    name: "store-block",
    seeds: [Buffer.of(4, 4, ...Array.from({ length: 24 }, (_, at) => at % 3)), Buffer.alloc(40, 1)],
    parse: (bytes) =>
      refusing(
        bytes,
        (given) => parseDirectory(given, footer),
        (given) => parseTimebases(given, footer),
        (given) => parsePageTable(given, footer, 64),
        readFooter,
      ),
  },
  {
    name: "store-manifest",
    refuses: [StoreError],
    seeds: ['{"version":1,"nextBlock":2,"blocks":[1],"walFrom":3,"seriesLog":1,"tombstones":[]}'],
    cost: 4,
    parse: (bytes) => {
      const line = `${bytes.toString().replaceAll("\n", " ")}\n`;
      const whole = Buffer.from(`${line}${zlib.crc32(line).toString(16)}\n`);
      return [bytes, whole].map((given) =>
        readManifest(freshFolder("manifest", "manifest.json", given)),
      );
    },
  },
  {
    name: "store-series-log",
    seeds: [seriesLog],
    cost: 4,
    parse: (bytes) => readSeriesLog(bytes),
  },
  {
    name: "store-series-forged",
    seeds: [...seriesPayloads, textSeries, sharingSeries].map((payload) =>
      Buffer.concat([Buffer.of(0), payload]),
    ),
    cost: 4,
    // Checksums are correct for any content: a valid record, then payloads from the input.
    parse: (bytes) =>
      readSeriesLog(
        Buffer.concat([...seriesPayloads, ...piecesOf(bytes)].map((one, at) => framedAs(one, at))),
      ),
  },
  {
    name: "folder-lock",
    seeds: ["4242 77 pid:[4026531836] 5b1f-boot gpu-07 00ff00ff00ff00ff socket\n", "4242 77\n"],
    parse: (bytes) => parseHolder(bytes.toString("latin1")),
  },
  {
    name: "state-log",
    seeds: [
      Buffer.from('["put","key",{"a":1}]'),
      sealed(Buffer.from('\u0005["put","key",{"a":1}]')),
    ],
    cost: 4,
    parse: (bytes) => {
      scanFrames(bytes, () => undefined);
      for (const given of [bytes, sealed(bytes)]) {
        const dir = freshFolder("state", "a.log", given);
        const map = new StateMap(path.join(dir, "a.log"), {
          log: silentLog,
          parse: (value) => value,
        });
        map.close();
      }
    },
  },
  {
    name: "spool",
    seeds: [spoolBytes, Buffer.concat([spoolBytes, spoolBytes])],
    cost: 8,
    parse: (bytes) => {
      const dir = freshFolder("spool", path.basename(segmentFile("", 1)), bytes);
      readSegment(dir, 1, 0, 0);
      return openSpool({
        dir,
        maxBytes: 1e6,
        maxAgeMs: 1e9,
        clock: new FakeClock(0),
        log: silentLog,
      }).close();
    },
  },
  {
    name: "remote-answers",
    seeds: [
      '{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1790000000,"1.5"]}]}}',
      '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1790000000,"NaN"]]}]},"warnings":["w"]}',
      '{"metric":{"__name__":"a"},"values":[1.5,null],"timestamps":[1,2]}\n',
      '{"status":"error","errorType":"bad_data","error":"no"}',
    ],
    parse: (bytes) => {
      for (const read of [
        () => readResponse(answerOf(bytes, 200)),
        () => readResult(answerOf(bytes, 200)),
        () => readResult(answerOf(bytes, 422)),
        () => readExport(bytes),
      ])
        try {
          read();
        } catch (thrown) {
          if (!(thrown instanceof StoreError || thrown instanceof QueryError)) throw thrown;
        }
    },
  },
  {
    name: "remote-read",
    seeds: [
      Buffer.from(
        "0a2a0a280a0e0a085f5f6e616d655f5f12027570120b09000000000000f03f1001120b0900000000000000401002",
        "hex",
      ),
    ],
    refuses: [ProtoError],
    parse: (bytes) => decodeReadResponse(bytes),
  },
  {
    name: "webhook-and-records",
    seeds: [
      '{"version":"4","status":"firing","receiver":"r","groupKey":"g","groupLabels":{},"commonLabels":{},"commonAnnotations":{},"externalURL":"http://a","alerts":[{"status":"firing","labels":{"alertname":"Hot"},"annotations":{},"startsAt":"2026-01-02T12:00:00Z","endsAt":"0001-01-01T00:00:00Z","fingerprint":"ab"}]}',
      '{"name":"a","from":["sim:1xH200"],"to":["hub:"],"options":{"speed":"max"}}',
      '{"agent":"lab:9400","host":"lab","version":"1","firstMs":1,"lastMs":2}',
      '["ticks",[{"uuid":"GPU-1","host":"lab","gpu":0,"model":"H200","simulated":true,"timeMs":1,"joules":2,"meter":"hardware"}]]',
    ],
    refuses: [SyntaxError],
    parse: (bytes) => {
      const value: unknown = JSON.parse(bytes.toString());
      return [readPayload(value), parseStoredPipe(value), parseAgent(value), parseEntry(value)];
    },
  },
  {
    name: "request-headers",
    seeds: [
      "Bearer gpulse_admin_abc",
      "Basic YTpi",
      "Token user:secret",
      "__Host-gpulse_session=abcdefghijabcdefghijabcdefghijabcdefghijabc; b=c",
      "application/openmetrics-text; version=1.0.0; charset=utf-8;q=0.5,*/*;q=0.1",
      "gzip, deflate;q=0",
      "u=a&p=b",
      "a=1; gpulse_look=dark.compact",
    ],
    parse: (bytes) => {
      const text = bytes.toString("latin1");
      return [
        parsePreferences(text),
        credentialsOf(text),
        influxCredentials(new URLSearchParams(text)),
        sessionOf(text, true),
        cookieOf("login", text, false),
        looksLikeToken(text),
        negotiateFormat(text),
        acceptsGzip(text),
        formatOf(text),
      ];
    },
  },
];
