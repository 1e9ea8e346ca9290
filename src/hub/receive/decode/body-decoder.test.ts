import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildDecodeWorker } from "../../../../test/store/worker-file.ts";
import { anonymousClient } from "../../../base/fair/client-key.ts";
import { exportOf } from "../../../formats/otlp/encode/model.ts";
import { encodeOtlp } from "../../../formats/otlp/encode/protobuf.ts";
import { encodeWriteRequestV2 } from "../../../formats/remote-write/encode-v2.ts";
import { encodeWriteRequest } from "../../../formats/remote-write/encode.ts";
import { ownBatch, type SampleBatch, wordsOf } from "../../../formats/samples/batch.ts";
import { BatchBuilder } from "../../../formats/samples/builder.ts";
import { hashWords, LabelHasher } from "../../../formats/samples/label-hash.ts";
import { readLabelBlock } from "../../../formats/samples/labels.ts";
import { compressSnappy } from "../../../formats/snappy/compress.ts";
import { labelSet } from "../../../model/labels.ts";
import { IngestAdmission, type AdmissionHold } from "../admission.ts";
import { ReceiveError } from "../failure.ts";
import { BodyDecoder, defaultIngestWorkers } from "./body-decoder.ts";
import type { DecodeKind, DecodeKinds } from "./decoders.ts";

