/** A store failure that the caller has to handle: retry later, choose another folder, fix a matcher. */

/** `unavailable`: a remote store does not respond now. */
export type StoreErrorKind = "locked" | "full" | "closed" | "unusable" | "matcher" | "unavailable";

export class StoreError extends Error {
  readonly kind: StoreErrorKind;
  /** True if the same call may succeed when it is retried later. */
  readonly retryable: boolean;

  constructor(kind: StoreErrorKind, sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = "StoreError";
    this.kind = kind;
    this.retryable = kind === "full" || kind === "unavailable";
  }
}
