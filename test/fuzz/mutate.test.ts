import { expect, test } from "vitest";

import { GpulseError } from "../../src/base/error.ts";
import { fuzz, mutate, seededRandom } from "./mutate.ts";

test("the same seed makes the same inputs, another seed others", () => {
  const samples = [Buffer.from("gpu: 0, power: 42 W"), Buffer.from("{}")];
  const make = (seed: number): string[] => {
    const random = seededRandom(seed);
    return Array.from({ length: 50 }, () => mutate(samples, random).toString("hex"));
  };
  expect(make(1)).toEqual(make(1));
  expect(make(1)).not.toEqual(make(2));
  expect(new Set(make(1)).size).toBeGreaterThan(40);
});

test("a parser that throws anything but a GpulseError is found, with the input that did it", async () => {
  const careless = (bytes: Buffer): unknown => JSON.parse(bytes.toString());
  const run = fuzz({ seed: 3, samples: ['{"a": [1, 2]}'], parse: careless, inputs: 200 });
  await expect(run).rejects.toThrow(/seed 3: SyntaxError.*base64/s);
});

test("a parser that refuses with a GpulseError is fine", async () => {
  const refusing = (): never => {
    throw new GpulseError("USAGE", "No.");
  };
  expect(await fuzz({ seed: 4, samples: ["x"], parse: refusing, inputs: 100 })).toBe(100);
});

test("a parser that hangs on an input is found", async () => {
  let clockMs = 0;
  const run = fuzz({
    seed: 5,
    samples: ["x"],
    parse: () => {
      clockMs += 5_000;
    },
    inputs: 10,
    nowMs: () => clockMs,
  });
  await expect(run).rejects.toThrow("took too long");
});
