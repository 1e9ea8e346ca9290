import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { frameBytes, sealFrame } from "../../../base/state/record.ts";
import { segmentFile } from "./log.ts";
import { noHistograms, samplesBound, writeSamples, writeSeries } from "./records.ts";
import { replayLog } from "./replay.ts";

test("a last record that ends in megabytes of zeros is read whole: they may be its values", () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-replay-"));
  try {
    const segment = Buffer.alloc(16 * 2 ** 20);
    segment[frameBytes] = 0xff;
    sealFrame(segment, 0, 5 * 2 ** 20, 7);
    writeFileSync(segmentFile(dir, 1), segment);
    const nothing = (): void => undefined;
    const handler = new Proxy({}, { get: () => nothing }) as Parameters<typeof replayLog>[1];
    expect(replayLog({ dir, fromSegment: 1, storeId: "0123456789abcdef" }, handler)).toMatchObject({
      records: 1,
      tornTail: false,
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test("samples lost before a record of series are counted by the next record of samples", () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-replay-"));
  try {
    const segment = Buffer.alloc(4_096);
    let [end, sequence, logged] = [0, 1, 0];
    const seal = (bytes: number): number => {
      const at = end;
      end = sealFrame(segment, at, bytes, sequence++);
      return at;
    };
    const series = (): number =>
      seal(writeSeries(segment, end + frameBytes, [1], [[["__name__", "a"]]]));
    const samples = (n: number): number => {
      const values = new Float64Array(n);
      const words = new Uint32Array(values.buffer);
      const columns = {
        n,
        refs: new Uint32Array(n),
        times: new Float64Array(n),
        values,
        words,
        histograms: [],
        encoded: noHistograms,
      };
      expect(end + samplesBound(n)).toBeLessThan(segment.length);
      logged += n;
      return seal(writeSamples(segment, end + frameBytes, columns, logged - n, new Uint8Array(0)));
    };
    series();
    samples(2);
    const damaged = samples(3);
    series();
    samples(4);
    const at = damaged + frameBytes + 20;
    segment.writeUInt8(segment.readUInt8(at) ^ 1, at);
    writeFileSync(segmentFile(dir, 1), segment);
    const nothing = (): void => undefined;
    const handler = new Proxy({}, { get: () => nothing }) as Parameters<typeof replayLog>[1];
    const replayed = replayLog({ dir, fromSegment: 1, storeId: "0123456789abcdef" }, handler);
    expect(replayed).toMatchObject({ records: 4, lostSamples: 3 });
    expect(replayed.lost.join("\n")).toContain(", 3 samples");
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
