// What every target of the fuzzer is, and what is asked of it: a value or a refusal it documents, no matter the bytes.

import { GpulseError } from "../../src/base/error.ts";

type Refusal = abstract new (...args: never[]) => Error;

export interface FuzzTarget {
  readonly name: string;
  readonly parse: (bytes: Buffer) => unknown;
  /** Good inputs to start from. Our own only: what others recorded is never kept here. */
  readonly seeds: readonly (Uint8Array | string)[];
  /** What it may throw beside a GpulseError: its callers know these and answer for them. */
  readonly refuses?: readonly Refusal[];
  /** Where longer inputs are not to be had, or only where its user sets it. */
  readonly maxBytes?: number;
  /** How many times slower than a microsecond parser: it gets so many times fewer inputs. */
  readonly cost?: number;
}

/** Runs one input: undefined where the target kept its word, else what it did. */
export async function findContractBreach(target: FuzzTarget, bytes: Buffer): Promise<unknown> {
  try {
    await target.parse(bytes);
  } catch (thrown) {
    if (!isRefusal(target, thrown)) return thrown ?? new Error("threw nothing");
  }
  for (const key in {}) return new Error(`every object now has "${key}"`);
  return undefined;
}

/** A plain Error counts only where the target says so, and a TypeError is none; what begins with BUG: is never fine. */
export function isRefusal({ refuses = [] }: FuzzTarget, thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown.message.startsWith("BUG:")) return false;
  const isOne = (kind: Refusal): boolean =>
    kind === Error ? thrown.constructor === Error : thrown instanceof kind;
  return thrown instanceof GpulseError || refuses.some(isOne);
}
