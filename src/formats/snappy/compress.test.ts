import { uncompress } from "snappyjs";
import { expect, test } from "vitest";
import { seededRandom } from "../../../test/fuzz/mutate.ts";
import { compressSnappy } from "./compress.ts";
import { decompressSnappy } from "./decompress.ts";

const random = seededRandom(3);
const noise = (length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
/** Runs, repeats and noise of every length, to reach every branch. */
const mixture = (length: number): Buffer => {
  const parts: Buffer[] = [];
  let made = 0;
  while (made < length) {
    const before = parts[Math.floor(random() * parts.length)];
    const part =
      random() < 0.4 || before === undefined
        ? noise(1 + Math.floor(random() * 300))
        : random() < 0.5
          ? before
          : Buffer.alloc(1 + Math.floor(random() * 200), Math.floor(random() * 256));
    parts.push(part);
    made += part.length;
  }
  return Buffer.concat(parts).subarray(0, length);
};

test.each([
  ["empty", Buffer.alloc(0)],
  ["one byte", Buffer.from("x")],
  ["fifteen bytes", Buffer.from("aaaaaaaaaaaaaaa")],
  ["text", Buffer.from("gpu_power_watts gpu_power_watts ".repeat(9_000))],
  ["noise", noise(200_000)],
  ["a run", Buffer.alloc(300_000, 7)],
  ["one fragment to the byte", mixture(65_536)],
  ["one byte more than a fragment", mixture(65_537)],
])("%s comes back as it went in, from the library and from ours", (_name, bytes) => {
  const packed = compressSnappy(bytes);
  expect(Buffer.from(uncompress(packed)).equals(bytes)).toBe(true);
  expect(Buffer.from(decompressSnappy(packed, 1e6)).equals(bytes)).toBe(true);
});

test("mixtures of every length come back as they went in", () => {
  for (let length = 0; length < 3_000; length += 7) {
    const bytes = mixture(length);
    expect(Buffer.from(uncompress(compressSnappy(bytes))).equals(bytes), `${length}`).toBe(true);
  }
});

test("what repeats becomes small, and what does not hardly grows", () => {
  const labels = Array.from(
    { length: 2_000 },
    (_, index) => `gpu_power_watts{gpu="${index % 8}",uuid="GPU-${index}"}`,
  );
  const bytes = Buffer.from(labels.join("\n"));
  expect(compressSnappy(bytes).length).toBeLessThan(bytes.length / 3);
  expect(compressSnappy(noise(50_000)).length).toBeLessThan(50_200);
});
