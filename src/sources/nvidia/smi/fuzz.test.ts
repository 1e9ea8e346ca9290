import { expect, test } from "vitest";
import { fuzz, fuzzInputs, fuzzTimeoutMs } from "../../../../test/fuzz/mutate.ts";
import { readProcessSamples, readProcesses } from "../nvml/structs.ts";
import { ownCapture } from "../../../../test/fixtures/sources/nvidia-smi.ts";
import type { SmiGpu } from "./gpu.ts";
import { parsePmon } from "./pmon.ts";
import { parseSmiXml } from "./query-xml.ts";
import { parseTopo } from "./topo.ts";

/** Checks that the parser's result is well-formed, whatever the input was. */
function check(gpus: readonly SmiGpu[]): void {
  for (const { device, readings } of gpus) {
    expect(device.uuid).not.toBe("");
    for (const { cell } of readings)
      if (typeof cell === "number" && !Number.isFinite(cell))
        throw new Error(`${cell} is no reading`);
  }
}

/** The capture without its long list of supported clocks, which is not read. */
const xml = ownCapture("load.q.xml").replace(/<supported_clocks>[\s\S]*<\/supported_clocks>/, "");

test(
  "no damaged XML makes the parser throw, hang or give a number that is none",
  { timeout: fuzzTimeoutMs },
  async () => {
    const parse = (bytes: Buffer): void => check(parseSmiXml(bytes.toString("utf8")));
    expect(await fuzz({ seed: 11, samples: [xml], parse })).toBe(fuzzInputs);
  },
);

const finite = (values: Iterable<number>): void => {
  for (const value of values)
    if (!Number.isFinite(value)) throw new Error(`${value} is no reading`);
};

test.for<[name: string, capture: string, parse: (text: string) => unknown]>([
  ["pmon table", "load.pmon.txt", (text) => finite(parsePmon(text).values())],
  ["topology", "topo-m.txt", parseTopo],
])(
  "no damaged %s makes its parser throw or hang",
  { timeout: fuzzTimeoutMs },
  async ([, capture, parse]) => {
    const samples = [ownCapture(capture)];
    const read = (bytes: Buffer): unknown => parse(bytes.toString("utf8"));
    expect(await fuzz({ seed: 15, samples, parse: read })).toBe(fuzzInputs);
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
