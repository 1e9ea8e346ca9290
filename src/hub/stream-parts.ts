/** A text that is made in parts: one part goes out whole, many go one by one, with turns for others in between. */
import { Readable } from "node:stream";
import { setImmediate as afterOthers } from "node:timers/promises";

/** Made ahead of the reader: on a busy hub its turns are far apart. */
const aheadBytes = 8 * 2 ** 20;

/** A turn is as long as the wait for it was, and no shorter than this: where others take seconds, it would never be done. */
const leastMs = 20;

export function streamParts<Part extends string | Buffer>(
  parts: Iterable<Part>,
): Part | "" | Readable {
  const iterator = parts[Symbol.iterator]();
  const first = iterator.next();
  if (first.done === true) return "";
  const second = iterator.next();
  if (second.done === true) return first.value;
  const all = follow([first.value, second.value], iterator);
  return Readable.from(all, { objectMode: false, highWaterMark: aheadBytes });
}

async function* follow<Part extends string | Buffer>(
  begun: readonly Part[],
  rest: Iterator<Part>,
): AsyncGenerator<Part, void> {
  // A reader that has gone leaves at a yield: the producer of the parts learns of it.
  try {
    for (const part of begun) if (part.length > 0) yield part;
    for (;;) {
      const askedMs = performance.now();
      await afterOthers();
      const untilMs = performance.now() + Math.max(leastMs, performance.now() - askedMs);
      do {
        const next = rest.next();
        if (next.done === true) return;
        if (next.value.length > 0) yield next.value;
      } while (performance.now() < untilMs);
    }
  } finally {
    rest.return?.();
  }
}
