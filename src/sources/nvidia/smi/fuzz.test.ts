import { expect, test } from "vitest";
import { fuzz, fuzzInputs, fuzzTimeoutMs } from "../../../../test/fuzz/mutate.ts";
import { readProcessSamples, readProcesses } from "../nvml/structs.ts";
import { ownCapture } from "./fixture.ts";
import type { SmiGpu } from "./gpu.ts";
import { parseSmiCsv } from "./query-csv.ts";
import { parseSmiXml } from "./query-xml.ts";

/** Whatever the bytes were, what comes out is well formed. */
function check(gpus: readonly SmiGpu[]): void {
  for (const { device, readings } of gpus) {
    expect(device.uuid).not.toBe("");
    for (const { cell } of readings)
      if (typeof cell === "number" && !Number.isFinite(cell))
        throw new Error(`${cell} is no reading`);
  }
}

/** The capture with its long list of clocks cut out: what is left is what is read. */
const xml = ownCapture("load.q.xml").replace(/<supported_clocks>[\s\S]*<\/supported_clocks>/, "");

test(
  "no damaged XML makes the parser throw, hang or give a number that is none",
  { timeout: fuzzTimeoutMs },
  async () => {
    const parse = (bytes: Buffer): void => check(parseSmiXml(bytes.toString("utf8")));
    expect(await fuzz({ seed: 11, samples: [xml], parse })).toBe(fuzzInputs);
  },
);

test(
  "no damaged CSV makes the parser throw, hang or give a number that is none",
  { timeout: fuzzTimeoutMs },
  async () => {
    const parse = (bytes: Buffer): void => check(parseSmiCsv(bytes.toString("utf8")));
    expect(await fuzz({ seed: 12, samples: [ownCapture("load.query.csv")], parse })).toBe(
      fuzzInputs,
    );
  },
);

test(
  "no bytes NVML could leave behind make the process lists throw",
  { timeout: fuzzTimeoutMs },
  async () => {
    const parse = (bytes: Buffer): void => {
      readProcesses(bytes, bytes[0] ?? 0, 24);
      readProcesses(bytes, bytes[0] ?? 0, 16);
      readProcessSamples(bytes, bytes[0] ?? 0);
    };
    expect(await fuzz({ seed: 13, samples: [Buffer.alloc(240, 1)], parse })).toBe(fuzzInputs);
  },
);
