/** Why a whole request was refused: what it is counted as, the status its sender is told, and whether to come again. */
import type { Outcome } from "./receiver-counts.ts";

export type RequestOutcome = Extract<Outcome, `${string}_request`>;

const retryAfterSeconds = 5;

export class ReceiveFailure extends Error {
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

export const malformed = (sentence: string): ReceiveFailure =>
  new ReceiveFailure(400, "malformed_request", sentence);

export const unsupported = (sentence: string): ReceiveFailure =>
  new ReceiveFailure(415, "unsupported_request", sentence);

export const tooLarge = (maxBytes: number): ReceiveFailure =>
  new ReceiveFailure(
    413,
    "too_large_request",
    `the request is larger than ${maxBytes / 2 ** 20} MiB: send less at a time`,
  );

/** Prometheus gives up on a 429 unless told otherwise, so it is only for a sender that takes more than its part. */
export const yourShare = (): ReceiveFailure =>
  new ReceiveFailure(
    429,
    "busy_request",
    "this sender has as much under way here as one may have: send less at once",
    "retry",
  );

export const tooBusy = (): ReceiveFailure =>
  new ReceiveFailure(
    503,
    "busy_request",
    "there is too much under way here: send it again later",
    "retry",
  );

/** Nobody reads this answer: it ends the work on a request whose sender is gone. */
export const hungUp = (): ReceiveFailure =>
  new ReceiveFailure(400, "malformed_request", "the sender hung up before its request was taken");
