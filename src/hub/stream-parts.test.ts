import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { streamParts } from "./stream-parts.ts";

test("one part goes out whole, none is an empty text", () => {
  expect(streamParts(["all of it"])).toBe("all of it");
  expect(streamParts([])).toBe("");
});

test("many parts come in their order, with turns for others between them", async () => {
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  const parts = Array.from({ length: 200 }, (_, at) => (at % 3 === 0 ? "" : `part ${at} é\n`));
  const made = streamParts(
    (function* () {
      for (const part of parts) {
        for (const until = performance.now() + 1; performance.now() < until;);
        yield part;
      }
    })(),
  );
  expect(made).toBeInstanceOf(Readable);
  expect(await text(made as Readable)).toBe(parts.join(""));
  clearInterval(counting);
  expect(turns).toBeGreaterThan(5);
});

test("the producer of the parts learns when the reader is gone", async () => {
  let left = false;
  const made = streamParts(
    (function* () {
      try {
        for (;;) yield "more";
      } finally {
        left = true;
      }
    })(),
  ) as Readable;
  for await (const _part of made) break;
  await expect.poll(() => left).toBe(true);
});
