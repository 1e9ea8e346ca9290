import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { frameBytes, sealFrame } from "../../../base/state/record.ts";
import { segmentFile } from "./log.ts";
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
