/**
 * Text that is sent to many open responses, encoded and compressed once for all of them. Each text is a run of deflate blocks
 * without references to earlier data that ends on a byte, so that it can continue the gzip stream of any response.
 */
import { constants, deflateRaw, deflateRawSync } from "node:zlib";

/** Starts a gzip stream (RFC 1952): deflate, no name, no time. A live stream never ends, so it has no trailer. */
export const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);

const options = { level: 4, finishFlush: constants.Z_SYNC_FLUSH };

export class SharedText {
  readonly plain: Buffer;
  #packed: Buffer | undefined;
  #packing: Promise<Buffer> | undefined;

  constructor(text: string | Buffer) {
    this.plain = Buffer.from(text);
  }

  bytes(isGzip: boolean): Buffer {
    if (!isGzip) return this.plain;
    return (this.#packed ??= deflateRawSync(this.plain, options));
  }

  /** The same without blocking the event loop, for megabytes of text. */
  async bytesLater(isGzip: boolean): Promise<Buffer> {
    if (!isGzip || this.#packed !== undefined) return this.bytes(isGzip);
    this.#packing ??= new Promise((resolve, reject) => {
      deflateRaw(this.plain, options, (error, packed) => {
        if (error === null) resolve((this.#packed = packed));
        else reject(error);
      });
    });
    return this.#packing;
  }
}
