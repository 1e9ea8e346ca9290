/** Reads and decompresses a request's body within limits: memory is reserved in the admission before it is allocated. */
import type { Readable } from "node:stream";
import { createGunzip, createInflate, gunzipSync } from "node:zlib";
import type { AdmissionHold } from "./admission.ts";
import { malformed, tooLarge, unsupported } from "./failure.ts";

/** Compressed and decompressed size. The same limits as in VictoriaMetrics; senders split their requests long before. */
const maxWireBytes = 16 * 2 ** 20;
export const maxBodyBytes = 32 * 2 ** 20;
/** Parsed JSON takes many times its size in memory. */
export const maxJsonBytes = 16 * 2 ** 20;
const chunkBytes = 256 * 1024;
/** Decompressing this little on the hub's thread is cheaper than using another thread, and takes less than a millisecond. */
const smallBytes = 128 * 1024;
/** Header and trailer of a gzip member; the last four bytes of the trailer are the uncompressed size. */
const minGzipBytes = 18;

/** @throws ReceiveError as soon as the body is too large or no memory is left; the rest is then not read. */
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

/** Decompresses gzip or deflate; a decompression bomb is aborted at the limit. */
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
      throw malformed(`the body is not valid ${encoding}: ${thrown.message}`);
    throw thrown;
  }
}

/**
 * Decompresses a small body into a buffer of the size in the gzip trailer; undefined if it is not small, or the trailer is
 * wrong. A stream allocates a whole chunk, and one chunk per request from a thousand agents caused a full garbage collection
 * every three seconds.
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
    // One byte more than needed: zlib allocates another chunk when one is exactly full.
    return gunzipSync(body, { maxOutputLength: bytes + 1, chunkSize: Math.max(64, bytes + 1) });
  } catch {
    return undefined;
  }
}

/** Uses events: the promises of an iterator cost more than the bytes of an ordinary request. */
function gather(stream: Readable, maxBytes: number, hold: AdmissionHold): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    const removeListeners = (): void => {
      stream.off("data", take).off("end", end).off("error", fail).off("close", disconnected);
    };
    const fail = (thrown: unknown): void => {
      removeListeners();
      // A decompression stream is destroyed here; the request's own stream is left unread to the server.
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
