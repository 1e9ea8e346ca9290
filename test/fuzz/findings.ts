// Distinguishes one finding from another, and makes the input that shows it as small as it gets.

import { inspect } from "node:util";

/** The same fault has the same name and the same first place in our own code. */
export function keyOf(thrown: unknown): string {
  if (thrown === undefined) return "";
  if (!(thrown instanceof Error)) return inspect(thrown);
  const frame = (thrown.stack ?? "").split("\n").find((line) => /^\s+at /.test(line)) ?? "";
  return `${thrown.name} ${frame.trim()}`;
}

const mostTries = 400;

/** Cuts pieces out, large ones first, for as long as the fault stays. */
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
