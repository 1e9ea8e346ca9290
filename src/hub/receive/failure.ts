/** Why a whole request was refused: what it is counted as, the status its sender is told, and whether to come again. */
import type { IngestOutcome } from "./receiver-counts.ts";

export type RequestOutcome = Extract<IngestOutcome, `${string}_request`>;

const retryAfterSeconds = 5;

export class ReceiveError extends Error {
  readonly status: number;
  readonly outcome: RequestOutcome;
  /** Set where the same request may be sent again; absent where it will never be taken. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    status: number,
    outcome: RequestOutcome,
    sentence: string,
    retry: "retry" | "never" = "never",
  ) {
    super(sentence);
    this.status = status;
    this.outcome = outcome;
    this.retryAfterSeconds = retry === "retry" ? retryAfterSeconds : undefined;
  }
}

export const malformed = (sentence: string): ReceiveError =>
  new ReceiveError(400, "malformed_request", sentence);

export const unsupported = (sentence: string): ReceiveError =>
  new ReceiveError(415, "unsupported_request", sentence);

export const tooLarge = (maxBytes: number): ReceiveError =>
  new ReceiveError(
    413,
    "too_large_request",
    `the request is larger than ${maxBytes / 2 ** 20} MiB: send less at a time`,
  );

/** Prometheus gives up on a 429 unless told otherwise, so it is only for a sender that takes more than its part. */
export const clientShareExceeded = (): ReceiveError =>
  new ReceiveError(
    429,
    "busy_request",
    "this sender has as much under way here as one may have: send less at once",
    "retry",
  );

export const tooBusy = (): ReceiveError =>
  new ReceiveError(
    503,
    "busy_request",
    "there is too much under way here: send it again later",
    "retry",
  );

/** Nobody reads this answer: it ends the work on a request whose sender is gone. */
export const clientDisconnected = (): ReceiveError =>
  new ReceiveError(400, "malformed_request", "the sender hung up before its request was taken");
