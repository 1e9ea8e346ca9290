/**
 * Streams a text that is generated in parts: a single part is sent at once, several are sent one by one, yielding to other
 * requests in between.
 */
import { Readable } from "node:stream";
import { setImmediate as afterOthers } from "node:timers/promises";

/** Generated ahead of the client, since turns are far apart on a busy hub. */
const aheadBytes = 8 * 2 ** 20;

/** A turn is as long as the wait for it, and at least this long: on a busy loop the response would otherwise never finish. */
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
  // If the client disconnects, the generator ends at a yield, and `finally` closes the source of the parts.
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
