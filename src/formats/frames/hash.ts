/** A definition's name is the first eight bytes of its content's SHA-256, in hex: both sides work it out, neither hands it out. */
import { createHash } from "node:crypto";

export const hashBytes = 8;

export function hashOf(content: Uint8Array): string {
  return createHash("sha256")
    .update(content)
    .digest("hex")
    .slice(0, hashBytes * 2);
}
