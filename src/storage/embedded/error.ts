/** A store failure that a caller acts on: retry later, choose another folder, fix a matcher. */

/** `unavailable`: the store is elsewhere and does not answer now. */
export type StoreErrorKind = "locked" | "full" | "closed" | "unusable" | "matcher" | "unavailable";

export class StoreError extends Error {
  readonly kind: StoreErrorKind;
  /** The same call may succeed later without anybody changing it. */
  readonly retryable: boolean;

  constructor(kind: StoreErrorKind, sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = "StoreError";
    this.kind = kind;
    this.retryable = kind === "full" || kind === "unavailable";
  }
}
