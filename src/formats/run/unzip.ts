/**
 * Unpacks a small zip within fixed limits, regardless of its own claims: the number of entries, the total unpacked bytes, and no
 * entry larger than announced. Supports the methods of our own archives: stored and deflated entries.
 */
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";

export interface UnzipLimits {
  /** Total unpacked size of all entries. */
  readonly totalBytes: number;
  /** Limit of one entry. */
  readonly entryBytes: (name: string) => number;
  /** True for entries to unpack; the others are listed by name only. */
  readonly isWanted: (name: string) => boolean;
}

export class UnpackLimitError extends Error {}

const mostEntries = 64;
const endSignature = 0x06_05_4b_50;
const centralSignature = 0x02_01_4b_50;
const localSignature = 0x04_03_4b_50;
const endBytes = 22;
const longestComment = 65_535;
const encryptedFlag = 1;
const [stored, deflated] = [0, 8] as const;
const inflate = promisify(inflateRaw) as (
  bytes: Uint8Array,
  options: { readonly maxOutputLength: number },
) => Promise<Buffer>;

/** @throws UnpackLimitError beyond the limits, Error if the bytes are not a zip. */
export async function unzip(
  given: Uint8Array,
  limits: UnzipLimits,
): Promise<Map<string, Uint8Array>> {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const end = endOf(bytes);
  const count = bytes.readUInt16LE(end + 10);
  if (count > mostEntries) throw new UnpackLimitError(`has more than ${mostEntries} entries`);
  const files = new Map<string, Uint8Array>();
  let at = bytes.readUInt32LE(end + 16);
  let total = 0;
  for (let entry = 0; entry < count; entry++) {
    if (bytes.readUInt32LE(at) !== centralSignature) throw new Error("invalid zip data");
    const nameBytes = bytes.readUInt16LE(at + 28);
    const name = bytes.toString("utf8", at + 46, at + 46 + nameBytes);
    if (files.has(name)) throw new Error(`${name.slice(0, 100)} is in it twice`);
    const size = bytes.readUInt32LE(at + 24);
    if (limits.isWanted(name)) {
      total += size;
      if (total > limits.totalBytes || size > limits.entryBytes(name))
        throw new UnpackLimitError(`unpacks to more than it may, at ${name}`);
      files.set(name, await unpack(bytes, at, size));
    } else files.set(name, new Uint8Array());
    at += 46 + nameBytes + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return files;
}

async function unpack(bytes: Buffer, central: number, size: number): Promise<Uint8Array> {
  if ((bytes.readUInt16LE(central + 8) & encryptedFlag) !== 0) throw new Error("it is encrypted");
  const packedBytes = bytes.readUInt32LE(central + 20);
  const local = bytes.readUInt32LE(central + 42);
  if (bytes.readUInt32LE(local) !== localSignature) throw new Error("invalid zip data");
  const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
  if (start + packedBytes > bytes.length) throw new Error("unexpected end of file");
  const packed = bytes.subarray(start, start + packedBytes);
  const method = bytes.readUInt16LE(central + 10);
  if (method !== stored && method !== deflated) throw new Error(`unknown compression ${method}`);
  const content =
    method === stored ? packed : await inflate(packed, { maxOutputLength: Math.max(1, size) });
  if (content.length !== size) throw new Error("the size of an entry differs from its header");
  return content;
}

function endOf(bytes: Buffer): number {
  const least = Math.max(0, bytes.length - endBytes - longestComment);
  for (let at = bytes.length - endBytes; at >= least; at--)
    if (bytes.readUInt32LE(at) === endSignature) return at;
  throw new Error("invalid zip data");
}
