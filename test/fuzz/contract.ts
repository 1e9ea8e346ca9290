// The interface of every fuzz target, and its contract: any bytes give a value or a documented refusal.

import { GpulseError } from "../../src/base/error.ts";

type Refusal = abstract new (...args: never[]) => Error;

export interface FuzzTarget {
  readonly name: string;
  readonly parse: (bytes: Buffer) => unknown;
  /** Valid inputs to start from. Only our own: captures from others are never stored here. */
  readonly seeds: readonly (Uint8Array | string)[];
  /** Errors it may throw besides GpulseError, which its callers handle. */
  readonly refuses?: readonly Refusal[];
  /** Maximum input size, if longer inputs are impossible, or depend only on the user's own files. */
  readonly maxBytes?: number;
  /** Cost relative to a parser that takes a microsecond: the target gets this many times fewer inputs. */
  readonly cost?: number;
}

/** Runs one input: undefined if the target fulfilled its contract, else the violation. */
export async function findContractBreach(target: FuzzTarget, bytes: Buffer): Promise<unknown> {
  try {
    await target.parse(bytes);
  } catch (thrown) {
    if (!isRefusal(target, thrown)) return thrown ?? new Error("threw nothing");
  }
  for (const key in {}) return new Error(`every object now has "${key}"`);
  return undefined;
}

/**
 * A plain Error counts only if the target lists it; a TypeError never does, and an error that begins with BUG: is always a
 * violation.
 */
function isRefusal({ refuses = [] }: FuzzTarget, thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown.message.startsWith("BUG:")) return false;
  const isOne = (kind: Refusal): boolean =>
    kind === Error ? thrown.constructor === Error : thrown instanceof kind;
  return thrown instanceof GpulseError || refuses.some(isOne);
}
