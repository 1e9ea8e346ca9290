// Distinguishes findings from each other, and shrinks the input that shows one.

import { inspect } from "node:util";

/** The same error has the same name and the same topmost frame in our own code. */
export function keyOf(thrown: unknown): string {
  if (thrown === undefined) return "";
  if (!(thrown instanceof Error)) return inspect(thrown);
  const frame = (thrown.stack ?? "").split("\n").find((line) => /^\s+at /.test(line)) ?? "";
  return `${thrown.name} ${frame.trim()}`;
}

const mostTries = 400;

/** Removes pieces of the input, large ones first, as long as the error remains. */
export async function shrink(
  bytes: Buffer,
  stillBroken: (less: Buffer) => Promise<boolean>,
): Promise<Buffer> {
  let small = bytes;
  let tries = 0;
  for (let piece = bytes.length >> 1; piece >= 1; piece >>= 1)
    for (let at = 0; at < small.length && tries < mostTries; tries++) {
      const less = Buffer.concat([small.subarray(0, at), small.subarray(at + piece)]);
      if (await stillBroken(less)) small = less;
      else at += piece;
    }
  return small;
}
