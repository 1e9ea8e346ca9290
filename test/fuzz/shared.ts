// The messages between the fuzzing thread and the thread that watches it.

export interface FuzzJob {
  readonly bundle: string;
  readonly target: string;
  readonly words: readonly string[];
  readonly kept: readonly Uint8Array[];
  readonly seed: number;
  readonly inputs: number;
  readonly seconds: number;
  readonly shared: SharedArrayBuffer;
}

export type FuzzReport =
  | { readonly kind: "finding"; readonly says: string; readonly bytes: Uint8Array }
  | { readonly kind: "done"; readonly outcome: FuzzOutcome };

export interface FuzzOutcome {
  readonly inputs: number;
  readonly reached: number;
  readonly newlyReached: number;
  readonly corpus: readonly Uint8Array[];
  readonly peakHeapBytes: number;
  readonly grownBytes: number;
}

export const sharedHeadBytes = 8;
