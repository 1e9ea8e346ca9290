/** A request's body, read and unpacked within bounds: what it takes is taken from the admission before it is kept. */
import type { Readable } from "node:stream";
import { createGunzip, createInflate, gunzipSync } from "node:zlib";
import type { AdmissionHold } from "./admission.ts";
import { malformed, tooLarge, unsupported } from "./failure.ts";

/** On the wire, and unpacked. As much as VictoriaMetrics takes; senders split long before. */
export const maxWireBytes = 16 * 2 ** 20;
export const maxBodyBytes = 32 * 2 ** 20;
/** JSON becomes many times its size in memory. */
export const maxJsonBytes = 16 * 2 ** 20;
const chunkBytes = 256 * 1024;
/** Unpacking so little here costs less than asking another thread, and no more than a millisecond. */
const smallBytes = 128 * 1024;
/** Head and end of a member; the last four bytes are how much it is unpacked. */
const minGzipBytes = 18;

/** @throws ReceiveError as soon as it is too large or there is no room; the rest is then not read. */
export async function readBody(
  payload: Readable,
  declaredBytes: number | undefined,
  hold: AdmissionHold,
): Promise<Buffer> {
  if ((declaredBytes ?? 0) > maxWireBytes) throw tooLarge(maxWireBytes);
  const body = await gather(payload, maxWireBytes, hold);
  hold.begin();
  return body;
}

/** Undoes gzip or deflate; a bomb is left where it passes the bound. */
export async function unpack(
  body: Buffer,
  encoding: string | undefined,
  maxBytes: number,
  hold: AdmissionHold,
): Promise<Buffer> {
  const small = unpackSmall(body, encoding, maxBytes);
  if (small !== undefined) {
    hold.take(small.length);
    return small;
  }
  const unpacking =
    encoding === undefined || encoding === "" || encoding === "identity"
      ? undefined
      : encoding === "gzip" || encoding === "x-gzip"
        ? createGunzip({ chunkSize: chunkBytes })
        : encoding === "deflate"
          ? createInflate({ chunkSize: chunkBytes })
          : "unknown";
  if (unpacking === "unknown")
    throw unsupported(`content encoding ${encoding} is not supported: send gzip, or none`);
  if (unpacking === undefined) {
    if (body.length > maxBytes) throw tooLarge(maxBytes);
    return body;
  }
  await hold.enterLarge();
  unpacking.end(body);
  try {
    return await gather(unpacking, maxBytes, hold);
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && String(thrown.code).startsWith("Z_"))
      throw malformed(`the body is no valid ${encoding}: ${thrown.message}`);
    throw thrown;
  }
}

/**
 * A small body into exactly the room its last bytes ask for; undefined where it is not small, or they do not tell the truth.
 * The room of a stream is a chunk, and a chunk for every request of a thousand agents had the whole heap collected every
 * three seconds.
 */
function unpackSmall(
  body: Buffer,
  encoding: string | undefined,
  maxBytes: number,
): Buffer | undefined {
  if (encoding !== "gzip" || body.length < minGzipBytes) return undefined;
  const bytes = body.readUInt32LE(body.length - 4);
  if (bytes > Math.min(smallBytes, maxBytes)) return undefined;
  try {
    // One more than is needed: a chunk that is exactly full has zlib ask for another.
    return gunzipSync(body, { maxOutputLength: bytes + 1, chunkSize: Math.max(64, bytes + 1) });
  } catch {
    return undefined;
  }
}

/** By events: an iterator's promises cost more than the bytes of an ordinary request. */
function gather(stream: Readable, maxBytes: number, hold: AdmissionHold): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    const removeListeners = (): void => {
      stream.off("data", take).off("end", end).off("error", fail).off("close", disconnected);
    };
    const fail = (thrown: unknown): void => {
      removeListeners();
      // A stream that unpacks is ours to end; a request's own is left to its server, unread.
      if ("bytesWritten" in stream) stream.destroy();
      else stream.pause();
      reject(thrown instanceof Error ? thrown : new Error(String(thrown)));
    };
    const take = (part: Buffer): void => {
      length += part.length;
      try {
        if (length > maxBytes) throw tooLarge(maxBytes);
        hold.take(part.length);
        parts.push(part);
      } catch (thrown) {
        fail(thrown);
      }
    };
    const end = (): void => {
      removeListeners();
      resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, length));
    };
    const disconnected = (): void => fail(malformed("the body ended before its end"));
    stream.on("data", take).on("end", end).on("error", fail).on("close", disconnected);
  });
}
