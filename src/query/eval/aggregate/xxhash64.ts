/** XXH64 with seed 0, from its specification. Simple and slow; suitable for label sets, not for bulk data. */
import type { Buffer } from "node:buffer";

const mask = (1n << 64n) - 1n;
const prime1 = 11400714785074694791n;
const prime2 = 14029467366897019727n;
const prime3 = 1609587929392839161n;
const prime4 = 9650029242287828579n;
const prime5 = 2870177450012600261n;

function rotate(value: bigint, bits: bigint): bigint {
  return ((value << bits) | (value >> (64n - bits))) & mask;
}

function round(accumulator: bigint, lane: bigint): bigint {
  return (rotate((accumulator + lane * prime2) & mask, 31n) * prime1) & mask;
}

function merge(hash: bigint, lane: bigint): bigint {
  return ((hash ^ round(0n, lane)) * prime1 + prime4) & mask;
}

export function xxhash64(bytes: Buffer): bigint {
  let at = 0;
  let hash = prime5;
  if (bytes.length >= 32) {
    const lanes: [bigint, bigint, bigint, bigint] = [
      (prime1 + prime2) & mask,
      prime2,
      0n,
      -prime1 & mask,
    ];
    for (; at + 32 <= bytes.length; at += 32) {
      lanes[0] = round(lanes[0], bytes.readBigUInt64LE(at));
      lanes[1] = round(lanes[1], bytes.readBigUInt64LE(at + 8));
      lanes[2] = round(lanes[2], bytes.readBigUInt64LE(at + 16));
      lanes[3] = round(lanes[3], bytes.readBigUInt64LE(at + 24));
    }
    hash =
      rotate(lanes[0], 1n) + rotate(lanes[1], 7n) + rotate(lanes[2], 12n) + rotate(lanes[3], 18n);
    for (const lane of lanes) hash = merge(hash & mask, lane);
  }
  hash = (hash + BigInt(bytes.length)) & mask;
  for (; at + 8 <= bytes.length; at += 8) {
    hash = (rotate(hash ^ round(0n, bytes.readBigUInt64LE(at)), 27n) * prime1 + prime4) & mask;
  }
  if (at + 4 <= bytes.length) {
    hash =
      (rotate(hash ^ ((BigInt(bytes.readUInt32LE(at)) * prime1) & mask), 23n) * prime2 + prime3) &
      mask;
    at += 4;
  }
  for (; at < bytes.length; at++) {
    hash = (rotate(hash ^ ((BigInt(bytes[at] ?? 0) * prime5) & mask), 11n) * prime1) & mask;
  }
  hash = ((hash ^ (hash >> 33n)) * prime2) & mask;
  hash = ((hash ^ (hash >> 29n)) * prime3) & mask;
  return hash ^ (hash >> 32n);
}
