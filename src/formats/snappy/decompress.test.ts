import { compress, uncompress } from "snappyjs";
import { expect, test } from "vitest";
import { fuzzInputs, fuzzTimeoutMs, mutate, seededRandom } from "../../../test/fuzz/mutate.ts";
import { decompressSnappy, SnappyError } from "./decompress.ts";

const text = Buffer.from(
  "gpu_power_watts gpu_power_watts gpu_power_watts ".repeat(2_000) + "the end",
);
const noise = Buffer.from(
  Array.from({ length: 70_000 }, (_, index) => (index * 2_654_435_761) >>> 24),
);

test.each([
  ["empty", Buffer.alloc(0)],
  ["one byte", Buffer.from("x")],
  ["text", text],
  ["noise", noise],
  ["a run", Buffer.alloc(100_000, 7)],
])("%s comes back as it went in", (_name, bytes) => {
  expect(Buffer.from(decompressSnappy(compress(bytes), 1e6)).equals(bytes)).toBe(true);
});

test("a block that says it is larger than allowed is refused before memory is taken", () => {
  expect(() => decompressSnappy(compress(text), 1_000)).toThrow(SnappyError);
  expect(() => decompressSnappy(Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]), 1e6)).toThrow(
    "more than the 1000000 allowed",
  );
  expect(() => decompressSnappy(Buffer.from([0xc0, 0x84, 0x3d, 0, 0]), 1e6)).toThrow(
    "it cannot be 1000000 bytes uncompressed",
  );
});

test(
  "broken input ends in the same bytes as the library gives, or in our error",
  () => {
    const random = seededRandom(7);
    const sample = Buffer.from(compress(text.subarray(0, 3_000)));
    for (let count = 0; count < fuzzInputs; count++) {
      const input = mutate([sample], random);
      let ours: Uint8Array | undefined;
      try {
        ours = decompressSnappy(input, 1e6);
      } catch (thrown) {
        if (!(thrown instanceof SnappyError)) throw thrown;
      }
      if (ours !== undefined && !Buffer.from(ours).equals(Buffer.from(uncompress(input)))) {
        throw new Error(`another answer than the library's for ${input.toString("base64")}`);
      }
    }
  },
  fuzzTimeoutMs,
);