const nowMs = 1_790_000_000_000;
let folder: string;
let file: string;
let pooled: BodyDecoder;
let inline: BodyDecoder;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-decode-"));
  file = await buildDecodeWorker(folder);
  pooled = new BodyDecoder({ workers: 2, file });
  inline = new BodyDecoder({ workers: 0, file });
});
afterAll(async () => {
  await Promise.all([pooled.close(), inline.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** Two requests in progress: a single one would be decoded on the hub's thread. */
function holds(): [AdmissionHold, AdmissionHold] {
  const admission = new IngestAdmission();
  const make = (address: string): AdmissionHold => {
    const hold = admission.hold(anonymousClient(address), {});
    hold.begin();
    return hold;
  };
  return [make("10.0.0.1"), make("10.0.0.2")];
}

function batchOf(first: number, series: number, samplesEach = 1): SampleBatch {
  const builder = new BatchBuilder();
  for (let at = first; at < first + series; at++) {
    const index = builder.series(labelSet({ __name__: "power", gpu: String(at), host: "a" }));
    for (let sample = 0; sample < samplesEach; sample++)
      if ((at + sample) % 7 === 3) builder.addStale(index, nowMs + sample);
      else builder.add(index, nowMs + sample, at / 3 + sample);
  }
  builder.learn({ family: "power", type: "gauge", help: "Power.", unit: "" });
  return builder.finish();
}

/** Every sample with its labels and the bits of its value. */
function listed(batch: SampleBatch): string[] {
  const words = wordsOf(batch);
  return Array.from({ length: batch.sampleCount }, (_, at) => {
    const series = batch.sampleSeries[at] as number;
    const [start, end] = [batch.labelStarts[series] as number, batch.labelEnds[series] as number];
    const labels = JSON.stringify(readLabelBlock(batch.bytes, start, end));
    return `${labels} ${batch.times[at]} ${words[at * 2]} ${words[at * 2 + 1]}`;
  });
}

const write = (batch: SampleBatch): Buffer => compressSnappy(encodeWriteRequest(batch));
const lines = (count: number): Buffer =>
  Buffer.from(
    Array.from({ length: count }, (_, at) => `m,gpu=${at} a=${at}.5,b=2 ${nowMs}\n`).join(""),
  );

type Case = { [Kind in DecodeKind]: [Kind, DecodeKinds[Kind]["options"], Buffer] }[DecodeKind];
const cases: [string, Case][] = [
  ["remote-write 1.0", ["remote_write", { version: "1.0" }, write(batchOf(0, 1_500))]],
  [
    "remote-write 2.0",
    ["remote_write", { version: "2.0" }, compressSnappy(encodeWriteRequestV2(batchOf(0, 1_500)))],
  ],
  [
    "OTLP",
    [
      "otlp",
      { json: false },
      encodeOtlp(
        exportOf(batchOf(0, 900), () => undefined),
        "t",
      ),
    ],
  ],
  ["Influx line", ["influx", { unitMs: 1, nowMs, extra: ["db", "x"] }, lines(2_000)]],
  [
    "JSON",
    [
      "json",
      { nowMs },
      Buffer.from(
        JSON.stringify({
          metrics: Array.from({ length: 2_000 }, (_, at) => ({ name: `m${at}`, value: at })),
        }),
      ),
    ],
  ],
  [
    "samples of two bytes, more than the memory has room for",
    [
      "remote_write",
      { version: "1.0" },
      compressSnappy(
        Buffer.concat([
          Buffer.from([
            0x0a,
            0x80 | (400_014 & 0x7f),
            0x80 | ((400_014 >> 7) & 0x7f),
            400_014 >> 14,
          ]),
          Buffer.from([0x0a, 12, 0x0a, 8, ...Buffer.from("__name__"), 0x12, 0]),
          Buffer.alloc(400_000, Buffer.from([0x12, 0x00])),
        ]),
      ),
    ],
  ],
];

async function decodeWith(
  decoder: BodyDecoder,
  [kind, options, body]: Case,
): Promise<{ samples: string[]; rest: unknown; hasHashes: boolean }> {
  return decoder.decode(
    kind,
    Buffer.from(body),
    options,
    holds()[0],
    async (decoded) => {
      const { batch, ...rest } = decoded;
      const { metadata, droppedExemplars, refusedHistograms, seriesCount, sampleCount } = batch;
      const own = ownBatch(batch);
      return {
        samples: sampleCount > 10_000 ? [String(sampleCount)] : listed(own),
        rest: { ...rest, metadata, droppedExemplars, refusedHistograms, seriesCount, sampleCount },
        hasHashes: batch.labelHashes !== undefined,
      };
    },
    100_000,
  );
}

test.each(cases)("%s: a worker decodes what the hub's thread decodes", async (_, one) => {
  const [here, there] = [await decodeWith(inline, one), await decodeWith(pooled, one)];
  expect(there.samples).toEqual(here.samples);
  expect(there.rest).toEqual(here.rest);
  expect(here.hasHashes).toBe(false);
  expect(there.samples.length).toBeGreaterThan(0);
});

test("the worker's hashes of label blocks are those of the hub's thread", async () => {
  const [hold] = holds();
  const body = write(batchOf(0, 700));
  await pooled.decode(
    "remote_write",
    body,
    { version: "1.0" },
    hold,
    async ({ batch }) => {
      const { bytes, labelStarts, labelEnds, seriesCount } = batch;
      const own = new Uint32Array(seriesCount * hashWords);
      new LabelHasher().hashAll(bytes, labelStarts, labelEnds, seriesCount, own);
      expect(batch.labelHashes).toEqual(own);
      expect(batch.times.buffer).toBeInstanceOf(SharedArrayBuffer);
    },
    100_000,
  );
});

test("a refused body has the same response from a worker", async () => {
  const body = compressSnappy(Buffer.from([0x0a, 0x7f, 0x01]));
  const refusal = async (decoder: BodyDecoder): Promise<unknown> => {
    const decoding = decoder.decode(
      "remote_write",
      body,
      { version: "1.0" },
      holds()[0],
      async () => undefined,
      100_000,
    );
    return decoding.catch((thrown: unknown) => thrown);
  };
  const [here, there] = [await refusal(inline), await refusal(pooled)];
  expect(here).toBeInstanceOf(ReceiveError);
  expect(there).toMatchObject({ status: 400, outcome: "malformed_request" });
  expect((there as Error).message).toBe((here as Error).message);
});

test("memory is not used again before its batch is stored", async () => {
  const admission = new IngestAdmission();
  const stored = await Promise.all(
    Array.from({ length: 24 }, (_, at) => {
      const batch = batchOf(at * 100, 400 + at);
      const hold = admission.hold(anonymousClient(`10.0.0.${at % 3}`), {});
      hold.begin();
      return pooled.decode(
        "remote_write",
        write(batch),
        { version: "1.0" },
        hold,
        async (decoded) => {
          await new Promise((resolve) => setTimeout(resolve, 5 * (at % 5)));
          return [listed(decoded.batch), listed(batch)];
        },
        100_000,
      );
    }),
  );
  for (const [got, sent] of stored) expect(got).toEqual(sent);
});

test("requests of one connection are stored in their order", async () => {
  const [hold] = holds();
  const order: number[] = [];
  const options = { version: "1.0" } as const;
  // The second is small enough for the hub's thread, which decodes it first.
  await Promise.all(
    [3_000, 3, 1_000].map((series, at) =>
      pooled.decode(
        "remote_write",
        write(batchOf(0, series)),
        options,
        hold,
        async () => order.push(at),
        series * 100,
      ),
    ),
  );
  expect(order).toEqual([0, 1, 2]);
});

test("a lost thread costs its own request alone", async () => {
  const dying = path.join(folder, "dying.mjs");
  writeFileSync(
    dying,
    `
    import { parentPort } from "node:worker_threads";
    parentPort.on("message", ({ kind }) => kind === "json" ? process.exit(1) : parentPort.postMessage({ done: { refused: { status: 400, outcome: "malformed_request", message: "alive" } } }));
  `,
  );
  const decoder = new BodyDecoder({ workers: 1, file: dying });
  const decoding = (kind: "json" | "influx"): Promise<unknown> =>
    decoder
      .decode(kind, Buffer.alloc(40_000), { nowMs, unitMs: 1 }, holds()[0], async () => undefined)
      .catch((thrown: unknown) => (thrown as Error).message);
  expect(await Promise.all([decoding("json"), decoding("influx")])).toEqual([
    "the request takes too long or too much memory to decode: send less at a time",
    "alive",
  ]);
  await decoder.close();
});

test("a request alone, a small one, and all without workers are decoded on the hub's thread", async () => {
  const absent = new BodyDecoder({ workers: 0, file: path.join(folder, "absent.mjs") });
  const alone = new IngestAdmission().hold(anonymousClient("10.0.0.1"));
  const body = write(batchOf(0, 20));
  const options = { version: "1.0" } as const;
  const count = async ({ batch }: { batch: SampleBatch }): Promise<number> => batch.sampleCount;
  expect(await absent.decode("remote_write", body, options, holds()[0], count, 200_000)).toBe(20);
  const unstarted = new BodyDecoder({ workers: 2, file: path.join(folder, "absent.mjs") });
  expect(await unstarted.decode("remote_write", body, options, alone, count, 200_000)).toBe(20);
  expect(await unstarted.decode("remote_write", body, options, holds()[0], count, 900)).toBe(20);
});

test.each([
  [1, 0],
  [2, 0],
  [4, 3],
  [16, 4],
])("%d cores have %d ingest workers", (cores, workers) =>
  expect(defaultIngestWorkers(cores)).toBe(workers),
);

test.each([
  [384, 0],
  [1_024, 1],
  [8_192, 4],
])("a hub with %d MiB has %d ingest workers on sixteen cores", (mib, workers) =>
  expect(defaultIngestWorkers(16, mib * 2 ** 20)).toBe(workers),
);
